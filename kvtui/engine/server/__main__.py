"""`python -m kvtui.engine.server`: the server without the command line's other parts."""

from __future__ import annotations

import argparse
import os

from kvtui.engine.server import DEFAULT_PORT, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="kvtui serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--api-key-env")
    parser.add_argument("--max-num-seqs", type=int, default=4)
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--exit-with-parent", action="store_true")
    parser.add_argument("--weights", choices=("f32", "f16", "int8"), default="f32")
    parser.add_argument("--kv-dtype", choices=("f32", "f16", "int8"), default="f32")
    given = parser.parse_args()
    raise SystemExit(
        main(
            host=given.host,
            port=given.port,
            api_key=os.environ.get(given.api_key_env) if given.api_key_env else None,
            key_from=given.api_key_env,
            max_num_seqs=given.max_num_seqs,
            model=given.model,
            threads=given.threads,
            exit_with_parent=given.exit_with_parent,
            weights=given.weights,
            kv_dtype=given.kv_dtype,
        )
    )
