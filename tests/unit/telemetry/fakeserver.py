"""A small HTTP server whose pages are set by the test, with a log of what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiohttp import web

Answer = web.StreamResponse | Callable[[web.Request], Awaitable[web.StreamResponse]]


class Asked(NamedTuple):
    path: str
    authorization: str | None
    team: str | None
    proxy_login: str | None = None


class FakeServer:
    """Pages by path; anything else answers 404 in plain text."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[], web.Response] | Answer] = {}
        self.asked: list[Asked] = []
        self.release = asyncio.Event()
        self.reached = asyncio.Event()
        self._runner: web.ServerRunner | None = None
        self.origin = ""

    def text(self, path: str, body: str, status: int = 200, kind: str = "text/plain") -> None:
        self.pages[path] = lambda: web.Response(text=body, status=status, content_type=kind)

    def json(self, path: str, body: str, status: int = 200) -> None:
        self.text(path, body, status, "application/json")

    def hang(self, path: str) -> None:
        async def wait(request: web.Request) -> web.StreamResponse:
            await self.release.wait()
            return web.Response(text="late")

        self.pages[path] = wait

    @property
    def paths(self) -> list[str]:
        """What was asked since the last call, and forget it."""
        paths = [asked.path for asked in self.asked]
        self.asked.clear()
        return paths

    async def start(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.origin = f"http://{host}:{port}"

    async def stop(self) -> None:
        self.release.set()
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        known = ("Authorization", "X-Team", "Proxy-Authorization")
        self.asked.append(Asked(request.path, *map(headers.get, known)))
        self.reached.set()
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(text="404 page not found", status=404)
        if asyncio.iscoroutinefunction(page):
            return await page(request)
        return page()
