"""``kvtui replay``: a recorded run on the screen again, at its own pace or faster."""

from __future__ import annotations

import sys
from typing import Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.options import Number, screen_options
from kvtui.commands.output import print_json
from kvtui.commands.runs import RunName


@click.command()
@click.argument("run", type=RunName())
@click.option("--speed", type=Number(0.01, 1000), default=1.0, help="Times its own pace [1].")
@click.option(
    "--request",
    type=click.IntRange(1, 1_000_000_000),
    help="Number of the request, in the file's order [the middle one; of a single run all].",
)
@click.option("--json", "as_json", is_flag=True, help="Print what kvtui run --json printed.")
@screen_options
def replay(run: str, speed: float, request: int | None, as_json: bool, **options: Any) -> None:
    """Show RUN again as it was: a file, the name of a run (see kvtui runs), or last.

    Nothing is sent. Enter plays it again, space holds it. With --json no screen opens: exit status
    1 where the request failed then.
    """
    from kvtui.bench.records import store
    from kvtui.bench.records.record import RecordError
    from kvtui.bench.records.replay import Replay
    from kvtui.commands.screen import ScreenRefused, open_screen, say_refusal

    try:
        chosen = Replay.read(store.find(run).path, request, speed)
    except RecordError as error:
        raise BadInput(str(error)) from None
    if as_json:
        try:
            table = chosen.document()
        except RecordError as error:
            raise BadInput(str(error)) from None
        print_json(table)
        sys.exit(1 if any(recording.sample.failed for recording in chosen.recordings) else 0)
    try:
        sys.exit(open_screen({**options, "replay": chosen}))
    except ScreenRefused as refusal:
        say_refusal(ScreenRefused(f"{refusal} kvtui replay --json needs none."))
        sys.exit(2)
