"""What the handlers share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from aiohttp import web

from kvtui.engine.engine import Engine
from kvtui.engine.server.mailbox import Mailbox


@dataclass(frozen=True, slots=True)
class State:
    """One server's engine, its way to the event loop, and its key."""

    engine: Engine
    mailbox: Mailbox
    api_key: str | None = None
    started: int = field(default_factory=lambda: int(time.time()))


STATE = web.AppKey("state", State)
