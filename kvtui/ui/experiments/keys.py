"""The commands of the Experiments and Runs screens: keys, footers, help and palettes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from kvtui.ui.commands import Command

Mode: TypeAlias = Literal["form", "live", "results"]
"""What the Experiments screen shows: the form, a run under way, what it came to."""
_ALL: frozenset[Mode] = frozenset({"form", "live", "results"})
_FORM: frozenset[Mode] = frozenset({"form"})
_LIVE: frozenset[Mode] = frozenset({"live"})
_RESULTS: frozenset[Mode] = frozenset({"results"})
_SEEN: frozenset[Mode] = frozenset({"live", "results"})


class Offer(NamedTuple):
    """A command, and where it means something."""

    command: Command
    modes: frozenset[Mode] = _ALL


EXPERIMENTS: tuple[Offer, ...] = (
    Offer(
        Command("begin", ("enter",), "run", "Run the preset with these settings.", "Run", 1), _FORM
    ),
    Offer(
        Command(
            "pause", ("space",), "pause", "Send no further request; once more: go on.", "Run", 1
        ),
        _LIVE,
    ),
    Offer(
        Command(
            "stop",
            ("ctrl+s",),
            "stop",
            "End the run; what is done is kept, r goes on with it.",
            "Run",
        ),
        _LIVE,
    ),
    Offer(
        Command(
            "resume",
            ("r",),
            "resume",
            "Go on with the latest run that was stopped or killed.",
            "Run",
            3,
        ),
        _FORM | _RESULTS,
    ),
    Offer(
        Command("form", ("e",), "settings", "Back to the presets and their settings.", "Run", 2),
        _RESULTS,
    ),
    Offer(Command("results", ("v",), "results", "What the latest run came to.", "Run", 4), _FORM),
    Offer(
        Command(
            "open_marked",
            ("enter", "o"),
            "stream",
            "Open the stream marked: its text and figures.",
            "View",
            3,
        ),
        _LIVE,
    ),
    Offer(Command("plot", ("t",), "plot", "The next plot of this run.", "View", 4), _SEEN),
    Offer(Command("zoom(1)", ("1",), "plot", "The plot alone, or all panes.", "View"), _SEEN),
    Offer(Command("zoom(2)", ("2",), "streams", "The streams alone, or all panes.", "View"), _SEEN),
    Offer(Command("zoom(3)", ("3",), "levels", "The levels alone, or all panes.", "View"), _SEEN),
    Offer(
        Command("zoom(4)", ("4",), "findings", "The findings alone, or all panes.", "View"), _SEEN
    ),
    Offer(Command("runs", ("h",), "runs", "Every recorded run.", "View", 6)),
    Offer(
        Command(
            "leave", ("x", "q"), "main", "The main screen; a run goes on meanwhile.", "kvtui", 5
        )
    ),
    Offer(
        Command(
            "back",
            ("escape",),
            "back",
            "The first that applies: leave the field, bring back all panes, the settings,"
            " the main screen.",
            "kvtui",
            7,
        ),
        _FORM | _RESULTS,
    ),
    Offer(
        Command(
            "back",
            ("escape",),
            "stop",
            "End the run; what is done is kept, r goes on with it. x leaves it running.",
            "kvtui",
            2,
        ),
        _LIVE,
    ),
    Offer(Command("help", ("question_mark", "f1"), "help", "Every key.", "kvtui", 20)),
    Offer(Command("palette", ("ctrl+p",), "more", "Find a command by typing.", "kvtui", 21)),
)


def commands_in(table: Sequence[Offer], mode: Mode) -> list[Command]:
    """The commands that mean something in a mode."""
    return [offer.command for offer in table if mode in offer.modes]


LEGEND = """\
Inside a field only Enter, Esc, Tab, arrows and Ctrl keys act.

○ waiting   ◌ sending   ◎ prefill   ◉ decode   ● done   ▲ failed   ■ stopped
✓ the figures say so   ✗ they say the opposite   – they do not decide it

TTFT, TPOT, ITL as on the main screen; E2E from the request to its last token; the knee is where more streams stop bringing throughput, goodput what keeps the limits.

Medians over completed requests, warm-up left out. [a, b] is the median's 95 % interval by order statistics, a…b the extremes where there are too few for one; ~ a percentile that n is too small for; * over all, ramp and tail included."""  # noqa: E501


RUNS: tuple[Offer, ...] = (
    Offer(Command("open", ("enter",), "open", "Open the run again, as it was.", "Run", 1)),
    Offer(Command("mark", ("space",), "mark", "Mark the run, to compare it.", "Run", 2)),
    Offer(
        Command(
            "compare",
            ("c",),
            "compare",
            "Compare the marked runs with the first of them.",
            "Run",
            3,
        )
    ),
    Offer(
        Command(
            "search", ("slash",), "search", "Type what to look for: all words count.", "View", 4
        )
    ),
    Offer(Command("tag", ("t",), "tag", "Give the run tags; -word takes one away.", "Run", 5)),
    Offer(Command("note", ("n",), "note", "Write a note to the run.", "Run", 6)),
    Offer(
        Command(
            "export",
            ("e",),
            "export",
            "Write its results to a file: JSON, CSV, Markdown, page.",
            "Run",
            7,
        )
    ),
    Offer(
        Command(
            "resume", ("r",), "resume", "Go on with a run that was stopped or killed.", "Run", 8
        )
    ),
    Offer(
        Command("replay", ("p",), "replay", "Play its requests again on the main screen.", "Run", 9)
    ),
    Offer(
        Command(
            "delete", ("d", "delete"), "delete", "Delete the run's file; asks first.", "Run", 10
        )
    ),
    Offer(Command("experiments", ("x",), "experiments", "The Experiments screen.", "View", 11)),
    Offer(
        Command(
            "back",
            ("escape", "h"),
            "back",
            "The first that applies: leave the search, forget the marks, the screen before.",
            "kvtui",
            12,
        )
    ),
    Offer(Command("help", ("question_mark", "f1"), "help", "Every key.", "kvtui", 20)),
    Offer(Command("palette", ("ctrl+p",), "more", "Find a command by typing.", "kvtui", 21)),
)

RECORD: tuple[Offer, ...] = (
    Offer(Command("plot", ("t",), "plot", "The next plot of this run.", "View", 1)),
    Offer(Command("zoom(1)", ("1",), "plot", "The plot alone, or all panes.", "View")),
    Offer(Command("zoom(2)", ("2",), "plot 2", "The second plot alone, or all panes.", "View")),
    Offer(Command("zoom(3)", ("3",), "levels", "The levels alone, or all panes.", "View", 2)),
    Offer(Command("zoom(4)", ("4",), "findings", "The findings alone, or all panes.", "View", 3)),
    Offer(Command("export", ("e",), "export", "Write the results to a file.", "Run", 4)),
    Offer(
        Command("replay", ("p",), "replay", "Play its requests again on the main screen.", "Run", 4)
    ),
    Offer(Command("back", ("escape", "q"), "back", "All panes again, then the list.", "kvtui", 5)),
    Offer(Command("help", ("question_mark", "f1"), "help", "Every key.", "kvtui", 20)),
    Offer(Command("palette", ("ctrl+p",), "more", "Find a command by typing.", "kvtui", 21)),
)
