"""Make the pictures of this folder from real runs of the embedded engine.

    python screenshots/make.py [NAME …]

Each picture is the screen itself, run headless against the engine's own process: what it shows was
measured while it was made. SVG always; PNG too where Chromium is installed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

HERE = Path(__file__).parent
SIZES = {"120x40": (120, 40), "80x24": (80, 24), "200x50": (200, 50)}
FONTS = '"DejaVu Sans Mono", "Noto Sans Mono", "Cascadia Mono", Menlo, monospace'
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

scratch = tempfile.TemporaryDirectory()
os.environ["KVTUI_CONFIG"] = str(Path(scratch.name) / "config.toml")
os.environ["KVTUI_RUNS"] = str(Path(scratch.name) / "runs")
os.environ["KVTUI_STATE"] = str(Path(scratch.name) / "state.toml")
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.setdefault("COLORTERM", "truecolor")
for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAOTOKEN_API_KEY", "NO_COLOR"):
    os.environ.pop(variable, None)

from textual.pilot import Pilot  # noqa: E402 - after the environment it reads

from kvtui.ui.app import KvtuiApp  # noqa: E402


async def until(condition: Callable[[], object], pilot: Pilot[int], seconds: float = 90) -> None:
    """Let the app run until ``condition`` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited in vain")
        await pilot.pause(0.05)


def snapshot(app: KvtuiApp) -> object:
    """The state of the latest request."""
    assert app.conductor is not None
    return app.main.stream.figures.state.snapshot


async def ready(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """The engine answers and the Memory pane is filled."""
    await until(
        lambda: (
            app.conductor is not None
            and app.main.header.endpoint is not None
            and app.main.header.endpoint.ready
        ),
        pilot,
    )
    await pilot.pause(0.3)


async def tokens(app: KvtuiApp, pilot: Pilot[int], count: int) -> None:
    """Wait for so many tokens."""
    await until(lambda: (snapshot(app).tokens or 0) >= count, pilot)  # type: ignore[attr-defined]


async def finished(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """Wait for the request's end."""
    await until(
        lambda: snapshot(app).phase in {"done", "failed", "stopped"},  # type: ignore[attr-defined]
        pilot,
    )
    await pilot.pause(0.3)


async def streaming(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """Half-way through an answer."""
    await ready(app, pilot)
    await pilot.press("enter")
    await tokens(app, pilot, 260)


async def zoomed_memory(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """All that the Memory pane knows of a large model for some users."""
    await as_if(app, pilot)
    await pilot.press("2")
    await pilot.pause(0.5)


async def as_if(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """The same tokens as if on a large model for many users."""
    await ready(app, pilot)
    await pilot.press("w", "enter")
    await tokens(app, pilot, 300)


async def cache_off(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """Without the cache every step recomputes its prefix: the rate falls."""
    await ready(app, pilot)
    await pilot.press("k", "enter")
    await tokens(app, pilot, 160)


async def failure(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """A failure, as a provider would answer."""
    await ready(app, pilot)
    await pilot.press("enter")
    await finished(app, pilot)


async def planner(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """What fits: a model, a card, a context, users."""
    await ready(app, pilot)
    await pilot.press("w", "p")
    await until(lambda: app.screen is not app.main, pilot)
    await pilot.pause(3)


async def experiment(app: KvtuiApp, pilot: Pilot[int], preset: str, *settings: str) -> object:
    """Open the experiments, choose one, give its first fields values, and run it."""
    await ready(app, pilot)
    await pilot.press("x")
    await until(lambda: app.screen is not app.main and app.screen.is_mounted, pilot)
    await pilot.pause(1)
    screen = app.screen
    screen.action_choose(preset)  # type: ignore[attr-defined]
    await pilot.pause(0.3)
    for value in settings:
        await pilot.press("tab", *value)
    await pilot.press("enter")
    await until(lambda: screen.mode == "live", pilot)  # type: ignore[attr-defined]
    return screen


async def sweep_live(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """Half-way through a sweep."""
    screen = await experiment(app, pilot, "sweep")
    await until(
        lambda: (
            (live := screen.lab.experiment.state()).progress.stage == 2  # type: ignore[attr-defined]
            and live.progress.done > 5
        ),
        pilot,
    )
    await pilot.pause(0.5)


async def cache_evidence(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """Both curves, cache on and off, and what they say."""
    screen = await experiment(app, pilot, "kv-evidence", "16,64,128,192", "256", "2")
    await until(lambda: screen.mode == "results", pilot, 600)  # type: ignore[attr-defined]
    await pilot.pause(1)


async def runs(app: KvtuiApp, pilot: Pilot[int]) -> None:
    """What the two before have recorded."""
    await ready(app, pilot)
    await pilot.press("h")
    await until(lambda: app.screen is not app.main and app.screen.is_mounted, pilot)
    await pilot.pause(1)


PICTURES: dict[
    str, tuple[Callable[[KvtuiApp, Pilot[int]], Awaitable[None]], str, dict[str, object]]
] = {
    "streaming-120x40": (streaming, "120x40", {}),
    "streaming-80x24": (streaming, "80x24", {}),
    "streaming-200x50": (streaming, "200x50", {}),
    "streaming-light-120x40": (streaming, "120x40", {"theme": "kvtui-light"}),
    "as-if-80gb-120x40": (
        as_if,
        "120x40",
        {"arch": "Llama-3.1-8B", "gpu": "80GB", "concurrency": 64},
    ),
    "memory-120x40": (
        zoomed_memory,
        "120x40",
        {"arch": "Qwen3-32B", "gpu": "80GB", "concurrency": 8},
    ),
    "cache-off-120x40": (cache_off, "120x40", {}),
    "planner-120x40": (planner, "120x40", {"arch": "Llama-3.1-8B", "context": 8192}),
    "experiments-sweep-120x40": (sweep_live, "120x40", {}),
    "experiments-kv-evidence-120x40": (cache_evidence, "120x40", {}),
    "runs-120x40": (runs, "120x40", {}),
    "failure-auth-120x40": (failure, "120x40", {"model": "demo-auth"}),
}


async def take(name: str) -> Path:
    """Run one scene and write its SVG."""
    scene, size, options = PICTURES[name]
    app = KvtuiApp(options)
    async with app.run_test(size=SIZES[size]) as pilot:
        await scene(app, pilot)
        svg = app.export_screenshot(title="")
    target = HERE / f"{name}.svg"
    target.write_text(own_fonts(svg), encoding="utf-8")
    return target


def own_fonts(svg: str) -> str:
    """Local fonts in place of downloaded ones: the picture shows the same without a network."""
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family:\s*Fira Code[^;]*;", f"font-family: {FONTS};", svg)


def to_png(svg: Path) -> None:
    """Rasterise with Chromium, which keeps the grid."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text(encoding="utf-8"))
    assert found is not None
    width, height = found.groups()
    subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--window-size={round(float(width))},{round(float(height))}",
            f"--screenshot={svg.with_suffix('.png')}", svg.as_uri(),
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def main() -> None:
    """Make the pictures named on the command line, or all."""
    for name in sys.argv[1:] or PICTURES:
        svg = asyncio.run(take(name))
        if CHROMIUM:
            to_png(svg)
        print(svg.name, flush=True)


if __name__ == "__main__":
    main()
