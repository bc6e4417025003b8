"""Which endpoint is talked to and how long it may take, as flags and settings say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kvtui.bench.requests.targets import Target
from kvtui.config import Endpoint, Settings
from kvtui.stream.request import Request, Timeouts


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which endpoint a session talks to, as flags and settings say."""

    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """A key typed on the screen for ``base_url``."""
    profile: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    threads: int = 1
    """BLAS threads of the embedded engine."""
    max_num_seqs: int = 4
    """Sequences the embedded engine decodes at once."""
    settings: Settings | None = None
    """The configuration file's content; None: it is read."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    weights: str = "f32"
    """Precision of the embedded engine's weights."""
    kv_dtype: str = "f32"
    """Precision of its cache."""
    remember: bool = False
    """Keep what an endpoint refused in ``state.toml``, and heed it from the first request on."""

    embedded: bool = False
    """The embedded engine, whatever settings and environment say."""
    record: bool = False
    """Keep the events of every request, for its record."""

    @classmethod
    def from_flags(cls, flags: Mapping[str, Any]) -> RunOptions:
        """From the shared command line options, under the names that click gives them."""
        settings: Settings | None = flags.get("settings")
        return cls(
            base_url=flags.get("base_url"),
            model=flags.get("model"),
            api_key_env=flags.get("api_key_env"),
            api_key=flags.get("api_key"),
            profile=flags.get("profile"),
            headers=MappingProxyType(dict(flags.get("headers") or ())),
            threads=flags.get("threads") or (settings.defaults.threads if settings else 1),
            max_num_seqs=flags.get("max_num_seqs") or 4,
            settings=settings,
            timeouts=timeouts_from_flags(flags),
            remember=bool(flags.get("remember")),
            embedded=bool(flags.get("embedded")),
            record=bool(flags.get("record")),
        )

    def at(self, target: Target) -> RunOptions:
        """The same for another endpoint, which gets no key and no header that it does not own."""
        ours = target.embedded and not (self.base_url or self.profile)
        return replace(
            self,
            base_url=target.base_url,
            profile=target.profile,
            model=target.model or (self.model if ours else None),
            api_key_env=None,
            api_key=None,
            headers=MappingProxyType({}),
            embedded=target.embedded,
            weights=target.weights,
            kv_dtype=target.kv_dtype,
        )


def timeouts_from_flags(flags: Mapping[str, Any]) -> Timeouts:
    """The ``--timeout…`` options, each with its default where it is not given."""
    usual = Timeouts()
    return Timeouts(
        connect=flags.get("timeout_connect") or usual.connect,
        headers=flags.get("timeout_headers") or usual.headers,
        first_token=flags.get("timeout_first_token") or usual.first_token,
        idle=flags.get("timeout_idle") or usual.idle,
        total=flags.get("timeout"),
    )


def request_from(
    flags: Mapping[str, Any], endpoint: Endpoint, model: str | None, **own: Any
) -> Request:
    """A request with what the shared options say.

    Args:
        flags: The options, under the names that click gives them.
        endpoint: Where it goes.
        model: Its model, if one is known.
        own: Fields of the request: those that the options have no say in, or not the last one.
    """
    shared = {
        "prompt": "",
        "system": flags.get("system"),
        "top_p": flags.get("top_p"),
        "stop": tuple(flags.get("stop") or ()),
        "extra_body": flags.get("extra_body") or {},
        "timeouts": timeouts_from_flags(flags),
    }
    return Request(endpoint=endpoint, model=model or "", **{**shared, **own})
