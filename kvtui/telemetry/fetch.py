"""One bounded GET beside the timed stream: own session, own short timeout, no redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from kvtui.language import tr
from kvtui.proxy import ProxySettingError, login_header, proxy_arguments, proxy_for
from kvtui.redaction import holds, is_telling
from kvtui.telemetry.status import clean
from kvtui.text import redact

PAGE_LIMIT = 4 << 20
"""Bytes. A larger page is not read."""

_BLOCK = 64 << 10


class Reply(NamedTuple):
    """An answer, whatever its status. ``body`` is empty where it was too large."""

    url: str
    status: int
    content_type: str
    body: bytes
    too_large: bool = False

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")


class Unreached(Exception):  # noqa: N818 - a finding, not a fault of the program
    """No answer was had. The text is one sentence without any secret."""


class Client:
    """Asks one host. The key and the headers go to no other: redirects are not followed."""

    def __init__(
        self, api_key: str | None, headers: Mapping[str, str] | None, timeout_s: float
    ) -> None:
        self._key = api_key
        self._secrets = (api_key, *(headers or {}).values())
        self._timeout_s = timeout_s
        self._headers = {
            "Accept": "text/plain; version=0.0.4, application/json;q=0.9, */*;q=0.1",
            "Accept-Encoding": "identity",
            **({"Authorization": f"Bearer {api_key}"} if api_key else {}),
        }
        for name, value in (headers or {}).items():
            for taken in [own for own in self._headers if own.lower() == name.lower()]:
                del self._headers[taken]
            self._headers[name] = value

    def session(self) -> aiohttp.ClientSession:
        """A session of its own, to be closed by the caller; it shares no pool and no cookies."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=2),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
        )

    async def get(self, session: aiohttp.ClientSession, url: str) -> Reply:
        """Get one page.

        Raises:
            Unreached: No answer: name, connection, TLS, proxy, timeout, or a broken body.
        """
        headers = dict(self._headers)
        if urlsplit(url).username is not None:  # user name and password in the URL go instead
            headers.pop("Authorization", None)
        try:
            proxy = proxy_for(url)
            headers |= login_header(proxy, url)
            async with session.get(
                url, headers=headers, allow_redirects=False, **proxy_arguments(proxy)
            ) as response:
                body = await _bounded(response)
                kind = response.headers.get("Content-Type", "")
                return Reply(url, response.status, kind, body or b"", body is None)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise Unreached(self._sentence(url, error)) from None

    def hide(self, text: str, limit: int = 200) -> str:
        """A text from outside without this endpoint's secrets, on one line."""
        return clean(redact(text[: 8 * limit], *self._secrets), limit)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names from outside, those left out that hold one of this endpoint's secrets."""
        secrets = [secret for secret in self._secrets if secret and is_telling(secret)]
        return tuple(name for name in names if not holds(name, *secrets))

    def _sentence(self, url: str, error: Exception) -> str:
        parts = urlsplit(url)
        host = self.hide(parts.netloc.rpartition("@")[2])
        if isinstance(error, ProxySettingError):
            return tr("{error}: correct the variable, or unset it.", error=self.hide(str(error)))
        if isinstance(error, TimeoutError):
            return tr(
                "{host} did not answer within {seconds:g} s.",
                host=host,
                seconds=self._timeout_s,
            )
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return tr("The name {host} cannot be resolved.", host=host)
        if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
            return tr("The proxy in effect did not let the request to {host} pass.", host=host)
        if isinstance(error, aiohttp.ClientSSLError):
            return tr(
                "The TLS connection to {host} failed: {error}.",
                host=host,
                error=self.hide(str(error)),
            )
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = error.os_error.strerror or str(error.os_error)
            if isinstance(error.os_error, ConnectionRefusedError):
                reason = tr("connection refused, nothing listens there")
            return tr("{host} cannot be reached: {reason}.", host=host, reason=self.hide(reason))
        if isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError):
            return tr(
                "The request cannot be made: the URL, the key or a header holds a bad character."
            )
        return tr(
            "{host} gave no whole answer: {kind}.",
            host=host,
            kind=self.hide(str(error) or type(error).__name__),
        )


async def _bounded(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, or None as soon as it exceeds ``PAGE_LIMIT``."""
    blocks: list[bytes] = []
    size = 0
    async for block in response.content.iter_chunked(_BLOCK):
        size += len(block)
        if size > PAGE_LIMIT:
            response.close()
            return None
        blocks.append(block)
    return b"".join(blocks)
