"""Everything behind the screen, loaded and begun in a thread after the first frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.language import tr
from kvtui.text import one_line
from kvtui.ui.endpoint.view import expected_view
from kvtui.ui.messages import ConductorReady, MemoryReady
from kvtui.ui.opening.prompt import build_request, initial_form, read_files
from kvtui.ui.opening.sessions import Sessions
from kvtui.ui.opening.settings import (
    frames_per_second,
    load_memory,
    read_settings,
    take_language,
    take_theme,
)
from kvtui.ui.stream.conductor import Conductor

if TYPE_CHECKING:
    from kvtui.ui.opening.ports import AppLike


def open_all(app: AppLike) -> None:
    """Load everything behind the screen; what is found arrives there as messages."""
    tell = app.main.post_message
    settings, problem = read_settings()
    problems = [problem] if problem else []
    problems += read_files(app.options)
    conductor = app.conductor = Conductor(
        build=build_request(app.options), form=initial_form(app.options, settings.defaults)
    )
    conductor.endpoint = expected_view(app.options, settings)
    fps, problem = frames_per_second(app.options, settings)
    problems += [problem] if problem else []
    problems += take_language(app, settings)
    sessions = Sessions(conductor, app.options, tell)
    tell(ConductorReady(conductor, sessions, fps, settings.defaults.prompt_history))
    view, wrong = load_memory(app.options, settings)
    wrong += take_theme(app, settings)
    tell(MemoryReady(view, [*problems, *wrong]))
    if app.options.get("replay") is not None:
        sessions.replay(app.options["replay"])
        return
    if settings.defaults.record:
        from kvtui.bench.records.history import RunHistory

        def unrecorded(trouble: str) -> None:
            app.warn(one_line(tr("Runs are not recorded: {trouble}", trouble=trouble)))

        conductor.history = RunHistory(say=unrecorded)
    sessions.begin(settings)
