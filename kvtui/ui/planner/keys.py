"""The planner's own keys: they feed its bindings, footer and palette."""

from __future__ import annotations

#: (action, key, as shown, label, help): the planner's own keys, for footer and palette.
KEYS: tuple[tuple[str, str, str, str, str], ...] = (
    ("choose", "enter", "⏎", "list", "The list of the field with the cursor; typing filters it."),
    ("presets", "ctrl+o", "^o", "examples", "Worked examples, taken into the fields."),
    ("axis", "ctrl+t", "^t", "axis", "Plot memory against context, or against users."),
    ("large", "ctrl+g", "^g", "plot", "Make the plot large, or bring the answer back."),
    ("whole", "ctrl+n", "^n", "all", "Everything of the answer, to read and to copy."),
    (
        "copy_flags(0)",
        "ctrl+y",
        "^y",
        "copy flags",
        "Copy the engine's flags (vLLM's for formula).",
    ),
    ("copy_flags(1)", "ctrl+l", "^l", "other flags", "Copy the other engine's flags."),
    ("take_over", "ctrl+r", "^r", "to pane 2", "Give model, card and lengths to the Memory pane."),
    ("stop", "ctrl+s", "^s", "stop", "Stop the stream that runs behind the planner."),
    ("leave", "escape", "esc", "back", "Back to the main screen; the fields are forgotten."),
    ("help", "f1", "F1", "help", "Every key of the planner."),
    ("palette", "ctrl+p", "^p", "more", "Find a command by typing."),
)
FOOTER = (
    "choose",
    "presets",
    "axis",
    "large",
    "copy_flags(0)",
    "take_over",
    "whole",
    "leave",
    "palette",
)
