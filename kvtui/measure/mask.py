"""The keys in use, taken out of an answer's text before anyone sees it.

A server may echo a key in its answer, cut over several deltas, percent-encoded, in base64, in
capitals, or only the middle of it. The text of a stream is masked when somebody takes it, not when
it is read, so that it costs the reading nothing.

What looks like a word is hidden only as it stands: an answer may well hold parts of
``local-server-key``. Of a key that looks made at random, each long run is hidden in every spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TypeGuard

from msgspec import structs

from kvtui.redaction import REDACTED, hide_runs, is_quiet, is_telling, unfinished_run
from kvtui.stream.events import Delta, Event, Replaced

_LEAST = 8
"""Shorter "keys" (``test``, ``ollama``) are words that an answer may well hold."""
_LOOK_BACK = 32
"""Characters in which a run is too short to wait, whatever they are spelt with."""
MUCH = 64 << 10
"""Characters of a delta that is gone through before anybody draws it."""
_END = 8 << 10
"""Characters at its ends that a part of a secret may reach into from outside."""
_LONGEST_WAIT = 4096
"""Characters that wait at most: white space between a key's characters may have no end."""


class Mask:
    """Takes some secrets out of texts; false where there are none."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        cores = {secret.strip() for secret in secrets}
        self._secrets = sorted((s for s in cores if len(s) >= _LEAST), key=len, reverse=True)
        self._telling = [secret for secret in self._secrets if is_telling(secret)]
        self._longest = max(map(len, self._secrets), default=0)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def whole(self, text: str) -> str:
        """``text`` without them."""
        return self.runs(self.exact(text))

    def huge(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events of one read, what is huge among them gone through already.

        That takes seconds, which whoever feeds has and whoever draws has not. Only its ends may
        then still be part of one.
        """
        if not any(map(_is_huge, events)):
            return events
        return [
            structs.replace(event, text=self.whole(event.text)) if _is_huge(event) else event
            for event in events
        ]

    def exact(self, text: str) -> str:
        """``text`` without them where they stand as they are."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def runs(self, text: str) -> str:
        """``text`` without parts of them and other spellings."""
        for secret in self._telling:
            text = hide_runs(text, secret)
        return text

    def unfinished(self, text: str) -> int:
        """How many characters at the end of ``text`` may be the beginning of one of them."""
        tail = text[1 - self._longest :]
        most = 0
        for secret in self._secrets:
            place = tail.find(secret[0], max(0, len(tail) - len(secret) + 1))
            while place >= 0:
                if secret.startswith(tail[place:]):
                    most = max(most, len(tail) - place)
                    break
                place = tail.find(secret[0], place + 1)
        return most

    def is_quiet(self, text: str) -> bool:
        """Whether it plainly holds no part of one; quick."""
        return all(is_quiet(text, secret) for secret in self._telling)

    def unfinished_run(self, text: str) -> int:
        """How many characters at its end may go on to be a part of one in some spelling."""
        return max((unfinished_run(text, secret) for secret in self._telling), default=0)


def _is_huge(event: Event) -> TypeGuard[Delta | Replaced]:
    return isinstance(event, Delta | Replaced) and len(event.text) >= MUCH


class MaskedStream:
    """One text that comes in pieces: what may be the beginning of a secret waits for the next."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""
        self._run = ""
        self._before = ""  # the last that was shown: a run may have begun in it

    def feed(self, text: str) -> str:
        """The text that can be shown once ``text`` has come.

        A text of ``MUCH`` characters has been through ``Mask.huge`` and is not looked at again.
        """
        if len(text) >= MUCH:
            begin, end = text[:_END], text[-_END:]
            return self.feed(begin) + self._follow(text[_END:-_END]) + self.feed(end)
        text = self._mask.exact(self._held + text)
        cut = len(text) - self._mask.unfinished(text)
        self._held = text[cut:]
        text = self._run + text[:cut]
        around = self._before + text
        if self._mask.is_quiet(around):
            self._run, self._before = "", around[-_LOOK_BACK:]
            return text
        waits = min(len(text), self._mask.unfinished_run(around))
        cut = len(text) - (waits if waits <= _LONGEST_WAIT else 0)
        self._run = text[cut:]
        return self._shown(text[:cut])

    def _follow(self, text: str) -> str:
        """``text``, which holds no part of a secret, behind what was held back."""
        rest = self.flush()
        self._before = text[-_LOOK_BACK:]
        return rest + text

    def flush(self) -> str:
        """What was held back; the text ends here, or begins again."""
        rest = self._shown(self._run + self._held)
        self._run = self._held = self._before = ""
        return rest

    def _shown(self, text: str) -> str:
        whole = self._mask.runs(self._before + text)
        old = sum(1 for _ in takewhile(_equal, zip(whole, self._before, strict=False)))
        self._before = whole.rpartition(REDACTED)[2][-_LOOK_BACK:]
        return whole[old:]


def _equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]
