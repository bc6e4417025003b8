"""Base URL, key and model as a ``.env`` or a coding assistant's ``settings.json`` holds them.

The files are only read. What is odd about them is said (quotes that some readers keep, a name set
twice), but never a value.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.config import OPENAI_URL, TAOTOKEN_URL, ConfigError, Endpoint
from kvtui.failure.providers import providers

_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """One endpoint found in a file. ``api_key`` is kept out of every repr."""

    endpoint: Endpoint
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """One value and where it stands."""

    name: str
    text: str
    line: int | None = None


# --- .env -----------------------------------------------------------------------------------------

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)(?P<gap>\s*=\s*)(?P<rest>.*)$")
_NEARLY = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*[^\w\s]")
_URL_NAMES = ("BASE_URL", "API_BASE", "API_BASE_URL", "API_URL", "ENDPOINT", "API_HOST")
_KEY_NAMES = ("API_KEY", "AUTH_TOKEN", "API_TOKEN", "KEY", "TOKEN", "API_SECRET")
_MODEL_NAMES = ("MODEL", "MODEL_NAME", "MODEL_ID", "DEFAULT_MODEL", "CHAT_MODEL")


def read_env_file(
    path: Path, environ: Mapping[str, str] = os.environ, base_url: str | None = None
) -> Found:
    """The endpoint that a ``.env`` file names; ``base_url`` wins over the file's.

    Raises:
        ConfigError: It cannot be read, or names neither a base URL nor a key.
    """
    try:
        values, notes = parse_env(_text(path))
    except UnreadLineError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not values:
        raise ConfigError(f"{path} sets no variable (lines read NAME=value).")
    named = {value.name: value for value in values}
    known = {**environ, **{value.name: value.text for value in values}}
    named = {name: _expanded(value, known, notes) for name, value in named.items()}
    prefix = _prefix(named)
    if prefix is None:
        raise ConfigError(
            f"{path} names neither a base URL nor a key (variables like OPENAI_BASE_URL and"
            f" OPENAI_API_KEY); it sets {', '.join(list(named)[:8])}."
        )
    url, key, model = (
        _of(named, prefix, names) for names in (_URL_NAMES, _KEY_NAMES, _MODEL_NAMES)
    )
    notes += [
        f"{value.name} is set in the environment too, to something else; most programs prefer that."
        for value in (url, key)
        if value is not None and environ.get(value.name, value.text) != value.text
    ]
    named_url = Value("--base-url", base_url) if base_url else url
    return _found(path, prefix, named_url, key, model, notes, known)


def _expanded(value: Value, known: Mapping[str, str], notes: list[str]) -> Value:
    """A value with the variables in it put in, as dotenv and docker compose do."""
    if _REFERENCE.match(value.text.strip()) or not _INSIDE.search(value.text):
        return value
    text = _INSIDE.sub(lambda match: known.get(match[1], match[0]), value.text)
    if text != value.text:
        notes.append(
            f"{value.name} has a variable in it, which is put in here; some readers leave it there."
        )
    return Value(value.name, text, value.line)


class UnreadLineError(ValueError):
    """A line that was to name the base URL and is no NAME=value.

    Without it the key would be tried at another host than the one it was meant for.
    """

    def __init__(self, line: int, name: str) -> None:
        super().__init__(
            f"line {line} was to set {name[:40]}, but no = follows the name, so that programs pass"
            " it over; write NAME=value."
        )


def parse_env(text: str) -> tuple[list[Value], list[str]]:
    """The variables of a ``.env`` in their order, the last of each name; and what is odd.

    Raises:
        UnreadLineError: The line with the base URL cannot be read.
    """
    notes: list[str] = []
    if text.startswith("\ufeff"):
        notes.append("The file begins with a byte order mark: some readers take it for a name.")
        text = text[1:]
    if "\r\n" in text:
        notes.append("Lines end in CR LF: a shell takes the CR for a part of each value.")
    values: dict[str, Value] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            named = _NEARLY.match(line)
            if named is not None and _without_suffix(named[1], _URL_NAMES) is not None:
                raise UnreadLineError(number, named[1])
            notes.append(f"Line {number} is no NAME=value and was passed over.")
            continue
        name = match["name"]
        if match["gap"] != "=":
            notes.append(
                f"Line {number}: there is a space around the = of {name}: shells refuse it."
            )
        value, odd = _env_value(match["rest"])
        if odd:
            notes.append(f"Line {number}: {name} {odd}")
        if name in values:
            notes.append(
                f"{name} is set on lines {values[name].line} and {number}: the last counts."
            )
        values[name] = Value(name, value, number)
    return list(values.values()), notes


def _env_value(rest: str) -> tuple[str, str | None]:
    """A value as most readers take it, and what other readers would make of it."""
    quote = rest[:1]
    if quote in ("'", '"'):
        end = rest.find(quote, 1)
        if end > 0:
            return rest[1:end], "stands in quotes: docker --env-file keeps them in the value."
        return rest, "has a quote that is never closed."
    bare = re.split(r"\s#", rest, maxsplit=1)[0].strip()
    if bare != rest.rstrip("\r"):
        return bare, "is followed by a space or a comment: some readers keep that in the value."
    return bare, None


def _prefix(named: Mapping[str, Value]) -> str | None:
    """The ``OPENAI`` of ``OPENAI_BASE_URL``: the prefix with the most of URL, key and model."""
    scores: dict[str, int] = {}
    for names, weight in ((_URL_NAMES, 4), (_KEY_NAMES, 3), (_MODEL_NAMES, 1)):
        for name in named:
            prefix = _without_suffix(name, names)
            if prefix is not None:
                scores[prefix] = scores.get(prefix, 0) + weight
    usable = {prefix: score for prefix, score in scores.items() if score >= 3}
    return max(usable, key=lambda prefix: usable[prefix]) if usable else None


def _without_suffix(name: str, suffixes: tuple[str, ...]) -> str | None:
    upper = name.upper()
    for suffix in sorted(suffixes, key=len, reverse=True):
        if upper == suffix:
            return ""
        if upper.endswith(f"_{suffix}"):
            return upper.removesuffix(f"_{suffix}")
    return None


def _of(named: Mapping[str, Value], prefix: str, suffixes: tuple[str, ...]) -> Value | None:
    """The prefix's own variable; for the model also one without a prefix."""
    for wanted in (prefix, ""):
        for name, value in named.items():
            if _without_suffix(name, suffixes) == wanted and value.text:
                return value
    return None


