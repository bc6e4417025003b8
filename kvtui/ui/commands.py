"""The one table of commands: it feeds keys, footer, help screen and palette.

Each command is an action of the main screen (``action_<name>``); a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from textual.binding import Binding, BindingType

Group: TypeAlias = Literal["Run", "Stream", "Memory", "Errors", "View", "kvtui"]
GROUPS: tuple[Group, ...] = ("Run", "Stream", "Memory", "Errors", "View", "kvtui")


class Command(NamedTuple):
    """One thing the user can do."""

    name: str
    """The action: ``action_<name>`` of the main screen."""
    keys: tuple[str, ...]
    """Textual key names; the first is the one shown."""
    label: str
    """One word or two, for the footer."""
    help: str
    """One sentence, for help and palette."""
    group: Group
    footer: int = 0
    """Rank in the footer, 1 first; 0 leaves it out."""
    embedded_only: bool = False
    """Offered only while the embedded engine is the endpoint."""


COMMANDS: tuple[Command, ...] = (
    Command("run", ("enter", "r"), "run", "Send the prompt and measure the stream.", "Run", 1),
    Command(
        "stop",
        ("ctrl+s",),
        "stop now",
        "Stop the stream, without the wait that esc may have.",
        "Run",
    ),
    Command(
        "back",
        ("escape",),
        "stop",
        "The first that applies: leave the field, close the dialog, stop the stream, "
        "restore the zoom.",
        "Run",
        2,
    ),
    Command(
        "edit",
        ("e",),
        "prompt",
        "Edit prompt, system text, max tokens, temperature, repeats.",
        "Run",
        3,
    ),
    Command(
        "cache",
        ("k",),
        "cache",
        "Switch the embedded engine's KV cache off or on.",
        "Run",
        4,
        embedded_only=True,
    ),
    Command(
        "profile",
        ("E",),
        "endpoint",
        "Choose the endpoint: a profile, a URL typed or pasted, or the embedded engine.",
        "Run",
    ),
    Command(
        "endpoint_model",
        ("M",),
        "served model",
        "Choose among the models the server offers.",
        "Run",
    ),
    Command(
        "experiments",
        ("x",),
        "experiments",
        "Experiments: the article's tests, sweeps under load, evidence for the cache.",
        "Run",
        7,
    ),
    Command(
        "runs",
        ("h",),
        "runs",
        "Every recorded run: open it again, compare, tag, export.",
        "Run",
        16,
    ),
    Command(
        "chart",
        ("t",),
        "chart",
        "The next chart: tokens per second over the answer, the gaps between chunks, none.",
        "Stream",
        13,
    ),
    Command(
        "hold",
        ("space",),
        "hold",
        "Hold a replay, or let it go on; E leaves it.",
        "Stream",
    ),
    Command("follow", ("f", "end"), "follow", "Follow the end of the text again.", "Stream"),
    Command("copy_answer", ("y",), "copy", "Copy the whole answer.", "Stream"),
    Command("save", ("S",), "save", "Save the answer in a file.", "Stream"),
    Command("search", ("slash",), "search", "Find words in the text.", "Stream"),
    Command("next_match", ("n",), "next match", "Go to the next match of the search.", "Stream"),
    Command("previous_match", ("N",), "match before", "Go to the match before.", "Stream"),
    Command(
        "tint",
        ("i",),
        "tint",
        "Let tokens that came late stand out, by the gap before each.",
        "Stream",
    ),
    Command("rendered", ("v",), "Markdown", "Show the finished answer as Markdown.", "Stream"),
    Command(
        "formulas",
        ("F",),
        "formulas",
        "Every figure's formula with its numbers filled in.",
        "Stream",
        9,
    ),
    Command("card", ("g",), "card", "Choose the card.", "Memory", 5),
    Command("model", ("m",), "model", "Choose the model whose memory is shown.", "Memory", 6),
    Command("precision", ("d",), "precision", "Next precision of the KV cache.", "Memory", 10),
    Command("weights", ("W",), "weights", "Next precision of the weights.", "Memory"),
    Command(
        "context",
        ("c",),
        "context",
        "Next context reserved for each sequence, up to the limit of the model shown.",
        "Memory",
        11,
    ),
    Command(
        "users",
        ("b",),
        "users",
        "Next number of sequences at once (users) of the model shown.",
        "Memory",
        12,
    ),
    Command(
        "as_if",
        ("w",),
        "as if",
        "Show the same live tokens as if on a catalogue model, with its own context and users.",
        "Memory",
        14,
    ),
    Command(
        "planner",
        ("p",),
        "planner",
        "Plan what fits: any model on any card, the need, the flags, a plot.",
        "Memory",
        8,
    ),
    Command("body", ("o",), "body", "Open everything known of the failure shown.", "Errors", 15),
    Command("copy_failure", ("Y",), "copy failure", "Copy the failure shown.", "Errors"),
    Command(
        "copy_curl",
        ("u",),
        "as curl",
        "Copy the request as a curl command; its key stays a variable.",
        "Errors",
    ),
    Command(
        "copy_report",
        ("R",),
        "report",
        "Copy all evidence as a report for the provider, with nothing secret in it.",
        "Errors",
    ),
    Command("older", ("left_square_bracket",), "older", "Show the failure before.", "Errors"),
    Command("newer", ("right_square_bracket",), "newer", "Show the failure after.", "Errors"),
    Command(
        "doctor",
        ("D",),
        "doctor",
        "Examine the endpoint: network, key, models, a stream, step by step.",
        "Errors",
        17,
    ),
    Command("why", ("a",), "why", "Show the figures behind the adviser's sentence.", "View"),
    Command("zoom(1)", ("1",), "stream", "Zoom the Stream pane, or bring it back.", "View"),
    Command("zoom(2)", ("2",), "memory", "Zoom the Memory pane, or bring it back.", "View"),
    Command("zoom(3)", ("3",), "errors", "Zoom the Errors pane, or bring it back.", "View"),
    Command(
        "split(-1, 0)", ("ctrl+left",), "split left", "Give the Stream pane fewer columns.", "View"
    ),
    Command(
        "split(1, 0)", ("ctrl+right",), "split right", "Give the Stream pane more columns.", "View"
    ),
    Command("split(0, -1)", ("ctrl+up",), "split up", "Give the Memory pane fewer rows.", "View"),
    Command("split(0, 1)", ("ctrl+down",), "split down", "Give the Memory pane more rows.", "View"),
    Command("split_reset", ("0",), "splits back", "Panes at their usual sizes again.", "View"),
    Command(
        "presenter",
        ("P",),
        "presenter",
        "Present: larger figures, hosts and key names hidden; again ends it.",
        "View",
    ),
    Command("theme", ("T",), "theme", "Choose the colours.", "View"),
    Command("tour", ("f2",), "tour", "See it all in a few minutes, live.", "kvtui"),
    Command(
        "settings", ("comma",), "settings", "Every setting: its value, where from, edited.", "kvtui"
    ),
    Command("help", ("question_mark", "f1"), "help", "Every key with its meaning.", "kvtui", 20),
    Command("palette", ("ctrl+p",), "more", "Find a command by typing.", "kvtui", 21),
    Command("suspend", ("ctrl+z",), "shell", "Back to the shell; fg returns here.", "kvtui"),
    Command("quit", ("q", "ctrl+q"), "quit", "Stop the stream and leave.", "kvtui", 22),
)

_SHOWN_KEYS = {
    "enter": "⏎",
    "escape": "esc",
    "question_mark": "?",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "ctrl+p": "^p",
    "ctrl+s": "^s",
    "ctrl+q": "^q",
    "ctrl+z": "^z",
    "ctrl+left": "^←",
    "ctrl+right": "^→",
    "ctrl+up": "^↑",
    "ctrl+down": "^↓",
}


def shown_key(key: str) -> str:
    """A key as the footer and the help write it."""
    return _SHOWN_KEYS.get(key, key)


def bindings(table: Sequence[Command] = COMMANDS) -> list[BindingType]:
    """A screen's bindings, one for each key of its table; the main screen's if none is named."""
    return [
        Binding(key, command.name, command.help, show=False)
        for command in table
        for key in command.keys
    ]


def move_bindings(page: int, *, priority: bool = False) -> list[BindingType]:
    """The keys that move a list's mark: ``action_move`` takes the lines.

    Args:
        page: Lines that Page up and Page down move.
        priority: Also while the cursor is in a field above the list.
    """
    keys = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
    return [
        Binding(key, f"move({by})", key, show=False, priority=priority) for key, by in keys.items()
    ]


def offered(*, embedded: bool) -> list[Command]:
    """The commands that make sense for this endpoint."""
    return [command for command in COMMANDS if embedded or not command.embedded_only]


def footer_commands(*, embedded: bool) -> list[Command]:
    """The footer's commands by rank."""
    return by_rank(offered(embedded=embedded))


def by_rank(commands: Iterable[Command]) -> list[Command]:
    """Those of the commands that a footer shows, the first ones first."""
    ranked = [command for command in commands if command.footer]
    return sorted(ranked, key=lambda command: command.footer)


def presenter_commands() -> list[Command]:
    """The few that the footer names while one presents."""
    return [command for command in COMMANDS if command.name in ("run", "back", "presenter", "help")]
