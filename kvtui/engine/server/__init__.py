"""`kvtui serve`: the engine as an OpenAI-compatible server.

This module loads neither NumPy nor aiohttp, so that `main` can set the number of BLAS threads
before NumPy reads it.
"""

from __future__ import annotations

import os
import sys

DEFAULT_PORT = 8000

_THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def main(
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    api_key: str | None = None,
    key_from: str | None = None,
    max_num_seqs: int = 4,
    model: str | None = None,
    threads: int = 1,
    exit_with_parent: bool = False,
    weights: str = "f32",
    kv_dtype: str = "f32",
) -> int:
    """Serve until interrupted.

    Args:
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        api_key: the key clients must send, or None for no check.
        key_from: where the key comes from, to be named on start.
        max_num_seqs: requests worked on at once.
        model: a model's name or the path of a GGUF file; None takes the default.
        threads: BLAS threads.
        exit_with_parent: print a JSON line on stdout when ready, and end when stdin does.
        weights: precision that the weights are held in: f32, f16 or int8.
        kv_dtype: precision that the cache is held in.

    Returns:
        The exit status: 0 after an orderly end, 2 where the server could not start.
    """
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    from kvtui.engine.errors import EngineError
    from kvtui.engine.server.serve import Options, serve

    try:
        serve(
            Options(
                host,
                port,
                api_key,
                key_from,
                max_num_seqs,
                model,
                exit_with_parent,
                weights,
                kv_dtype,
            )
        )
    except EngineError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the command's narration
        return 2
    except KeyboardInterrupt:
        return 0
    return 0
