"""Which key: one goes only to the host it belongs to, or where it was named for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

    from kvtui.config.file import Profile

OPENAI_URL = "https://api.openai.com/v1"
TAOTOKEN_URL = "https://taotoken.net/api/v1"
KEY_VARIABLES = ("OPENAI_API_KEY", "TAOTOKEN_API_KEY")
_KEY_COMMAND_SECONDS = 15.0
_KEY_LIMIT = 64 << 10


def choose_key(
    url: str,
    own: Profile | None,
    name: str | None,
    api_key_env: str | None,
    environ: Mapping[str, str],
) -> tuple[str | None, str | None, str | None]:
    """The key, where it came from, and where one was looked for in vain."""
    variable = api_key_env or (own.api_key_env if own else None)
    if variable is None and own is not None and own.api_key_command:
        return _run_key_command(own.api_key_command, name)
    if variable is None:
        variable = _variable_of_host(url, environ)
    if variable is None:
        return None, None, None
    key = environ.get(variable)
    return (key, variable, None) if key else (None, None, variable)


def _variable_of_host(url: str, environ: Mapping[str, str]) -> str | None:
    """The variable whose key belongs to this URL's host, where it is set."""
    scheme, host, _ = origin(url)
    if scheme and host == "taotoken.net" and environ.get("TAOTOKEN_API_KEY"):
        return "TAOTOKEN_API_KEY"
    openai_base = environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
    belongs = origin(url) in (origin(openai_base), origin(OPENAI_URL))
    return "OPENAI_API_KEY" if belongs and environ.get("OPENAI_API_KEY") else None


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, so that two URLs of one server compare equal."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return ("", url, None)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), port or {"http": 80, "https": 443}.get(scheme)


def _run_key_command(
    command: list[str], name: str | None
) -> tuple[str | None, str | None, str | None]:
    """Run a profile's key command (no shell); its output's first line is the key."""
    import subprocess

    origin = f"api_key_command of profile {name}"
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            said = _first_bytes(process)
            status = process.returncode
    except (OSError, ValueError):
        return None, None, origin
    key = said.decode("utf-8", "replace").split("\n", 1)[0].rstrip("\r")
    return (key, origin, None) if status == 0 and key else (None, None, origin)


def _first_bytes(process: subprocess.Popen[bytes]) -> bytes:
    """What a key command prints: bounded in size and time, and the process is over afterwards."""
    from threading import Timer

    assert process.stdout is not None
    watchdog = Timer(_KEY_COMMAND_SECONDS, process.kill)
    watchdog.start()
    try:
        said = process.stdout.read(_KEY_LIMIT)
        if len(said) == _KEY_LIMIT:
            process.kill()  # no key is this long
        process.wait()
    finally:
        watchdog.cancel()
    return said
