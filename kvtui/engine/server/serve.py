"""The life of a server: bind, load, listen, end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from kvtui.engine import models
from kvtui.engine.engine import Engine
from kvtui.engine.errors import EngineError
from kvtui.engine.server.app import build_app
from kvtui.engine.server.mailbox import Mailbox
from kvtui.engine.server.state import State

_BACKLOG = 1024
_GRACE_S = 2.0
"""After the parent's end the process is gone within this time, whatever it is doing."""


@dataclass(frozen=True, slots=True)
class Options:
    """What `kvtui serve` was asked for."""

    host: str
    port: int
    api_key: str | None
    key_from: str | None
    max_num_seqs: int
    model: str | None
    exit_with_parent: bool
    weights: str = "f32"
    kv_dtype: str = "f32"


def serve(options: Options) -> None:
    """Serve until interrupted, or until stdin ends where asked to watch it.

    Raises:
        EngineError: the address cannot be had, or the model not be loaded.
    """
    stop = _StopSignal()
    if options.exit_with_parent:
        threading.Thread(target=_watch_parent, args=(stop,), daemon=True).start()
    if not 1 <= options.max_num_seqs <= 256:
        raise EngineError(f"--max-num-seqs must be from 1 to 256, not {options.max_num_seqs}.")
    with _bind(options.host, options.port) as listener:
        choice = models.resolve(options.model)
        engine = Engine(
            choice.path,
            choice.model_id,
            max_num_seqs=options.max_num_seqs,
            weights=options.weights,
            kv_dtype=options.kv_dtype,
        )
        _raise_file_limit()
        engine.start()
        try:
            asyncio.run(_listen(options, engine, listener, stop))
        finally:
            engine.stop()


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise EngineError(_bind_fault(host, port, error)) from error


def _bind_fault(host: str, port: int, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use; choose another with --port (0 takes a free one)."
    if number == errno.EACCES:
        return f"Port {port} on {host} may not be used by this user; choose one above 1023."
    if isinstance(error, OverflowError):
        return f"There is no port {port}; choose one from 0 to 65535."
    known = number is not None and not isinstance(error, socket.gaierror)
    reason = os.strerror(number or 0) if known else getattr(error, "strerror", None) or str(error)
    return f"Cannot listen on {host}, port {port}: {reason}."


def _raise_file_limit() -> None:
    """Each connection takes a file descriptor, and many systems begin with 1,024 or fewer."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _ClientFaults(logging.Filter):
    """Drops aiohttp's tracebacks of what clients did wrong on the wire; defects stay."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log the record."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (HttpProcessingError, ConnectionError))


async def _listen(
    options: Options, engine: Engine, listener: socket.socket, stop: _StopSignal
) -> None:
    logging.getLogger("aiohttp.server").addFilter(_ClientFaults())
    app = build_app(State(engine, Mailbox(), options.api_key))
    runner = web.AppRunner(
        app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5, handle_signals=False
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener, backlog=_BACKLOG).start()
        stop.attach(asyncio.get_running_loop())
        _announce(options, engine, listener)
        await stop.wait()
    finally:
        await runner.cleanup()


def _announce(options: Options, engine: Engine, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        shown = "127.0.0.1"
    base_url = f"http://{shown}:{port}/v1"
    if options.exit_with_parent:
        ready = {
            "ready": True,
            "base_url": base_url,
            "model": engine.model_id,
            "pid": os.getpid(),
            "geometry": msgspec.to_builtins(engine.geometry),
        }
        sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")  # UTF-8 in any locale
        sys.stdout.flush()
    sizes = engine.geometry
    key = "no key needed"
    if options.api_key is not None:
        key = f"key from {options.key_from or 'the caller'}"
    header = " -H 'Authorization: Bearer KEY'" if options.api_key is not None else ""
    body = (
        f'{{"model": "{engine.model_id}", "stream": true, '
        '"messages": [{"role": "user", "content": "What does a KV cache hold?"}]}'
    )
    sys.stderr.write(
        f"kvtui serves {engine.model_id} ({sizes.n_params / 1e6:.1f}M parameters, "
        f"{sizes.context} tokens of context, {options.max_num_seqs} at once) "
        f"on {base_url} ({key}).\n"
        f"Try: curl -N {base_url}/chat/completions{header} "
        f"-H 'Content-Type: application/json' -d '{body}'\n"
        "Ctrl+C ends it.\n"
    )
    if options.api_key is None and not ipaddress.ip_address(host).is_loopback:
        sys.stderr.write("Whoever reaches this address may use it: --api-key-env asks for a key.\n")
    sys.stderr.flush()


class _StopSignal:
    """Set from a signal or a thread, awaited by the loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event = asyncio.Event()
        self._early = False
        self._lock = threading.Lock()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From here on the loop is told; what was set before counts."""
        with self._lock:
            self._loop = loop
            if self._early:
                self._event.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError):  # Windows: Ctrl+C interrupts run()
                loop.add_signal_handler(number, self._event.set)

    def set(self) -> None:
        """Ask for the end, from any thread."""
        with self._lock:
            self._early = True
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Wait until the end is asked for."""
        await self._event.wait()


def _watch_parent(stop: _StopSignal) -> None:
    """Wait for the end of stdin: the parent closed it, or is no more, however it ended."""
    # By its descriptor: a thread inside sys.stdin's own lock would trip the interpreter's end.
    with suppress(OSError, ValueError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    stop.set()
    threading.Event().wait(_GRACE_S)
    os._exit(0)