# --- settings.json --------------------------------------------------------------------------------

_JSON_URL = re.compile(r"(?:baseurl|apibase|apiurl|apihost|openaiurl|endpoint)$")
_JSON_KEY = re.compile(r"(?:apikey|authtoken|apitoken|accesstoken|secretkey)$")
_JSON_MODEL = re.compile(r"(?:^|openai|anthropic|default|api|chat)(?:model|modelid|modelname)$")
_COMMENTS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def read_settings_file(
    path: Path, environ: Mapping[str, str] = os.environ, base_url: str | None = None
) -> Found:
    """The endpoint that a coding assistant's settings (JSON, comments allowed) name.

    Raises:
        ConfigError: It is no JSON, or holds neither a base URL nor a key.
    """
    table = _json(path)
    groups = [group for group in _groups(table) if "url" in group or "key" in group]
    if not groups:
        raise ConfigError(f"{path} holds neither a base URL nor an API key.")
    best = max(groups, key=lambda group: (len(group), "url" in group))
    model = best.get("model") or next(
        (group["model"] for group in _groups(table) if "model" in group), None
    )
    notes = []
    others = sum(1 for group in groups if group is not best and "url" in group)
    if others:
        notes.append(f"The file holds {others} more base URL{'s' if others > 1 else ''}.")
    key = best.get("key")
    prefix = _without_suffix(key.name, _KEY_NAMES) if key else None
    if prefix is None and (url := best.get("url")) is not None:
        prefix = _without_suffix(url.name, _URL_NAMES)
    url = Value("--base-url", base_url) if base_url else best.get("url")
    return _found(path, prefix or "", url, key, model, notes, environ)


