"""What is found out and made ready before a request: endpoint, embedded engine, quirks.

All of it runs on the session's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.remembered import forget, recall, remember
from kvtui.config import Endpoint, load_settings, resolve_endpoint
from kvtui.failure import Evidence, Verdict
from kvtui.language import later, tr
from kvtui.stream.quirks import REFUSALS, Quirks, settled, with_refusals
from kvtui.telemetry.places import is_loopback

if TYPE_CHECKING:
    from kvtui.engine.child import EngineChild
    from kvtui.stream.client import Clients

_MODEL_FIXES = (
    later("Leave --model out: the shipped kvtui-tiny runs then."),
    later(
        "Name a GGUF file by its path; Llama architectures in F32, F16, Q8_0, Q4_0 or Q4_1 run"
        " here."
    ),
    later("For a model of a server, name the server too: --base-url."),
)


class Preparing:
    """Endpoints as they become known, and the embedded engines that were started.

    Args:
        options: The session's.
    """

    def __init__(self, options: RunOptions) -> None:
        self.clients: Clients | None = None
        """There once the session's thread has imported what they need."""
        self.quirks: dict[str, Quirks] = {}
        """By base URL."""
        self._options = options
        self._children: dict[tuple[str | None, str, str], EngineChild] = {}
        """(model, precision of the weights, of the cache) → the engine that runs it."""
        self._starting = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections and end the engines."""
        if self.clients is not None:
            await self.clients.aclose()
        stops = (asyncio.to_thread(child.stop) for child in self._children.values())
        await asyncio.gather(*stops)

    async def prepare(self, unbidden: bool, options: RunOptions) -> Prepared:
        """Resolve the endpoint, start the embedded engine, ask for models where none is named.

        Raises:
            ConfigError: A flag names what is not there.
        """
        if options.embedded:
            endpoint = Endpoint("", "embedded", model=options.model, embedded=True)
            return await self._embedded_engine(endpoint, options)
        endpoint = await asyncio.to_thread(
            lambda: resolve_endpoint(
                options.settings or load_settings(),
                base_url=options.base_url,
                profile=options.profile,
                api_key_env=options.api_key_env,
                api_key=options.api_key,
                model=options.model,
            )
        )
        if options.headers:
            headers = {**endpoint.headers, **options.headers}
            endpoint = replace(endpoint, headers=MappingProxyType(headers))
        if endpoint.embedded:
            return await self._embedded_engine(endpoint, options)
        if endpoint.model or (unbidden and not is_loopback(endpoint.base_url)):
            prepared, quirks = Prepared(endpoint, endpoint.model), Quirks()
        else:
            from kvtui.bench.requests.discover import discover

            assert self.clients is not None
            prepared, quirks = await discover(self.clients, endpoint, options.timeouts)
        note = ""
        if options.remember:
            known = await asyncio.to_thread(recall, endpoint)
            quirks, note = with_refusals(quirks, known)
        self.quirks[endpoint.base_url] = quirks
        return replace(prepared, notes=(*prepared.notes, note)) if note else prepared

    async def _embedded_engine(self, endpoint: Endpoint, options: RunOptions) -> Prepared:
        from kvtui.engine.child import EngineChild
        from kvtui.engine.errors import EngineModelError, EngineStartError

        named = endpoint.model
        demo = named is not None and named.startswith("demo-")
        async with self._starting:  # whoever asks meanwhile takes the engine that this one starts
            try:
                key = None if demo else named, options.weights, options.kv_dtype
                child = self._children.get(key)
                if child is None or not child.alive:
                    child = self._children[key] = await asyncio.to_thread(
                        EngineChild.start,
                        key[0],
                        threads=options.threads,
                        max_num_seqs=options.max_num_seqs,
                        weights=options.weights,
                        kv_dtype=options.kv_dtype,
                    )
            except EngineStartError as error:
                fixes = tuple(map(tr, _MODEL_FIXES))
                verdict = (
                    Verdict("parameter", "model_not_found", str(error), fixes)
                    if isinstance(error, EngineModelError)
                    else Verdict("server", "unavailable", str(error))
                )
                evidence = Evidence(phase="settings", embedded=True, model=named or "")
                return Prepared(endpoint, named, verdict=verdict, evidence=evidence)
        self.quirks[child.base_url] = Quirks(
            continuous_usage=True,
            contexts=MappingProxyType({child.model_id: child.geometry.context}),
        )
        return Prepared(
            replace(endpoint, base_url=child.base_url),
            named if demo else child.model_id,
            (child.model_id,),
            child.geometry,
            context=child.geometry.context,
            engine_pid=child.pid,
        )

    async def open(self, endpoint: Endpoint, count: int) -> int:
        """Open ``count`` connections; how many answered."""
        from kvtui.bench.requests.discover import open_connections

        assert self.clients is not None
        return await open_connections(self.clients, endpoint, count)

    async def count_tokens(
        self, endpoint: Endpoint, model: str, texts: Sequence[str]
    ) -> list[int] | None:
        """The tokens of texts, by the server's own tokenizer; None where it offers none."""
        from kvtui.stream.tokenize import count_tokens

        assert self.clients is not None
        quirks = self.quirks.get(endpoint.base_url, Quirks())
        base_url = quirks.base_url or endpoint.base_url
        return await count_tokens(self.clients, endpoint, base_url, model, texts)

    async def learn(self, endpoint: Endpoint) -> Quirks:
        """What an endpoint is known to take; asked where it was not recognised yet."""
        from kvtui.bench.requests.discover import discover

        key = endpoint.base_url
        known = self.quirks.get(key, Quirks())
        if not (endpoint.embedded or known.continuous_usage or known.llamacpp or known.contexts):
            assert self.clients is not None
            _, found = await discover(self.clients, endpoint, self._options.timeouts)
            known = replace(
                known,
                continuous_usage=found.continuous_usage and known.stream_options,
                llamacpp=found.llamacpp,
                base_url=known.base_url or found.base_url,
                contexts=found.contexts,
            )
            self.quirks[key] = known
        return known

    async def settle(self, endpoint: Endpoint, refused: tuple[str, ...]) -> None:
        """A check-up asked with everything: these were refused, all else the endpoint takes."""
        key = endpoint.base_url
        self.quirks[key] = settled(self.quirks.get(key, Quirks()), refused)
        if self._options.remember:
            taken = [name for name in REFUSALS if name not in refused]
            await asyncio.to_thread(forget, endpoint, taken)
            if refused:
                await asyncio.to_thread(remember, endpoint, refused)
