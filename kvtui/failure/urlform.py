"""What is wrong with a base URL as it is written, and which others are worth a try."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

from kvtui.failure.providers import provider_of_host
from kvtui.language import tr
from kvtui.text import has_key_form

_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|messages|models|embeddings)/*$")
_DOUBLED = re.compile(r"(/v\d+(?:beta)?)(?:/v\d+(?:beta)?)+(?=/|$)")
_VERSION = re.compile(r"/v\d+(?:beta)?(?:/openai)?$")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/?#]*@")
_SECRET_QUERY = re.compile(
    r"[?&;](?:(?:x[-_])?(?:api[-_]?)?key|subscription-key|(?:access[-_]?|auth[-_]?)?token|secret"
    r"|client[-_]?secret|password|passwd|authorization|sig|signature)=",
    re.IGNORECASE,
)
"""A part of a URL's query that is a secret by its name."""
_LOOKALIKES = str.maketrans(
    {"\uff1a": ":", "\uff0f": "/", "\\": "/", "\uff0e": ".", "\u3002": "."}
    | dict.fromkeys("\u201c\u201d\u2018\u2019", None)
)
"""What is typed for a URL's signs with a Chinese keyboard, or on Windows."""
_MISSPELT = re.compile(r"^(?:h+t+p+|htp|ttp|ws|hhtp|htt)(s?)://", re.IGNORECASE)
_NO_HOST = frozenset("<>{}|\\^`\"'$*,;!()&=+")
_COMMON = ("/v1", "/api/v1", "/api", "")


def url_problem(base_url: str) -> str | None:
    """Completes "The base URL ...", or None where it can be used as it is."""
    if not base_url.strip():
        return tr("is empty")
    for place, char in enumerate(base_url, 1):
        if char.isspace() or not char.isprintable():
            what = tr("a space") if char == " " else tr("white space or a control character")
            return tr("has {what} at character {place}", what=what, place=place)
    if base_url[0] in "\"'" or base_url[-1] in "\"'":
        return tr("stands in quotes")
    if _LOGIN.match(base_url):
        return tr(
            "carries a login (name:password@), which is not sent: leave it out, and give it with"
            " --header 'Authorization: Basic ...' if the server wants it"
        )
    if _SECRET_QUERY.search(base_url):
        return tr(
            "carries a key behind its ?, where it would be read and kept by others: leave it out,"
            " and name the variable that holds it with --api-key-env"
        )
    if _is_key(base_url):
        return tr("looks like a key, not like a URL")
    try:
        parts = urlsplit(base_url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        wrong_port = "port" in str(error).lower()
        return (
            tr("has a port that is no number from 0 to 65535")
            if wrong_port
            else tr("cannot be read")
        )
    if not _SCHEME.match(base_url):
        return tr("has no http:// or https:// in front")
    if parts.scheme.lower() not in ("http", "https"):
        return tr("begins with {scheme}://, not with http:// or https://", scheme=parts.scheme[:20])
    if not host:
        return tr("names no host")
    if port == 0:
        return tr("names port 0")
    if (
        any(not label or len(label) > 63 for label in host.rstrip(".").split("."))
        and ":" not in host
    ):
        return tr("has a host name that cannot exist")
    if any(char in _NO_HOST for char in host):
        return tr("names a host that cannot exist: it looks like a placeholder")
    return None


def _is_key(base_url: str) -> bool:
    """Whether a key stands where a URL names its host; ``http://sk-server`` is none."""
    rest = _SCHEME.sub("", base_url, count=1)
    host = re.split(r"[/?#:]", rest, maxsplit=1)[0]
    if rest == base_url and "." not in host:
        return has_key_form(host)
    return any(has_key_form(label.replace("-", "_", 1)) for label in host.split("."))


def mended(base_url: str) -> str | None:
    """A base URL that the one with a problem was probably meant to be, or None."""
    if _is_key(base_url):
        return None
    text = re.sub(r"\s+|[\u200b-\u200d\u2060\ufeff]", "", base_url.translate(_LOOKALIKES))
    text = text.strip("\"'")
    if not text.lower().startswith(("http://", "https://")):
        text = _MISSPELT.sub(lambda m: f"http{m[1].lower()}://", text)
    text = re.sub(r"^(https?):/?(?=[^/])", r"\1://", text, flags=re.IGNORECASE)
    text = _LOGIN.sub(r"\1", text)
    if _SECRET_QUERY.search(text):
        text = text.partition("?")[0]
    if not _SCHEME.match(text):
        text = text.lstrip(":/")
        local = re.match(
            r"localhost\b|127\.|10\.|192\.168\.|0\.0\.0\.0|\[?::1|[^/.:]+(?::|/|$)", text
        )
        text = f"{'http' if local else 'https'}://{text}"
    return text if text != base_url and url_problem(text) is None else None


def path_candidates(base_url: str) -> tuple[str, ...]:
    """Other base URLs of the same host that may be the right one, the likeliest first.

    An endpoint that was pasted whole loses its end, a doubled ``/v1`` its second half, a provider
    that is known gets its own path, and then the usual ones.
    """
    try:
        parts = urlsplit(base_url.strip())
        _ = parts.port
    except ValueError:
        return ()
    if not parts.netloc:
        return ()
    path = parts.path.rstrip("/")
    found: list[str] = []
    cut = _ENDPOINT.sub("", path)
    while cut != path and _ENDPOINT.search(cut):
        cut = _ENDPOINT.sub("", cut)
    single = _DOUBLED.sub(r"\1", cut)
    if single != path:
        found.append(single)
    provider = provider_of_host(parts.hostname or "")
    if provider is not None and provider.base_url and "RESOURCE" not in provider.base_url:
        found.append(urlsplit(provider.base_url).path)
    if not _VERSION.search(single):
        found.append(f"{single}/v1")
    found.extend(_COMMON)
    clean = SplitResult(parts.scheme, parts.netloc, "", "", "")
    urls = (urlunsplit(clean._replace(path=candidate)) for candidate in found)
    return tuple(dict.fromkeys(url for url in urls if urlsplit(url).path != path))
