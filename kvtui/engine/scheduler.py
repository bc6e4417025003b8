"""Continuous batching: one thread that advances every running sequence in turn.

A turn is one decoding step for each sequence that is past its prompt, then a slice of work for
one of those that are not (a piece of a prompt, or a recomputation without cache). Work pauses
after each layer, where sequences that were cancelled are let go.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

from kvtui.engine.cache import KVCache
from kvtui.engine.errors import EngineStoppedError, QueueFullError
from kvtui.engine.generate import Finish, Listener, Request, Sequence, Token
from kvtui.engine.tokenizer import Tokenizer
from kvtui.engine.transformer import Floats, Llama, Pass

_BATCH_FROM = 2
"""Sequences from which one step for all beats a step for each (measured)."""

_CHUNK = 128
"""Tokens of a prompt run at once."""

_SLICE_S = 0.01
"""Time for prompts between two decoding steps of the others; one layer at least."""


@dataclass(slots=True)
class Counters:
    """What the engine has done since it started."""

    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: dict[Finish, int] = field(default_factory=lambda: dict.fromkeys(Finish, 0))


class Ticket:
    """A submitted request's owner's end: it can be cancelled."""

    def __init__(self, scheduler: Scheduler, sequence: Sequence) -> None:
        self._scheduler = scheduler
        self._sequence = sequence

    def cancel(self) -> None:
        """Let the request go, within one layer's work; harmless when it has ended."""
        self._scheduler._cancel(self._sequence)


