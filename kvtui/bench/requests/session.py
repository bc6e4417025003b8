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
from typing import Any, TypeVar

from kvtui.bench.requests.options import RunOptions
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.requests.preparing import Preparing
from kvtui.bench.requests.remembered import remember
from kvtui.bench.requests.run import Run
from kvtui.bench.requests.targets import Target
from kvtui.bench.requests.undisturbed import Undisturbed
from kvtui.config import Endpoint
from kvtui.failure import Evidence
from kvtui.measure.meter import Meter
from kvtui.stream.gather import secrets_of
from kvtui.stream.lag import LagWatch
from kvtui.stream.quirks import Quirks, refused
from kvtui.stream.request import Request, repeat_prefix, with_prefix

_T = TypeVar("_T")
_ENOUGH_CHUNKS = 8
"""Chunks of a run from which it tells how many tokens a chunk of that endpoint carries."""
_UNDER_WAY_S = 1.0


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
        self._preparing = Preparing(options)
        self._lag = LagWatch(self._loop, self._calm)
        self._runs: set[Run] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
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
        return self._submit(self._preparing.prepare(unbidden, options))

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
        return self._submit(self._preparing.open(endpoint, count))

    def count_tokens(
        self, endpoint: Endpoint, model: str, texts: Sequence[str]
    ) -> Future[list[int] | None]:
        """The tokens of texts, by the server's own tokenizer; None where it offers none."""
        return self._submit(self._preparing.count_tokens(endpoint, model, texts))

    def learn(self, endpoint: Endpoint) -> Future[Quirks]:
        """What an endpoint is known to take; asks for its models where it was not recognised yet.

        A benchmark wants to know it before its first request, for ``ignore_eos``.
        """
        return self._submit(self._preparing.learn(endpoint))

    def settle(self, endpoint: Endpoint, refused: Iterable[str]) -> None:
        """A check-up asked with everything: these were refused, all else the endpoint takes."""
        self._submit(self._preparing.settle(endpoint, tuple(refused)))

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
        self._preparing.clients = Clients()

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
        await self._preparing.close()
        self._loop.stop()

    # --- running ----------------------------------------------------------------------------------

    async def _run(self, run: Run, meter: Meter) -> None:
        from kvtui.failure import classify
        from kvtui.stream.exchange import Exchange

        assert self._preparing.clients is not None
        request = run.request
        key = request.endpoint.base_url
        quirks = self._preparing.quirks.get(key, Quirks())
        self._enter(run)
        try:
            exchange = Exchange(self._preparing.clients, request, quirks, meter.feed)
            run.began(exchange)
            await exchange.run()
            await self._preparing.clients.turns.take()
            figures = meter.conclude(classify)
            self._preparing.quirks[key] = exchange.quirks
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