def _json(path: Path) -> Any:
    import json

    text = _text(path).removeprefix("\ufeff")
    plain = _TRAILING.sub(lambda m: m[1] or "", _COMMENTS.sub(lambda m: m[1] or " ", text))
    try:
        return json.loads(plain)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is not valid JSON.") from None


def _groups(value: Any, depth: int = 0) -> Iterator[dict[str, Value]]:
    """URL, key and model of each object in the file, the outermost first."""
    if depth > 12:
        return
    if isinstance(value, list):
        for item in value:
            yield from _groups(item, depth + 1)
    if not isinstance(value, dict):
        return
    group: dict[str, Value] = {}
    for name, item in value.items():
        if not isinstance(item, str) or not item:
            continue
        flat = re.sub(r"[^a-z]", "", str(name).lower())
        for kind, pattern in (("url", _JSON_URL), ("key", _JSON_KEY), ("model", _JSON_MODEL)):
            if pattern.search(flat):
                group.setdefault(kind, Value(str(name), item))
    if group:
        yield group
    for item in value.values():
        yield from _groups(item, depth + 1)


# --- both -----------------------------------------------------------------------------------------

_REFERENCE = re.compile(
    r"\$\{(?:env:)?(\w+)\}$|\$(\w+)$|\{env:(\w+)\}$|\{\{\s*(?:env\.)?(\w+)\s*\}\}$|env:(\w+)$"
)
_INSIDE = re.compile(r"\$\{(\w+)\}")
_VERSIONED = re.compile(r"/v\d+[^/]*(?:/openai)?$")


def _found(
    path: Path,
    prefix: str,
    url: Value | None,
    key: Value | None,
    model: Value | None,
    notes: list[str],
    environ: Mapping[str, str],
) -> Found:
    base_url = _dereferenced(url, environ)[0] if url else _url_of(prefix)
    if base_url is None:
        named = key.name if key else prefix
        raise ConfigError(f"{path} names no base URL for {named}; give it with --base-url.")
    if url is not None and url.name.upper().startswith("ANTHROPIC"):
        if not _VERSIONED.search(base_url.rstrip("/")):
            base_url = f"{base_url.rstrip('/')}/v1"
        notes.append(
            f"{url.name} is for Anthropic's own API, which adds /v1/messages; tested here is the"
            f" OpenAI-compatible one at {base_url}."
        )
    secret, variable = _dereferenced(key, environ) if key else (None, None)
    origin = f"{key.name} in {path.name}" if key else None
    if variable is not None:
        origin = f"{variable} (named in {path.name})"
    decisive = url.name if url else key.name if key else prefix
    chosen = decisive if decisive.startswith("--") else f"{decisive} in {path.name}"
    endpoint = Endpoint(
        base_url=base_url.strip().rstrip("/"),
        chosen_by=chosen,
        api_key=secret or None,
        key_from=origin if secret else None,
        model=_dereferenced(model, environ)[0] if model else None,
        key_wanted_from=variable if key and not secret else None,
    )
    return Found(endpoint, tuple(notes))


def _dereferenced(value: Value, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """A value; where it only names a variable, that one's value and name."""
    match = _REFERENCE.match(value.text.strip())
    if match is None:
        return value.text, None
    name = next(group for group in match.groups() if group)
    return environ.get(name), name


def _url_of(prefix: str) -> str | None:
    """The base URL that goes with a key variable's prefix (``DEEPSEEK``)."""
    known = {"OPENAI": OPENAI_URL, "TAOTOKEN": TAOTOKEN_URL}
    if prefix in known:
        return known[prefix]
    folded = prefix.lower().replace("_", "")
    aliases = {"google": "gemini", "kimi": "moonshot", "glm": "zhipu", "qwen": "dashscope"}
    wanted = aliases.get(folded, folded)
    return next((found.base_url for found in providers() if found.name == wanted), None)


def _text(path: Path) -> str:
    try:
        if stat.S_ISFIFO(path.stat().st_mode) and not str(path).startswith(("/dev/fd/", "/proc/")):
            raise ConfigError(f"{path} is a pipe: give a file.")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path} is larger than 1 MiB: that is no settings file.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{path} is UTF-16, which hardly any program reads: save it as UTF-8.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {error.start + 1}): save it as UTF-8."
        ) from None