class Scheduler:
    """Runs requests on one model.

    Args:
        model: the weights.
        tokenizer: the vocabulary.
        cache: its slots bound the number of sequences that run at once.
        max_queue: requests that may wait for a slot.
    """

    def __init__(
        self, model: Llama, tokenizer: Tokenizer, cache: KVCache, max_queue: int = 64
    ) -> None:
        self.cache = cache
        self.counters = Counters()
        self._model = model
        self._tokenizer = tokenizer
        self._max_queue = max_queue
        self._changed = threading.Condition()
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._turns: deque[Sequence] = deque()
        self._cancels = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="kvtui-engine", daemon=True)

    # -- from any thread -------------------------------------------------------------------------

    def start(self) -> None:
        """Start the engine's thread."""
        self._thread.start()

    def stop(self) -> None:
        """End all requests and the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether requests are being worked on."""
        return self._thread.is_alive() and not self._stopping

    @property
    def running(self) -> int:
        """Sequences that hold a slot."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    def submit(self, request: Request, listener: Listener) -> Ticket:
        """Queue a request.

        Args:
            request: with a prompt of at least one token, and room for it in the context.
            listener: called from the engine's thread; must not block.

        Raises:
            QueueFullError: no slot is free and the queue is full.
            EngineStoppedError: the engine has ended.
            ValueError: the request is empty or does not fit the context.
        """
        if not request.ids or request.max_tokens < 1:
            raise ValueError("a request needs a prompt and at least one token to generate")
        if len(request.ids) + request.max_tokens > self.cache.context:
            raise ValueError("prompt and max_tokens exceed the context")
        sequence = Sequence(request, listener, self._tokenizer)
        with self._changed:
            if not self.alive:
                raise EngineStoppedError("The engine has stopped.")
            free = len(self.cache.slots) - len(self._running)
            if len(self._waiting) >= self._max_queue + free:
                raise QueueFullError(
                    f"All {len(self.cache.slots)} slots are busy and "
                    f"{len(self._waiting)} requests are waiting."
                )
            self._waiting.append(sequence)
            self._changed.notify_all()
        return Ticket(self, sequence)

    def _cancel(self, sequence: Sequence) -> None:
        with self._changed:
            sequence.cancelled = True
            self._cancels = True
            self._changed.notify_all()

    # -- the engine's thread ---------------------------------------------------------------------

    def _run(self) -> None:
        finish = Finish.ERROR
        try:
            while self._await_work():
                self._turn()
            finish = Finish.CANCELLED
        finally:  # also when a defect ends the thread: nobody is left waiting
            with self._changed:
                self._stopping = True
                orphans = [*self._running, *self._waiting]
                self._waiting.clear()
            for sequence in orphans:
                self._retire(sequence, finish)

    def _await_work(self) -> bool:
        """Wait until there is something to do, and move waiting requests into free slots."""
        with self._changed:
            while not (self._stopping or self._running or self._waiting):
                self._changed.wait()
            if self._stopping:
                return False
        if self._cancels:
            self._drop_cancelled()
        with self._changed:
            while self._waiting and (slot := self.cache.take()) is not None:
                sequence = self._waiting.popleft()
                sequence.slot = slot
                self._running.append(sequence)
                self._turns.append(sequence)
        return True

    def _turn(self) -> None:
        decoding = [sequence for sequence in self._running if sequence.prefilled]
        if len(decoding) >= _BATCH_FROM:
            self._step_together(decoding)
        else:
            for sequence in decoding:
                self._step_alone(sequence)
        self._work_slice()

    def _step_alone(self, sequence: Sequence) -> None:
        if sequence.finish is None and sequence.slot is not None:
            logits = self._drive(
                self._model.step(sequence.generated[-1], sequence.slot), [sequence]
            )
            if logits is not None:
                self._accept(sequence, logits)

    def _step_together(self, sequences: list[Sequence]) -> None:
        placed = sorted(
            ((s.slot, s) for s in sequences if s.slot is not None), key=lambda pair: pair[0].index
        )
        slots = [slot for slot, _ in placed]
        last = [sequence.generated[-1] for _, sequence in placed]
        logits = self._drive(self._model.step_batch(last, slots, self.cache), sequences)
        if logits is None:
            return
        drawn = [
            (sequence, self._draw(sequence, row))
            for (_, sequence), row in zip(placed, logits, strict=True)
            if sequence.finish is None
        ]
        for sequence, token in drawn:  # told together: each listener may wake another thread
            sequence.listener(token)

    def _drive(self, work: Pass, sequences: Items[Sequence]) -> Floats | None:
        """Run a pass to its end; None when all its sequences were cancelled meanwhile."""
        while True:
            try:
                next(work)
            except StopIteration as done:
                logits: Floats = done.value
                return logits
            if self._cancels:
                self._drop_cancelled()
                if all(sequence.finish is not None for sequence in sequences):
                    return None

    def _work_slice(self) -> None:
        """Advance one sequence that is in its prompt or runs without cache."""
        sequence = self._next_turn()
        if sequence is None:
            return
        deadline = time.perf_counter() + _SLICE_S
        while sequence.finish is None and not sequence.prefilled:
            if sequence.work is None:
                sequence.work = self._next_pass(sequence)
            try:
                next(sequence.work)
            except StopIteration as done:
                sequence.work = None
                self._pass_done(sequence, done.value)
            if self._cancels:
                self._drop_cancelled()
            if time.perf_counter() >= deadline:
                return

    def _next_turn(self) -> Sequence | None:
        """The next in turn of the sequences that have no cached prefix; others leave the ring."""
        for _ in range(len(self._turns)):
            sequence = self._turns.popleft()
            if sequence.finish is None and not sequence.prefilled:
                self._turns.append(sequence)
                return sequence
        return None

    def _next_pass(self, sequence: Sequence) -> Pass:
        request, slot = sequence.request, sequence.slot
        if not request.kv_cache or slot is None:
            return self._model.recompute(sequence.prefix)
        return self._model.extend(request.ids[slot.length : slot.length + _CHUNK], slot)

    def _pass_done(self, sequence: Sequence, logits: Floats) -> None:
        request, slot = sequence.request, sequence.slot
        if request.kv_cache and slot is not None and slot.length < len(request.ids):
            return  # more of the prompt is to come
        self._accept(sequence, logits)

    def _accept(self, sequence: Sequence, logits: Floats) -> None:
        sequence.listener(self._draw(sequence, logits))

    def _draw(self, sequence: Sequence, logits: Floats) -> Token:
        """The sequence's next token; it leaves if that is its last."""
        if not sequence.generated:
            self.counters.prompt_tokens += len(sequence.request.ids)
        self.counters.generation_tokens += 1
        token = sequence.accept(logits)
        if token.finish is not None:
            self._leave(sequence)
        return token

    def _drop_cancelled(self) -> None:
        with self._changed:
            self._cancels = False
            gone = [s for s in (*self._running, *self._waiting) if s.cancelled]
            for sequence in gone:
                if sequence in self._waiting:
                    self._waiting.remove(sequence)
        for sequence in gone:
            self._retire(sequence, Finish.CANCELLED)

    def _retire(self, sequence: Sequence, finish: Finish) -> None:
        token = sequence.abandon(finish)
        self._leave(sequence)
        sequence.listener(token)

    def _leave(self, sequence: Sequence) -> None:
        """Free the slot and count the ending, before anybody is told of it."""
        if sequence.slot is not None:
            self.cache.release(sequence.slot)
            sequence.slot = None
        sequence.work = None
        if sequence in self._running:
            self._running.remove(sequence)
        if sequence.finish is not None:
            self.counters.finished[sequence.finish] += 1
