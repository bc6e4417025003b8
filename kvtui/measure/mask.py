"""The keys in use, taken out of an answer's text before anyone sees it.

A server may echo a key in its answer, cut over several deltas. The text of a stream is masked when
somebody takes it, not when it is read, so that it costs the reading nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvtui.text import REDACTED

_LEAST = 8
"""Shorter "keys" (``test``, ``ollama``) are words that an answer may well hold."""


class Mask:
    """Takes some secrets out of texts; false where there are none."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        cores = {secret.strip() for secret in secrets}
        self._secrets = sorted((s for s in cores if len(s) >= _LEAST), key=len, reverse=True)
        self._longest = max(map(len, self._secrets), default=0)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def whole(self, text: str) -> str:
        """``text`` without them."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
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


class MaskedStream:
    """One text that comes in pieces: what may be the beginning of a secret waits for the next."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self.held = ""

    def feed(self, text: str) -> str:
        """The text that can be shown once ``text`` has come."""
        text = self._mask.whole(self.held + text)
        waits = self._mask.unfinished(text)
        self.held = text[len(text) - waits :]
        return text[: len(text) - waits]

    def flush(self) -> str:
        """What was held back; the text ends here, or begins again."""
        held, self.held = self.held, ""
        return held
