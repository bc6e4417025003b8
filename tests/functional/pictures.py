"""Pictures of the screen as text: what stands in each row, and in which colours of both themes.

A file of ``pictures/`` holds the states of one scene at one size. ``KVTUI_PICTURES=write`` writes
them anew; look at each before it is committed: ``python tests/functional/pictures.py FILE [STATE]
[--light]`` shows them in a terminal.

Under each picture stand the runs of style of each row: a letter of the list at the top and a width.
"""

from __future__ import annotations

import itertools
import os
import string
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.widgets import Input, TextArea

FOLDER = Path(__file__).parent / "pictures"
THEMES = ("kvtui-dark", "kvtui-light")
WRITE = "KVTUI_PICTURES"
LETTERS = string.ascii_letters + "".join(map(chr, range(0x3B1, 0x3CA)))

Settle: TypeAlias = Callable[[Any], Awaitable[None]]
"""What is waited for before a picture is taken."""

Run: TypeAlias = "tuple[int, tuple[str, ...]]"
"""How many cells, and how they are drawn in each theme."""


@dataclass(frozen=True)
class Picture:
    """One state of the screen."""

    rows: tuple[str, ...]
    styles: tuple[tuple[Run, ...], ...]


def _cells(strip: list[Segment]) -> Iterator[str]:
    for segment in strip:
        if not segment.control:
            yield from itertools.repeat(_style(segment), cell_len(segment.text))


def _style(segment: Segment) -> str:
    """What of a style can be seen."""
    style = segment.style or Style.null()
    ground = "-" if style.bgcolor is None else style.bgcolor.name
    if not segment.text.strip(" ") and not (style.underline or style.reverse):
        return f"on {ground}"
    ink = "-" if style.color is None else style.color.name
    marks = [m for m in ("bold", "dim", "italic", "underline", "reverse", "strike")
             if getattr(style, m)]  # fmt: skip
    return " ".join([ink, "on", ground, *marks])


async def _still(pilot: Any) -> None:
    for field_ in pilot.app.screen.query("*"):
        if isinstance(field_, Input | TextArea):
            field_.cursor_blink = False
    await pilot.pause()


async def taken(pilot: Any, settle: Settle) -> Picture:
    """The screen as it is, in both themes; the theme of the next is the one it ends with."""
    app = pilot.app
    seen: dict[str, list[list[Segment]]] = {}
    for theme in sorted(THEMES, key=app.theme.__ne__):
        app.theme = theme
        await _still(pilot)
        await settle(pilot)
        seen[theme] = [list(strip) for strip in app.screen._compositor.render_strips()]
    texts = [["".join(s.text for s in row if not s.control) for row in seen[t]] for t in THEMES]
    for one, other in zip(*texts, strict=True):
        assert one == other, f"another theme shows another text:\n  - {one}\n  + {other}"
    drawn = []
    for dark, light in zip(*(seen[theme] for theme in THEMES), strict=True):
        pairs = list(zip(_cells(dark), _cells(light), strict=True))
        drawn.append(tuple((len(list(same)), pair) for pair, same in itertools.groupby(pairs)))
    return Picture(tuple(row.rstrip() for row in texts[0]), tuple(drawn))


# --- the files ------------------------------------------------------------------------------------


def written(pictures: dict[str, Picture]) -> str:
    """As a file holds them."""
    letters: dict[tuple[str, ...], str] = {}
    body = []
    for name, picture in pictures.items():
        body += [f"== {name}", *("|" + row for row in picture.rows)]
        coded = (
            " ".join(f"{letters.setdefault(pair, LETTERS[len(letters)])}{n}" for n, pair in row)
            for row in picture.styles
        )
        for row, same in itertools.groupby(coded):
            body.append(f":{row}")
            if more := len(list(same)) - 1:
                body.append(f"+{more}")
    head = [f"{letter} {' | '.join(pair)}" for pair, letter in letters.items()]
    return "\n".join([*head, *body]) + "\n"


