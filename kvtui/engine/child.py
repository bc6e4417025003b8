"""The engine as a child process: the screen measures it like any other endpoint.

The child watches its stdin, a pipe that nobody writes to. However the parent ends, the system
closes the pipe, and the child ends too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from queue import Empty, Queue
from typing import IO, Any

from kvtui.engine.errors import EngineModelError, EngineStartError
from kvtui.engine.geometry import EngineGeometry

_STOP_TIMEOUT_S = 3.0
_LOG_LINES = 200
_MODEL_STATUS = 2
"""``kvtui serve`` ends with this where what it was told cannot be used; here that is the model."""
_WINDOWS_FLAGS: int = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(
    subprocess, "CREATE_NEW_PROCESS_GROUP", 0
)


class EngineChild:
    """A running child process.

    Attributes:
        base_url: where it listens, with `/v1`.
        model_id: the model it serves.
        geometry: that model's sizes.
        pid: the child's process id.
    """

    def __init__(
        self,
        process: subprocess.Popen[str],
        log: deque[str],
        base_url: str,
        model_id: str,
        geometry: EngineGeometry,
    ) -> None:
        self._process = process
        self._log = log
        self.base_url = base_url
        self.model_id = model_id
        self.geometry = geometry
        self.pid = process.pid

    @classmethod
    def start(
        cls,
        model: str | None = None,
        *,
        threads: int = 1,
        max_num_seqs: int = 4,
        timeout: float = 30,
        weights: str = "f32",
        kv_dtype: str = "f32",
    ) -> EngineChild:
        """Start a child and wait until it listens; blocks.

        Args:
            model: a model's name or the path of a GGUF file; None takes the default.
            threads: BLAS threads.
            max_num_seqs: requests worked on at once.
            timeout: seconds to wait.
            weights: precision that the weights are held in.
            kv_dtype: precision that the cache is held in.

        Raises:
            EngineModelError: the model is not there, or no file the engine can run.
            EngineStartError: it ended, or was not ready in time; the message says why.
        """
        command = [sys.executable, "-m", "kvtui", "serve", "--port", "0", "--exit-with-parent"]
        command += ["--threads", str(threads), "--max-num-seqs", str(max_num_seqs)]
        command += ["--weights", weights, "--kv-dtype", kv_dtype]
        if model is not None:
            command += ["--model", model]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                creationflags=_WINDOWS_FLAGS,
                start_new_session=True,  # Ctrl+C in the terminal is the parent's to handle
            )
        except OSError as error:
            raise EngineStartError(f"The embedded engine cannot be started: {error}.") from error
        log: deque[str] = deque(maxlen=_LOG_LINES)
        ready: Queue[str | None] = Queue()
        _in_thread(_drain, process.stderr, log)
        _in_thread(_first_line, process.stdout, ready)
        try:
            return cls._from_ready(process, log, ready.get(timeout=timeout))
        except Empty:
            _end(process)
            raise EngineStartError(
                f"The embedded engine was not ready after {timeout:g} seconds."
            ) from None

    @classmethod
    def _from_ready(
        cls, process: subprocess.Popen[str], log: deque[str], line: str | None
    ) -> EngineChild:
        try:
            said: dict[str, Any] = json.loads(line or "")
            geometry = EngineGeometry(**said["geometry"])
            return cls(process, log, said["base_url"], said["model"], geometry)
        except (ValueError, KeyError, TypeError):
            status = _end(process)
            last = next((text for text in reversed(log) if text.strip()), None)
            failed = EngineModelError if status == _MODEL_STATUS and last else EngineStartError
            raise failed(
                last or f"The embedded engine ended with status {status} before it was ready."
            ) from None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def log(self) -> list[str]:
        """The last lines of the child's narration."""
        return list(self._log)

    def stop(self) -> None:
        """End the child; blocks for a moment; harmless when it has ended."""
        _end(self._process)


def _end(process: subprocess.Popen[str]) -> int:
    """Close the child's stdin, which it takes as the end; then insist."""
    for insist in (process.terminate, process.kill):
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        try:
            return process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            insist()
    return process.wait()


def _in_thread(target: Any, *arguments: object) -> None:
    threading.Thread(target=target, args=arguments, daemon=True).start()


def _drain(stream: IO[str], log: deque[str]) -> None:
    """Read a pipe to its end, so that the child never waits for it to be emptied."""
    with stream:
        for line in stream:
            log.append(line.rstrip("\n"))


def _first_line(stream: IO[str], ready: Queue[str | None]) -> None:
    with stream:
        ready.put(stream.readline() or None)
        for _ in stream:
            pass
