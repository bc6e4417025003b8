"""The keys in use, taken out of an answer's text before anyone sees it.

A server may echo a key in its answer, cut over several deltas, percent-encoded, in base64, in
capitals, or only the middle of it. The text of a stream is masked when somebody takes it, not when
it is read, so that it costs the reading nothing.

What looks like a word is hidden only as it stands: an answer may well hold parts of
``local-server-key``. Of a key that looks made at random, each long run is hidden in every spelling.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from kvtui.redaction import REDACTED, hide_runs, is_quiet, is_telling, unfinished_run

_LEAST = 8
"""Shorter "keys" (``test``, ``ollama``) are words that an answer may well hold."""
_LOOK_BACK = 32
"""Characters in which a run is too short to wait, whatever they are spelt with."""
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


class MaskedStream:
    """One text that comes in pieces: what may be the beginning of a secret waits for the next."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""
        self._run = ""
        self._before = ""  # the last that was shown: a run may have begun in it

    def feed(self, text: str) -> str:
        """The text that can be shown once ``text`` has come."""
        text = self._mask.exact(self._held + text)
        cut = len(text) - self._mask.unfinished(text)
        self._held = text[cut:]
        text = self._run + text[:cut]
        if self._mask.is_quiet(around := self._before + text):
            self._run, self._before = "", around[-_LOOK_BACK:]
            return text
        waits = min(len(text), self._mask.unfinished_run(self._before + text))
        cut = len(text) - (waits if waits <= _LONGEST_WAIT else 0)
        self._run = text[cut:]
        return self._shown(text[:cut])

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
