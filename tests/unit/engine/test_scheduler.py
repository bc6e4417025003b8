"""Continuous batching: who runs, who waits, who is let go; checked by events, never by sleeping."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest
from tinygguf import random_llama

from kvtui.engine.engine import Engine
from kvtui.engine.errors import EngineStoppedError, QueueFullError
from kvtui.engine.generate import Finish, Request, Token
from kvtui.engine.sampling import SamplingParams
from kvtui.engine.scheduler import Ticket

DEADLINE = 20.0
GREEDY = SamplingParams(temperature=0.0)
PROMPT = tuple(range(10, 30))


class Client:
    """Submits one request and collects its tokens."""

    def __init__(self, engine: Engine, **options: object) -> None:
        self.queue: Queue[Token] = Queue()
        self.tokens: list[Token] = []
        fields = {"ids": PROMPT, "max_tokens": 20, "sampling": GREEDY, "ignore_eos": True}
        self.ticket: Ticket = engine.scheduler.submit(
            Request(**{**fields, **options}), self.queue.put
        )

    def next(self) -> Token:
        self.tokens.append(self.queue.get(timeout=DEADLINE))
        return self.tokens[-1]

    def finish(self) -> list[int]:
        while not self.tokens or self.tokens[-1].finish is None:
            self.next()
        return [token.token_id for token in self.tokens]


@pytest.fixture
def engine(tiny_path: Path) -> Iterator[Engine]:
    engine = Engine(tiny_path, "tiny", max_num_seqs=4, max_queue=3)
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def slow_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many layers, so that a recomputation has many pauses."""
    return random_llama(
        tmp_path_factory.mktemp("slow") / "m.gguf", layers=24, dim=96, ffn=128, context=1024
    )


@pytest.fixture
def slow(slow_path: Path) -> Iterator[Engine]:
    engine = Engine(slow_path, "slow", max_num_seqs=2, max_queue=3)
    engine.start()
    yield engine
    engine.stop()


def test_four_at_once_give_what_each_gives_alone(engine: Engine) -> None:
    prompts = [tuple(range(10 + n, 20 + 7 * n)) for n in range(4)]
    alone = [Client(engine, ids=prompt).finish() for prompt in prompts]
    clients = [Client(engine, ids=prompt) for prompt in prompts]
    assert [client.finish() for client in clients] == alone
    assert len({tuple(ids) for ids in alone}) == 4


def test_cache_off_gives_the_same_tokens_and_holds_no_bytes(engine: Engine) -> None:
    on = Client(engine)
    off = Client(engine, kv_cache=False)
    assert off.finish() == on.finish()
    held: list[int] = []
    alone = Client(engine, kv_cache=False)
    while alone.next().finish is None:
        held.append(engine.cache.usage().nbytes)
    assert set(held) == {0}


def test_bytes_in_use_follow_the_tokens(engine: Engine) -> None:
    seen: list[tuple[int, int]] = []
    done = threading.Event()

    def listener(token: Token) -> None:
        seen.append((token.count, engine.cache.usage().nbytes))
        if token.finish is not None:
            done.set()

    request = Request(ids=PROMPT, max_tokens=30, sampling=GREEDY, ignore_eos=True)
    engine.scheduler.submit(request, listener)
    assert done.wait(DEADLINE)
    per_token = engine.geometry.kv_bytes_per_token
    # Token n is drawn when the prompt and the n - 1 before it are cached.
    assert seen[:-1] == [(n, per_token * (len(PROMPT) + n - 1)) for n in range(1, 30)]
    assert seen[-1] == (30, 0)


