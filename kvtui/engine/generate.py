"""One sequence on its way: what was asked, what has come, when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from kvtui.engine.cache import Slot
from kvtui.engine.sampling import Sampler, SamplingParams
from kvtui.engine.tokenizer import Detokenizer, Tokenizer
from kvtui.engine.transformer import Floats, Pass


class Finish(Enum):
    """Why a sequence ended; the values are OpenAI's and vLLM's words."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "abort"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Request:
    """What to generate.

    Attributes:
        ids: the prompt.
        max_tokens: tokens to generate at most; prompt and these fit the context.
        stop: texts that end the answer and are not part of it.
        kv_cache: False recomputes the whole prefix for every token.
        ignore_eos: go on past the model's own end.
        min_tokens: the model's end is not drawn before so many tokens.
    """

    ids: tuple[int, ...]
    max_tokens: int
    sampling: SamplingParams = field(default_factory=SamplingParams)
    stop: tuple[str, ...] = ()
    kv_cache: bool = True
    ignore_eos: bool = False
    min_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token.

    Attributes:
        token_id: its id; -1 where the sequence ended without a token (cancelled, error).
        text: the text that became certain with it, perhaps none.
        count: tokens generated up to and with this one.
        finish: why the sequence ends here, or None.
    """

    token_id: int
    text: str
    count: int
    finish: Finish | None = None


Listener = Callable[[Token], None]
"""Called in the engine's thread, once per token; the last has `finish` set."""


@dataclass(slots=True, eq=False)
class Sequence:
    """A request's state between the queue and its end; owned by the engine's thread."""

    request: Request
    listener: Listener
    tokenizer: Tokenizer
    generated: list[int] = field(default_factory=list)
    slot: Slot | None = None
    work: Pass | None = None
    cancelled: bool = False
    finish: Finish | None = None
    _text: StopText = field(init=False)
    _detokenizer: Detokenizer = field(init=False)
    _sampler: Sampler = field(init=False)

    def __post_init__(self) -> None:
        self._text = StopText(self.request.stop)
        self._detokenizer = Detokenizer(self.tokenizer)
        self._sampler = Sampler(self.request.sampling)

    @property
    def prefix(self) -> list[int]:
        """The prompt and what has been generated."""
        return [*self.request.ids, *self.generated]

    @property
    def prefilled(self) -> bool:
        """Whether all but the last token is cached, so that a single step is due."""
        return self.slot is not None and self.request.kv_cache and bool(self.generated)

    def accept(self, logits: Floats) -> Token:
        """Draw the next token from its logits."""
        request = self.request
        count = len(self.generated) + 1
        ends = self.tokenizer.eos_ids
        forbidden = ends if count <= request.min_tokens else frozenset[int]()
        token_id = self._sampler.sample(logits, forbidden=forbidden)
        self.generated.append(token_id)
        ended = token_id in ends and not request.ignore_eos
        text = self._text.add("" if ended else self._detokenizer.add(token_id))
        if ended or self._text.stopped:
            self.finish = Finish.STOP
        elif count >= request.max_tokens:
            self.finish = Finish.LENGTH
        if self.finish is not None and not self._text.stopped:
            text += self._text.add(self._detokenizer.finish()) + self._text.finish()
        return Token(token_id, text, count, self.finish)

    def abandon(self, finish: Finish) -> Token:
        """End without a token; what is returned carries the reason only."""
        self.finish = finish
        return Token(-1, "", len(self.generated), finish)


class StopText:
    """Holds back text that may turn out to be the beginning of a stop text."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.stopped = False

    def add(self, text: str) -> str:
        """What of `text`, and of what was held, is certain to belong to the answer."""
        if not self._stops:
            return text
        if self.stopped:
            return ""
        held = self._held + text
        found = min((at for stop in self._stops if (at := held.find(stop)) >= 0), default=-1)
        if found >= 0:
            self.stopped, self._held = True, ""
            return held[:found]
        keep = max(_overlap(held, stop) for stop in self._stops)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep]

    def finish(self) -> str:
        """What was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` with which `stop` begins."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
