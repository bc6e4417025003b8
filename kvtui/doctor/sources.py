"""Base URL, key and model as a coding assistant's ``settings.json`` holds them.

The files are only read. What is odd about them is said (quotes that some readers keep, a name set
twice), but never a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.config import OPENAI_URL, TAOTOKEN_URL, ConfigError, Endpoint
from kvtui.failure.providers import providers
from kvtui.reading import read_at_most

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


URL_NAMES = ("BASE_URL", "API_BASE", "API_BASE_URL", "API_URL", "ENDPOINT", "API_HOST")
KEY_NAMES = ("API_KEY", "AUTH_TOKEN", "API_TOKEN", "KEY", "TOKEN", "API_SECRET")
MODEL_NAMES = ("MODEL", "MODEL_NAME", "MODEL_ID", "DEFAULT_MODEL", "CHAT_MODEL")


def without_suffix(name: str, suffixes: tuple[str, ...]) -> str | None:
    """``OPENAI`` of ``OPENAI_BASE_URL``; empty for a bare suffix, None where there is none."""
    upper = name.upper()
    for suffix in sorted(suffixes, key=len, reverse=True):
        if upper == suffix:
            return ""
        if upper.endswith(f"_{suffix}"):
            return upper.removesuffix(f"_{suffix}")
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
    prefix = without_suffix(key.name, KEY_NAMES) if key else None
    if prefix is None and (url := best.get("url")) is not None:
        prefix = without_suffix(url.name, URL_NAMES)
    url = Value("--base-url", base_url) if base_url else best.get("url")
    return found(path, prefix or "", url, key, model, notes, environ)


def _json(path: Path) -> Any:
    import json

    text = read_text(path).removeprefix("\ufeff")
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

REFERENCE = re.compile(
    r"\$\{(?:env:)?(\w+)\}$|\$(\w+)$|\{env:(\w+)\}$|\{\{\s*(?:env\.)?(\w+)\s*\}\}$|env:(\w+)$"
)
_VERSIONED = re.compile(r"/v\d+[^/]*(?:/openai)?$")


def found(
    path: Path,
    prefix: str,
    url: Value | None,
    key: Value | None,
    model: Value | None,
    notes: list[str],
    environ: Mapping[str, str],
) -> Found:
    """The endpoint of a file's URL, key and model; one that only names a variable is looked up.

    Raises:
        ConfigError: There is no base URL, and none goes with the key's name.
    """
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
    match = REFERENCE.match(value.text.strip())
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


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        ConfigError: It cannot be read, or is no text of a sensible size.
    """
    try:
        data = read_at_most(path, _MAX_BYTES)
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
