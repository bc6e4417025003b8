"""The language of the texts: English as written in the code, or a translation of it.

A translation is found by its English text, so whatever has none is shown in English. Its files
lie in ``languages/CODE/*.toml``; English needs none. What machines read (``--json``) is never
translated.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ENGLISH = "en"

_texts: dict[str, str] = {}
_code = ENGLISH
_english: ContextVar[bool] = ContextVar("english", default=False)


class LanguageError(ValueError):
    """There is no such language, or a file of it is wrong. The text is one sentence."""


def tr(text: str, /, **values: object) -> str:
    """``text`` in the language in use, its ``{placeholders}`` filled in.

    Args:
        text: English, as it stands in the code.
        values: What the placeholders name; without any, braces are taken as they are.
    """
    said = _texts.get(text, text) if _texts and not _english.get() else text
    return said.format(**values) if values else said


def counted(number: int, one: str, more: str) -> str:
    """``one`` or ``more``, texts marked with ``later``, with the number as their ``{n}``."""
    return tr(one if number == 1 else more, n=f"{number:,}")


def later(text: str) -> str:
    """Marks a text of a table, which ``tr`` translates where it is shown."""
    return text


def retold(text: str, templates: tuple[str, ...]) -> str:
    """An English text of a record in the language in use; as it is where no template made it.

    Args:
        text: As it was recorded.
        templates: What may have made it, marked with ``later``, their placeholders plain; the
            first that fits is taken.
    """
    for template in templates if translated() else ():
        if match := _pattern(template).fullmatch(text):
            return tr(template, **{name: tr(part) for name, part in match.groupdict().items()})
    return text


@cache
def _pattern(template: str) -> re.Pattern[str]:
    import re

    seen: set[str] = set()
    made = ""
    for part in re.split(r"(\{\w+\})", template):
        name = part[1:-1] if part[:1] == "{" else ""
        made += (f"(?P={name})" if name in seen else f"(?P<{name}>.+)") if name else re.escape(part)
        seen.add(name)
    return re.compile(made)


def english(text: str) -> str:
    """The English of a whole text in the language in use, one without values; else as it is."""
    return next((key for key, said in _texts.items() if said == text), text)


def translated() -> bool:
    """Whether texts made now are in another language than English."""
    return bool(_texts) and not _english.get()


def in_use() -> str:
    """The code of the language that texts made now are in."""
    return _code if translated() else ENGLISH


@contextmanager
def in_english() -> Iterator[None]:
    """Texts made within are English, in this thread: what machines and records are given."""
    token = _english.set(True)
    try:
        yield
    finally:
        _english.reset(token)


def use(code: str) -> None:
    """Take a language from now on.

    Raises:
        LanguageError: There is none of that code; the sentence names those there are.
    """
    texts = {} if code == ENGLISH else load(code)
    global _code
    _texts.clear()
    _texts.update(texts)
    _code = code


def wanted(flag: str | None, environ: Mapping[str, str], setting: str | None = None) -> str | None:
    """The language asked for: by a flag, ``KVTUI_LANG``, or the settings; None where by nobody."""
    return flag or environ.get("KVTUI_LANG") or setting


def of_locale(environ: Mapping[str, str]) -> str | None:
    """The language of the terminal's locale (``LC_ALL``, ``LC_MESSAGES``, ``LANG``).

    None for English, and where there is no translation into it: nobody asked for one by name.
    """
    variables = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in variables if environ.get(name)), "")
    code = locale.partition(".")[0].partition("_")[0].lower()
    plain = code in ("", ENGLISH, "c", "posix")
    return code if not plain and code in codes() else None


def codes() -> list[str]:
    """The languages there are, English first."""
    folder = _folder()
    return [ENGLISH, *sorted({path.parent.name for path in folder.glob("*/*.toml")})]


def load(code: str) -> Mapping[str, str]:
    """A language's texts by their English.

    Raises:
        LanguageError: There is none of that code, or a file is no table of texts with the
            placeholders of the English.
    """
    import tomllib

    if code not in codes():
        raise LanguageError(f"There is no language {code!r}: there are {', '.join(codes())}.")
    texts: dict[str, str] = {}
    for path in sorted((_folder() / code).glob("*.toml")):
        try:
            table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise LanguageError(f"{path} is not valid TOML: {error}.") from None
        for english, text in table.items():
            if not isinstance(text, str) or not placeholders(english) >= placeholders(text):
                raise LanguageError(f"{path}: {english!r} is no text with its placeholders.")
            texts[english] = text
    return texts


def placeholders(text: str) -> frozenset[str]:
    """The names in braces, their format included; braces that are none of a template count not."""
    import string

    try:
        return frozenset(
            f"{name}:{form}" for _, name, form, _ in string.Formatter().parse(text) if name
        )
    except ValueError:
        return frozenset()


def _folder() -> Path:
    from pathlib import Path

    return Path(__file__).with_name("languages")
