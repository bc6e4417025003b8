"""Where a server may publish something, worked out from its base URL."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from kvtui import hosts
from kvtui.language import tr


def roots(base_url: str) -> tuple[str, ...]:
    """The URLs that ``/metrics`` may stand under: the base URL without its last ``/v1``.

    A base URL that ends in ``/api/v1`` has two parents to try, with and without ``/api``.

    Raises:
        ValueError: It is no http(s) URL with a host; the text is one sentence.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(tr("The base URL cannot be read: check its host and port.")) from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(tr("The base URL must begin with http:// or https:// and name a host."))
    path = parts.path.rstrip("/")
    paths = [path]
    if path.endswith("/v1"):
        paths = [path.removesuffix("/v1").rstrip("/")]
        if paths[0].endswith("/api"):
            paths.append(paths[0].removesuffix("/api").rstrip("/"))
    return tuple(urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in paths)


def without_userinfo(url: str) -> str:
    """The URL without user name, password, query and fragment, as it may be shown."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine or of a private network."""
    return hosts.is_local(urlsplit(url).hostname or "")


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine itself: the only one that may be asked unbidden."""
    return hosts.is_loopback(urlsplit(url).hostname or "")