def read(path: Path) -> dict[str, Picture]:
    """The pictures of a file; none if there is no file."""
    letters: dict[str, tuple[str, ...]] = {}
    found: dict[str, tuple[list[str], list[tuple[Run, ...]]]] = {}
    rows: list[str] = []
    styles: list[tuple[Run, ...]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        mark, rest = line[:1], line[1:]
        if mark == "=":
            found[line[3:]] = rows, styles = [], []
        elif mark == "|":
            rows.append(rest)
        elif mark == ":":
            styles.append(tuple((int(run[1:]), letters[run[0]]) for run in rest.split()))
        elif mark == "+":
            styles += [styles[-1]] * int(rest)
        else:
            letters[mark] = tuple(rest[1:].split(" | "))
    return {name: Picture(tuple(a), tuple(b)) for name, (a, b) in found.items()}


def _differences(name: str, stored: Picture | None, now: Picture) -> Iterator[str]:
    if stored is None:
        yield f"{name}: there is no such picture"
        return
    blank = "", ()
    pairs = itertools.zip_longest(
        zip(stored.rows, stored.styles, strict=True),
        zip(now.rows, now.styles, strict=True),
        fillvalue=blank,
    )
    for number, ((old, old_styles), (new, new_styles)) in enumerate(pairs):
        if old != new:
            yield f"{name}, row {number}:\n  - {old}\n  + {new}"
        elif old_styles != new_styles:
            lost = [run for run in old_styles if run not in new_styles]
            come = [run for run in new_styles if run not in old_styles]
            yield f"{name}, row {number} is drawn otherwise: {new}\n  - {lost}\n  + {come}"


class Album:
    """The pictures of one scene at one size, compared when all are taken."""

    def __init__(self, scene: str, size: tuple[int, int], settle: Settle) -> None:
        self.path = FOLDER / f"{scene}-{size[0]}x{size[1]}.txt"
        self.pictures: dict[str, Picture] = {}
        self._settle = settle

    async def take(self, pilot: Any, state: str) -> None:
        """Keep this state."""
        assert state not in self.pictures
        self.pictures[state] = await taken(pilot, self._settle)

    def compare(self) -> None:
        """All are as they were stored."""
        if os.environ.get(WRITE) == "write":
            FOLDER.mkdir(exist_ok=True)
            self.path.write_text(written(self.pictures), encoding="utf-8")
        stored = read(self.path)
        wrong = [
            line
            for name, picture in self.pictures.items()
            for line in _differences(name, stored.get(name), picture)
        ]
        wrong += [f"{name}: is no longer taken" for name in stored if name not in self.pictures]
        assert not wrong, f"{self.path.name}\n" + "\n".join(wrong[:40])


def contrasts(path: Path) -> Iterator[tuple[str, int, str, tuple[float, ...]]]:
    """Every word of a file's pictures: state, row, itself, its contrast (WCAG 2) in each theme."""
    for state, picture in read(path).items():
        for number, (row, runs) in enumerate(zip(picture.rows, picture.styles, strict=True)):
            cells = [(c, pair) for n, pair in runs for c in [None] * n]
            drawn = (cells[at][1] for at in itertools.accumulate(map(cell_len, row), initial=0)
                     if at < len(cells))  # fmt: skip
            for pair, same in itertools.groupby(zip(row, drawn, strict=False), lambda one: one[1]):
                word = "".join(char for char, _ in same).strip()
                if any(map(str.isalnum, word)):
                    yield state, number, word, tuple(map(_contrast, pair))


@cache
def _contrast(style: str) -> float:
    ink, _, ground, *_ = style.split()
    if "-" in (ink, ground):
        return 21.0
    lums = sorted(_luminance(Color.parse(each)) for each in (ink, ground))
    return (lums[1] + 0.05) / (lums[0] + 0.05)


def _luminance(colour: Color) -> float:
    parts = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized)
    return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def show(path: Path, states: list[str], theme: int) -> None:
    """Print pictures in their colours."""
    console = Console(color_system="truecolor", force_terminal=True, width=240, record=False)
    for name, picture in read(path).items():
        if states and name not in states:
            continue
        console.rule(name)
        for row, runs in zip(picture.rows, picture.styles, strict=True):
            text, start = Text(row, no_wrap=True), 0
            text.pad_right(sum(n for n, _ in runs) - text.cell_len)
            ends = [0, *itertools.accumulate(map(cell_len, text.plain))]
            for n, pair in runs:
                style = pair[theme].replace("- on", "default on").replace("on -", "on default")
                text.stylize(style, ends.index(start), ends.index(start + n))
                start += n
            console.print(text)


if __name__ == "__main__":
    wanted = [argument for argument in sys.argv[1:] if argument != "--light"]
    show(Path(wanted[0]), wanted[1:], int("--light" in sys.argv))
