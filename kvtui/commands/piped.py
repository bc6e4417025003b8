"""The prompt that is piped in: read to its end, bounded in size and in silence.

For the screen and for the commands; it imports nothing that the first frame would wait for.
"""

from __future__ import annotations

import os
import sys
import threading
from queue import Empty, SimpleQueue

from kvtui.prompt import PROMPT_LIMIT, PromptError, prompt_text

_SILENCE_S = 3.0
"""A pipe that says nothing for so long at its beginning has nobody who writes to it."""
_LOOKS = 20
"""One that has begun may be silent for so many times that before it is given up."""


def piped_prompt() -> str | None:
    """What is piped into stdin; None where it is a terminal, empty, or stays silent.

    A pipe that nobody writes to (a service, a test harness) must not hang the command: it is taken
    for empty, and that is said. One that has begun is waited for while more comes.

    Raises:
        PromptError: It is too large, no UTF-8 text, or never ends.
    """
    descriptor = _descriptor()
    if descriptor is None:
        return None
    parts: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(descriptor, parts), daemon=True).start()
    data = b""
    silent = 0
    while True:
        try:
            part = parts.get(timeout=_SILENCE_S)
        except Empty:
            silent += 1
            if not data:
                _say("nothing came on stdin; --prompt sets the prompt.")
                return None
            if silent == 1:
                _say(f"waiting for the end of the prompt on stdin, {len(data):,} bytes so far.")
            if silent == _LOOKS:
                raise PromptError(
                    f"The prompt on stdin does not end: {len(data):,} bytes, then nothing for"
                    f" {_LOOKS * _SILENCE_S:.0f} s. Let its writer close it, or use --prompt-file."
                ) from None
            continue
        silent = 0
        if not part:
            return prompt_text(data, "The prompt on stdin").strip() or None
        data += part
        if len(data) > PROMPT_LIMIT:
            raise PromptError(f"The prompt on stdin is larger than {PROMPT_LIMIT:,} bytes.")


def _descriptor() -> int | None:
    """stdin, under a number of its own, since the terminal may take the place of the first."""
    try:
        if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
            return None
        return os.dup(sys.stdin.fileno())
    except (OSError, ValueError):
        return None


def _read(descriptor: int, parts: SimpleQueue[bytes]) -> None:
    """All that comes, bounded; an empty part at its end."""
    size = 0
    try:
        while size <= PROMPT_LIMIT and (part := os.read(descriptor, 65536)):
            size += len(part)
            parts.put(part)
    except OSError:  # a directory, a socket that broke: there is no more
        pass
    os.close(descriptor)
    parts.put(b"")


def _say(sentence: str) -> None:
    sys.stderr.write(f"kvtui: {sentence}\n")
    sys.stderr.flush()
