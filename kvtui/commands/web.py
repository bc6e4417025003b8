"""``kvtui --web``: the screen in a browser on this machine, through textual-serve (extra ``web``).

Each page gets an app of its own. Its options travel in a variable of the environment, not on a
command line, where every user of the machine could read them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Any

import click

from kvtui.commands.errors import BadInput
from kvtui.commands.output import put

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HOST = "127.0.0.1"
PORT = 8000
ARGUMENTS = "KVTUI_SERVED_ARGUMENTS"
"""The variable that holds the served app's options, as a JSON list of arguments."""
_OWN = ("web", "port")
"""Options of the server; the rest is the app's."""


def arguments(ctx: click.Context) -> list[str]:
    """The options given on the command line, but for the server's own, as arguments again."""
    made: list[str] = []
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in _OWN or not isinstance(parameter, click.Option):
            continue
        value = ctx.params[name]
        if parameter.is_flag:
            made.append(parameter.opts[0])
            continue
        for each in value if parameter.multiple else [value]:
            made += [parameter.opts[0], _text(each)]
    return made


def _text(value: Any) -> str:
    """A parsed value as it was written: a header, a JSON object, anything else."""
    if isinstance(value, tuple):
        return ": ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)


def serve(given: list[str], port: int) -> int:
    """Serve the app until Ctrl+C; returns the exit status.

    Raises:
        BadInput: textual-serve is not installed, or the port is taken.
    """
    try:
        from textual_serve.server import Server
    except ImportError:
        raise BadInput(
            "--web needs textual-serve, which is not installed: pip install textual-serve."
        ) from None
    _require_port(port)
    os.environ[ARGUMENTS] = json.dumps(given)
    command = f"{shlex.quote(sys.executable)} -m kvtui.commands.served"
    served: Any = Server(command, host=HOST, port=port, title="kvtui")
    _tame(served, port)
    with contextlib.suppress(KeyboardInterrupt):
        served.serve()
    return 0


def _require_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BadInput(
                f"Port {port} of {HOST} cannot be had ({error.strerror}): give another with --port."
            ) from None


def _tame(served: Any, port: int) -> None:
    """Keep textual-serve from logging locals, fetching a font elsewhere, trusting any page."""
    make_app, index = served._make_app, served.handle_index
    own = {f"{name}:{port}" for name in (HOST, "localhost")}
    if port == 80:
        own |= {HOST, "localhost"}

    async def app() -> Any:
        from aiohttp import web

        @web.middleware
        async def guard(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            """Only pages of this server may start an app here and type into it."""
            origin = request.headers.get("Origin")
            if request.host not in own or (origin and origin.partition("://")[2] not in own):
                raise web.HTTPForbidden(text="kvtui answers only its own pages.")
            return await handler(request)

        made = await make_app()
        made.middlewares.append(guard)
        return made

    async def page(request: Any) -> Any:
        response = await index(request)
        response.text = local_page(response.text)
        return response

    async def greet(_app: Any) -> None:
        put(f"kvtui in a browser: http://{HOST}:{port}  (Ctrl+C ends it)", err=True)

    served._make_app, served.handle_index, served.on_startup = app, page, greet
    served.initialize_logging = lambda: logging.basicConfig(level=logging.WARNING)


_FONT = """<style>@font-face { font-family: "Roboto Mono";
src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }</style>"""


def local_page(html: str) -> str:
    """The page with its font from this server: a browser then asks no other machine."""
    return re.sub(r"<link[^>]*fonts\.googleapis\.com[^>]*>", _FONT, html, flags=re.DOTALL)
