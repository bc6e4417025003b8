"""The one way in to requests: for the screen and for the commands.

A session owns a thread with an event loop of its own. openai is imported there, bytes are read and
stamped there, so that drawing the screen disturbs neither.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.remembered import forget, recall, remember
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.targets import Target
from kvtui.bench.requests.undisturbed import Undisturbed
from kvtui.config import Endpoint, load_settings, resolve_endpoint
from kvtui.failure import Evidence, Verdict
from kvtui.measure.meter import Meter
from kvtui.stream.gather import secrets_of
from kvtui.stream.lag import LagWatch
from kvtui.stream.quirks import REFUSALS, Quirks, refused, settled, with_refusals
from kvtui.stream.request import Request, repeat_prefix, with_prefix
from kvtui.telemetry.places import is_loopback

if TYPE_CHECKING:
    from kvtui.engine.child import EngineChild
    from kvtui.stream.client import Clients

_T = TypeVar("_T")
_ENOUGH_CHUNKS = 8
_UNDER_WAY_S = 1.0
"""Chunks of a run from which it tells how many tokens a chunk of that endpoint carries."""


_MODEL_FIXES = (
    "Leave --model out: the shipped kvtui-tiny runs then.",
    "Name a GGUF file by its path; Llama architectures in F32, F16, Q8_0, Q4_0 or Q4_1 run here.",
    "For a model of a server, name the server too: --base-url.",
)


def _with_demo_key(endpoint: Endpoint) -> Endpoint:
    """The embedded engine asks for no key, so the demo of a wrong one brings one along."""
    return replace(endpoint, api_key="demo-key-that-is-wrong", key_from="the demo")


class Session:
    """Owns the reading thread, the connections and the embedded engine's process."""

    def __init__(self, options: RunOptions | Mapping[str, Any]) -> None:
        if not isinstance(options, RunOptions):
            options = RunOptions.from_flags(options)
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._broken: Exception | None = None
        self._clients: Clients | None = None
        self._children: dict[tuple[str | None, str, str], EngineChild] = {}
        """(model, precision of the weights, of the cache) → the engine that runs it."""
        self._starting = asyncio.Lock()
        self._lag = LagWatch(self._loop, self._calm)
        self._runs: set[Run] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._quirks: dict[str, Quirks] = {}
        self._per_chunk: dict[tuple[str, str], float] = {}
        self._undisturbed = Undisturbed()

    def warm(self) -> None:
        """Start the thread and its imports; returns at once."""
        with self._lock:
            if self._thread is not None or self._closed:
                return
            self._thread = threading.Thread(target=self._main, name="kvtui-wire", daemon=True)
            self._thread.start()

    def prepare(self, *, unbidden: bool = False, target: Target | None = None) -> Future[Prepared]:
        """Resolve the endpoint, start the embedded engine, ask for models where none is named.

        The future raises ``ConfigError`` where a flag names what is not there.

        Args:
            unbidden: The user has not asked for anything yet: no other machine is contacted.
            target: Another endpoint than the session's own.
        """
        options = self._options if target is None else self._options.at(target)
        return self._submit(self._prepare(unbidden, options))

    def start(
        self,
        request: Request,
        run_index: int = 0,
        unique_prefix: bool | None = None,
        keep_pieces: bool = True,
        keep_reads: bool = False,
        keep_events: bool | None = None,
    ) -> Run:
        """Send a request.

        Args:
            request: What to ask; its endpoint is ``Prepared.endpoint``.
            run_index: Which repeat it is, from 0.
            unique_prefix: Put a short random text before the prompt, so that no prefix cache
                answers for it. None: from the second repeat on.
            keep_pieces: Whether ``Run.drain`` will be called.
            keep_reads: Whether ``Run.stamps`` shall tell when each read with tokens came.
            keep_events: Whether ``Run.kept`` shall hold them, for a record. None: as the session's
                options say.
        """
        wanted = run_index > 0 if unique_prefix is None else unique_prefix
        if wanted and not request.endpoint.embedded:  # the embedded engine caches no prefixes
            request = with_prefix(request, repeat_prefix(run_index))
        if request.endpoint.embedded and request.model == "demo-auth":
            request = replace(request, endpoint=_with_demo_key(request.endpoint))
        meter = Meter(
            per_chunk=self._per_chunk.get((request.endpoint.base_url, request.model)),
            lag=self._lag.between,
            keep_pieces=keep_pieces,
            keep_reads=keep_reads,
            keep_events=self._options.record if keep_events is None else keep_events,
            secrets=secrets_of(request.endpoint, request.extra_headers),
        )
        run = Run(meter, self._loop, request)
        work = self._submit(self._run(run, meter))
        work.add_done_callback(lambda _: run.abandon())
        return run

    def warm_connections(self, endpoint: Endpoint, count: int) -> Future[int]:
        """Open ``count`` connections to an endpoint, so that none is set up while it is measured.

        The future holds how many answered.
        """
        return self._submit(self._open(endpoint, count))

    def count_tokens(
        self, endpoint: Endpoint, model: str, texts: Sequence[str]
    ) -> Future[list[int] | None]:
        """The tokens of texts, by the server's own tokenizer; None where it offers none."""
        return self._submit(self._count_tokens(endpoint, model, texts))

    def learn(self, endpoint: Endpoint) -> Future[Quirks]:
        """What an endpoint is known to take; asks for its models where it was not recognised yet.

        A benchmark wants to know it before its first request, for ``ignore_eos``.
        """
        return self._submit(self._learn(endpoint))

    def settle(self, endpoint: Endpoint, refused: Iterable[str]) -> None:
        """A check-up asked with everything: these were refused, all else the endpoint takes."""
        self._submit(self._settle(endpoint, tuple(refused)))

    def close(self) -> None:
        """Stop what runs, end the embedded engine and the thread; blocks for a moment."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            started = self._thread
        if started is None:
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop)
        started.join(5.0)

    def __enter__(self) -> Session:
        self.warm()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the thread -------------------------------------------------------------------------------

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._imports())
        except Exception as error:  # noqa: BLE001 - whoever asks for something is told
            self._broken = error
        self._loop.run_forever()
        self._loop.close()

    async def _imports(self) -> None:
        from kvtui.failure import classify
        from kvtui.stream import exchange, models  # noqa: F401 - openai, paid for before a request
        from kvtui.stream.client import Clients

        classify(Evidence())  # its tables are read, and not while something is measured
        # The SDK's thousands of classes stay: a collection that walks them would stop the reading.
        gc.freeze()
        self._clients = Clients()

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        self.warm()
        if self._closed:
            work.close()
            failed: Future[_T] = Future()
            failed.cancel()
            return failed
        return asyncio.run_coroutine_threadsafe(self._kept(work), self._loop)

    async def _kept(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._broken is not None:
                work.close()
                raise self._broken
            return await work
        finally:
            self._tasks.discard(task)

    async def _shut(self) -> None:
        for run in list(self._runs):
            run.stop_here()
        mine = asyncio.current_task()
        waiting = [task for task in self._tasks if task is not mine]
        if waiting:
            await asyncio.wait(waiting, timeout=0.5)
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=0.5)
        if self._clients is not None:
            await self._clients.aclose()
        stops = (asyncio.to_thread(child.stop) for child in self._children.values())
        await asyncio.gather(*stops)
        self._loop.stop()

    # --- preparing --------------------------------------------------------------------------------

    async def _prepare(self, unbidden: bool, options: RunOptions) -> Prepared:
        if options.embedded:
            endpoint = Endpoint("", "embedded", model=options.model, embedded=True)
            return await self._prepare_embedded(endpoint, options)
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
            return await self._prepare_embedded(endpoint, options)
        if endpoint.model or (unbidden and not is_loopback(endpoint.base_url)):
            prepared, quirks = Prepared(endpoint, endpoint.model), Quirks()
        else:
            from kvtui.bench.requests.discover import discover

            assert self._clients is not None
            prepared, quirks = await discover(self._clients, endpoint, options.timeouts)
        note = ""
        if options.remember:
            known = await asyncio.to_thread(recall, endpoint)
            quirks, note = with_refusals(quirks, known)
        self._quirks[endpoint.base_url] = quirks
        return replace(prepared, notes=(*prepared.notes, note)) if note else prepared

    async def _prepare_embedded(self, endpoint: Endpoint, options: RunOptions) -> Prepared:
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
                verdict = (
                    Verdict("parameter", "model_not_found", str(error), _MODEL_FIXES)
                    if isinstance(error, EngineModelError)
                    else Verdict("server", "unavailable", str(error))
                )
                evidence = Evidence(phase="settings", embedded=True, model=named or "")
                return Prepared(endpoint, named, verdict=verdict, evidence=evidence)
        self._quirks[child.base_url] = Quirks(
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

    async def _open(self, endpoint: Endpoint, count: int) -> int:
        from kvtui.bench.requests.discover import open_connections

        assert self._clients is not None
        return await open_connections(self._clients, endpoint, count)

    async def _count_tokens(
        self, endpoint: Endpoint, model: str, texts: Sequence[str]
    ) -> list[int] | None:
        from kvtui.stream.tokenize import count_tokens

        assert self._clients is not None
        quirks = self._quirks.get(endpoint.base_url, Quirks())
        base_url = quirks.base_url or endpoint.base_url
        return await count_tokens(self._clients, endpoint, base_url, model, texts)

    async def _learn(self, endpoint: Endpoint) -> Quirks:
        from kvtui.bench.requests.discover import discover

        key = endpoint.base_url
        known = self._quirks.get(key, Quirks())
        if not (endpoint.embedded or known.continuous_usage or known.llamacpp or known.contexts):
            assert self._clients is not None
            _, found = await discover(self._clients, endpoint, self._options.timeouts)
            known = replace(
                known,
                continuous_usage=found.continuous_usage and known.stream_options,
                llamacpp=found.llamacpp,
                base_url=known.base_url or found.base_url,
                contexts=found.contexts,
            )
            self._quirks[key] = known
        return known

    async def _settle(self, endpoint: Endpoint, refused: tuple[str, ...]) -> None:
        key = endpoint.base_url
        self._quirks[key] = settled(self._quirks.get(key, Quirks()), refused)
        if self._options.remember:
            taken = [name for name in REFUSALS if name not in refused]
            await asyncio.to_thread(forget, endpoint, taken)
            if refused:
                await asyncio.to_thread(remember, endpoint, refused)

    # --- running ----------------------------------------------------------------------------------

    async def _run(self, run: Run, meter: Meter) -> None:
        from kvtui.failure import classify
        from kvtui.stream.exchange import Exchange

        assert self._clients is not None
        request = run.request
        key = request.endpoint.base_url
        quirks = self._quirks.get(key, Quirks())
        self._enter(run)
        try:
            exchange = Exchange(self._clients, request, quirks, meter.feed)
            run.began(exchange)
            await exchange.run()
            await self._clients.turns.take()
            figures = meter.conclude(classify)
            self._quirks[key] = exchange.quirks
            chunks = figures.chunks
            if figures.completion_tokens and chunks >= _ENOUGH_CHUNKS and not figures.partial:
                self._per_chunk[key, request.model] = figures.completion_tokens / chunks
            run.ended(figures, exchange)
        except BaseException as error:
            run.failed(error)
            raise
        finally:
            self._leave(run)
            run.done.set()
        if self._options.remember and (names := refused(quirks, run.quirks)):
            await asyncio.to_thread(remember, request.endpoint, names)

    def _enter(self, run: Run) -> None:
        self._runs.add(run)
        self._lag.start()
        self._undisturbed.begin()

    def _calm(self) -> bool:
        """One answer alone, well under way: 20 ms more or less are two percent of it at most."""
        return len(self._runs) == 1 and all(run.flows(_UNDER_WAY_S) for run in self._runs)

    def _leave(self, run: Run) -> None:
        self._runs.discard(run)
        if not self._runs:
            self._lag.stop()
            self._undisturbed.end()
