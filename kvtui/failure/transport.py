"""What an exception chain says went wrong below HTTP, whichever library raised it.

The chain is searched for each kind in turn, so that a wrapper (``APIConnectionError: Connection
error.``) never hides the cause below it. Names and wordings are those of httpx, aiohttp, the
standard library and the three operating systems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from kvtui.failure.evidence import ExceptionFact

Kind: TypeAlias = Literal[
    "unsendable",
    "key_missing",
    "key_encoding",
    "proxy_settings",
    "base_url",
    "no_api",
    "proxy_auth",
    "proxy",
    "tls_hostname",
    "tls_untrusted",
    "tls_protocol",
    "dns",
    "connect_timeout",
    "read_timeout",
    "not_http",
    "disconnected",
    "refused",
    "reset",
    "cut",
    "undecodable",
]

_KINDS: tuple[tuple[Kind, str, str], ...] = (
    # kind, exception names (the last part), wordings
    ("unsendable", r"UnsendableError", r""),
    ("key_missing", r"", r"missing credentials|api_key client option must be set"),
    (
        "key_encoding",
        r"UnicodeEncodeError",
        r"illegal header value|null byte detected in header|forbidden control char"
        r"|invalid header value|codec can't encode",
    ),
    (
        "proxy_settings",
        r"ProxySettingError",
        r"socksio|unknown scheme for proxy|proxy url|only http proxies|invalid proxy|python-socks"
        r"|aiohttp[-_]socks|unsupported proxy|proxy scheme|unable to determine proxy",
    ),
    (
        "base_url",
        r"UnsupportedProtocol|InvalidURL|InvalidUrlClientError|NonHttpUrlClientError"
        r"|InvalidUrlRedirectClientError|LocationParseError|MissingSchema|InvalidSchema",
        r"unsupported protocol|invalid port|port out of range|invalid url\b|label empty"
        r"|label too long|missing an 'http|invalid non-printable|encoding with 'idna'|invalid ipv6",
    ),
    ("no_api", r"", r"answered with something that is no"),
    ("proxy_auth", r"", r"\b407\b.*prox|proxy.*\b407\b|proxy authentication"),
    (
        "proxy",
        r"ProxyError|ClientProxyConnectionError|ClientHttpProxyError|ProxyConnectionError",
        r"cannot connect to proxy|tunnel connection failed|socks5? (?:error|server)",
    ),
    (
        "tls_hostname",
        r"",
        r"hostname mismatch|ip address mismatch|doesn't match|does not match|not valid for",
    ),
    (
        "tls_untrusted",
        r"SSLCertVerificationError|ClientConnectorCertificateError|CertificateError",
        r"certificate[_ ]verify[_ ]failed|self[- ]signed|unable to get local issuer"
        r"|certificate has expired|certificate unknown|unknown ca",
    ),
    (
        "connect_timeout",  # asyncio's own limit: nothing was said of the protocol
        r"",
        r"handshake is taking longer",
    ),
    (
        "tls_protocol",
        r"SSLError|ClientConnectorSSLError|SSLZeroReturnError|SSLEOFError|ClientSSLError",
        r"wrong[_ ]version[_ ]number|record layer failure|unknown[_ ]protocol|\[ssl[:\]]"
        r"|unsupported[_ ]protocol\b.*ssl|handshake failure|eof occurred in violation"
        r"|packet length too long|http_request|tlsv1|ssl handshake",
    ),
    (
        "dns",
        r"gaierror|ClientConnectorDNSError|NameResolutionError",
        r"name or service not known|getaddrinfo|nodename nor servname|no address associated"
        r"|name resolution|name does not resolve|could not resolve|host not found"
        r"|dns (?:lookup|error|query)|domain name not found|no such host|11001",
    ),
    (
        "connect_timeout",
        r"ConnectTimeout|ConnectionTimeoutError|ServerConnectTimeout",
        r"connection timeout to host|timed out while connecting|errno 110\b|connect timed out"
        r"|10060",
    ),
    (
        "read_timeout",
        r"ReadTimeout|SocketTimeoutError|ServerTimeoutError|WriteTimeout|PoolTimeout"
        r"|TimeoutError|APITimeoutError|TimeoutException",
        r"timeout on reading|read timed out|request timed out|timed out",
    ),
    (
        "not_http",
        r"BadStatusLine|InvalidHeader|LineTooLong",
        r"bad status line|invalid (?:character|header|content-length|http version)|expected http/"
        r"|got more than \d+ bytes|bad http message|invalid http|in chunk size",
    ),
    (
        "disconnected",
        r"ServerDisconnectedError",
        r"disconnected without|server disconnected|remote end closed|closed without response"
        r"|connection closed before|empty reply",
    ),
    (
        "cut",
        r"ClientPayloadError|IncompleteReadError|IncompleteRead|TransferEncodingError"
        r"|ContentLengthError|StreamError",
        r"peer closed connection|incomplete chunked read|incomplete message"
        r"|payload is not completed|not enough data|without sending complete",
    ),
    (
        "refused",
        r"ConnectionRefusedError",
        r"connection refused|actively refused|connect call failed|all connection attempts failed"
        r"|errno 111\b|errno 61\b|10061|network is unreachable|no route to host|host is down"
        r"|errno 113\b|errno 101\b|permission denied.*connect",
    ),
    (
        "reset",
        r"ConnectionResetError|ReadError|WriteError|BrokenPipeError|ConnectionAbortedError"
        r"|ClientOSError|ClientConnectionResetError|CloseError",
        r"connection reset|reset by peer|errno 104\b|errno 54\b|10054|broken pipe"
        r"|forcibly closed|connection aborted",
    ),
    (
        "refused",  # what wraps a cause that is none of the above
        r"ConnectError|ClientConnectorError|ClientConnectionError",
        r"cannot connect to host",
    ),
    ("disconnected", r"RemoteProtocolError|BadStatusLine|LocalProtocolError|BadHttpMessage", r""),
    (
        "undecodable",
        r"JSONDecodeError|UnicodeDecodeError|DecodingError|DecodeError|ContentEncodingError",
        r"while decompressing|incorrect header check",
    ),
)

_COMPILED = tuple(
    (
        kind,
        re.compile(rf"(?:.*\.)?(?:{names})$") if names else None,
        re.compile(wordings, re.IGNORECASE) if wordings else None,
    )
    for kind, names, wordings in _KINDS
)

_STATUS_ERRORS = frozenset(
    (
        "APIError",
        "APIResponseValidationError",
        "APIStatusError",
        "AuthenticationError",
        "BadRequestError",
        "ClientResponseError",
        "ConflictError",
        "HTTPStatusError",
        "InternalServerError",
        "NotFoundError",
        "PermissionDeniedError",
        "RateLimitError",
        "UnprocessableEntityError",
    )
)
"""Exceptions that only say that the status was 400 or above: the answer itself says more."""


_NOISE = re.compile(
    r"^\[SSL: [A-Z_]+\]\s*(?:certificate verify failed:\s*)?|\s*\(_ssl\.c:\d+\)"
    r"|;? use sys\.set_int_max_str_digits\(\) to increase the limit",
    re.IGNORECASE,
)
"""What OpenSSL and Python put around their sentences."""


def network_links(chain: Sequence[ExceptionFact]) -> tuple[ExceptionFact, ...]:
    """The links that are about the transport, not about an HTTP status."""
    return tuple(link for link in chain[:12] if _name(link) not in _STATUS_ERRORS)


def kind_of(chain: Sequence[ExceptionFact]) -> Kind | None:
    """The kind of transport failure a chain tells of; None where nothing in it is known."""
    links = network_links(chain)
    for kind, names, wordings in _COMPILED:
        for link in links:
            if names is not None and names.match(link.type[-200:]):
                return kind
            if wordings is not None and wordings.search(f"{link.type}: {link.text[:2_000]}"):
                return kind
    return None


def cause_text(chain: Sequence[ExceptionFact]) -> str:
    """The innermost text that says something, e.g. ``[Errno 111] Connection refused``."""
    for link in reversed(network_links(chain)):
        text = _NOISE.sub("", link.text).strip()
        if text:
            return text
    links = network_links(chain)
    return _name(links[-1]) if links else ""


def _name(link: ExceptionFact) -> str:
    return link.type.rpartition(".")[2]