def test_a_long_prompt_is_run_in_chunks(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = tuple(n % 200 + 5 for n in range(90))
    whole = Client(engine, ids=prompt).finish()
    monkeypatch.setattr("kvtui.engine.scheduler._CHUNK", 7)
    assert Client(engine, ids=prompt).finish() == whole


def test_more_requests_than_slots_wait_and_all_end(engine: Engine) -> None:
    clients = [Client(engine) for _ in range(7)]
    results = {tuple(client.finish()) for client in clients}
    assert len(results) == 1
    assert engine.scheduler.running == engine.scheduler.waiting == 0
    assert engine.cache.usage().nbytes == 0


def test_the_queue_is_first_come_first_served(slow: Engine) -> None:
    order: Queue[int] = Queue()

    def listen(n: int) -> object:
        def listener(token: Token) -> None:
            if token.count == 1:
                order.put(n)

        return listener

    running = [Client(slow, kv_cache=False, max_tokens=200) for _ in range(2)]
    for client in running:
        client.next()
    for n in range(3):
        request = Request(ids=PROMPT, max_tokens=1, sampling=GREEDY)
        slow.scheduler.submit(request, listen(n))  # type: ignore[arg-type]
    running[0].ticket.cancel()
    assert [order.get(timeout=DEADLINE) for _ in range(3)] == [0, 1, 2]
    running[1].ticket.cancel()


def test_a_full_queue_refuses(slow: Engine) -> None:
    running = [Client(slow, kv_cache=False, max_tokens=400) for _ in range(2)]
    for client in running:
        client.next()
    waiting = [Client(slow) for _ in range(3)]
    with pytest.raises(QueueFullError, match="2 slots are busy and 3"):
        Client(slow)
    for client in [*running, *waiting]:
        client.ticket.cancel()
        assert client.finish()[-1] == -1
    assert Client(slow).finish()


@pytest.mark.parametrize("kv_cache", [True, False])
def test_a_cancelled_request_frees_its_slot(slow: Engine, kv_cache: bool) -> None:
    client = Client(slow, kv_cache=kv_cache, max_tokens=900)
    client.next()
    client.ticket.cancel()
    while client.next().finish is None:
        pass
    assert client.tokens[-1].finish is Finish.CANCELLED
    assert slow.scheduler.running == 0
    assert slow.cache.usage().nbytes == 0
    assert slow.scheduler.counters.finished[Finish.CANCELLED] == 1


@pytest.mark.parametrize("kv_cache", [True, False])
def test_a_stop_takes_no_more_than_one_layer(slow_path: Path, kv_cache: bool) -> None:
    """Cancelled while a layer runs, a request is gone before a second one runs."""
    engine = Engine(slow_path, "slow")
    model = engine.scheduler._model
    layers_after = 0
    cancelled = threading.Event()
    client: list[Client] = []
    original = model._feed_forward

    def counting(*arguments: object) -> object:
        nonlocal layers_after
        if cancelled.is_set():
            layers_after += 1
        elif client and len(client[0].tokens) + client[0].queue.qsize() >= 3:
            cancelled.set()
            client[0].ticket.cancel()
        return original(*arguments)  # type: ignore[arg-type]

    model._feed_forward = counting  # type: ignore[method-assign, assignment]
    engine.start()
    client.append(Client(engine, kv_cache=kv_cache, max_tokens=500))
    client[0].finish()
    engine.stop()
    assert cancelled.is_set()
    assert layers_after == 0
    assert client[0].tokens[-1].finish is Finish.CANCELLED


def test_a_waiting_request_can_be_cancelled(slow: Engine) -> None:
    running = [Client(slow, kv_cache=False, max_tokens=400) for _ in range(2)]
    waiting = Client(slow)
    waiting.ticket.cancel()
    assert waiting.finish() == [-1]
    for client in running:
        client.ticket.cancel()
        client.finish()


def test_a_long_prompt_does_not_stop_the_others(
    slow: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decoding sequence gets a token after each slice of a long prompt, here one layer."""
    monkeypatch.setattr("kvtui.engine.scheduler._SLICE_S", 0.0)
    decoding = Client(slow, max_tokens=700)
    decoding.next()
    long = Client(slow, ids=tuple(n % 200 + 5 for n in range(150)), max_tokens=2)
    before = decoding.next().count
    long.next()
    while not decoding.queue.empty():
        decoding.next()
    assert decoding.tokens[-1].count - before > 30
    decoding.ticket.cancel()


def test_stopping_ends_everything(slow_path: Path) -> None:
    engine = Engine(slow_path, "slow", max_num_seqs=1)
    engine.start()
    clients = [Client(engine, kv_cache=False, max_tokens=500) for _ in range(3)]
    clients[0].next()
    engine.stop()
    for client in clients:
        client.finish()
        assert client.tokens[-1].finish is Finish.CANCELLED
    with pytest.raises(EngineStoppedError):
        Client(engine)
    assert not engine.scheduler.alive


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_leaves_nobody_waiting(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> object:
        raise RuntimeError("a defect")

    monkeypatch.setattr(engine.scheduler._model, "_logits", broken)
    client = Client(engine)
    client.finish()
    assert client.tokens[-1].finish is Finish.ERROR
    assert not engine.scheduler.alive


def test_what_does_not_fit_is_refused(engine: Engine) -> None:
    for options in ({"ids": ()}, {"max_tokens": 0}, {"max_tokens": 120}):
        with pytest.raises(ValueError, match="prompt"):
            Client(engine, **options)


def test_the_counters_count(engine: Engine) -> None:
    Client(engine, max_tokens=5).finish()
    Client(engine, max_tokens=7, kv_cache=False).finish()
    counters = engine.scheduler.counters
    assert counters.prompt_tokens == 2 * len(PROMPT)
    assert counters.generation_tokens == 12
    assert counters.finished[Finish.LENGTH] == 2
