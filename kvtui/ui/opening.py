"""What happens after the first frame, off the UI thread: catalogue, cards, session, endpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kvtui.language import tr
from kvtui.prompt import DEFAULT_PROMPT, read_messages, read_prompt_file
from kvtui.ui.endpoint.server import ServerWatch, server_kv
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    MemoryReady,
    OpeningFailed,
    ServerSaid,
    SessionReady,
)
from kvtui.ui.state import PromptForm
from kvtui.ui.stream.conductor import Conductor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from kvtui.bench.records.replay import Replay
    from kvtui.config import Defaults, Settings
    from kvtui.stream.request import Request
    from kvtui.ui.app import KvtuiApp
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import PreparedLike, SessionLike
    from kvtui.ui.screens.main.screen import MainScreen

MOST_FPS = 120


def initial_form(options: Mapping[str, Any], defaults: Defaults) -> PromptForm:
    """The prompt form as options and settings preset it."""
    temperature = options.get("temperature")
    return PromptForm(
        prompt=options.get("prompt") or defaults.prompt or DEFAULT_PROMPT,
        system=options.get("system") or "",
        max_tokens=options.get("max_tokens") or defaults.max_tokens,
        temperature=defaults.temperature if temperature is None else float(temperature),
        repeats=int(options.get("repeat") or 1),
        same_prompt=bool(options.get("same_prompt")),
        kv_cache=not options.get("no_kv_cache"),
    )


def build_request(options: Mapping[str, Any]) -> Callable[[PreparedLike, str, PromptForm], Request]:
    """How a form becomes a request: the form's fields, and the options that it does not show."""

    def build(prepared: PreparedLike, model: str, form: PromptForm) -> Request:
        from kvtui.bench.requests.options import request_from

        endpoint = prepared.endpoint
        return request_from(
            options,
            endpoint,
            model,
            prompt=form.prompt,
            system=form.system or None,
            messages=options.get("messages"),
            max_tokens=form.max_tokens,
            temperature=form.temperature,
            seed=options.get("seed"),
            kv_cache=form.kv_cache if endpoint.embedded else None,
        )

    return build


def open_all(app: KvtuiApp) -> None:
    """Load everything behind the screen, in a thread; what is found arrives as messages."""
    main = app.main
    settings, problem = read_settings()
    problems = [problem] if problem else []
    problems += read_files(app.options)
    app.conductor = Conductor(
        build=build_request(app.options), form=initial_form(app.options, settings.defaults)
    )
    fps, problem = frames_per_second(app.options, settings)
    problems += [problem] if problem else []
    problems += take_language(app, settings)
    if not settings.defaults.prompt_history:
        app.call_later(main.let_prompts_be_kept, False)
    main.post_message(ConductorReady(app.conductor, fps))
    view, wrong = load_memory(app.options, settings)
    wrong += take_theme(app, settings)
    main.post_message(MemoryReady(view, [*problems, *wrong]))
    if app.options.get("replay") is not None:
        open_replay(app, app.options["replay"])
        return
    main.server = ServerWatch(lambda status: main.post_message(ServerSaid(server_kv(status))))
    session = new_session(app.options, settings)
    if settings.defaults.record:
        from kvtui.bench.records.history import RunHistory

        app.conductor.history = RunHistory()
    main.post_message(SessionReady(session))
    session.warm()
    prepare(main, session, unbidden=True)


def new_session(options: Mapping[str, Any], settings: Settings) -> SessionLike:
    """The session that these options ask for; its thread is not started yet."""
    from kvtui.bench.requests.session import Session

    flags = {
        "settings": settings,
        "remember": True,
        "record": settings.defaults.record,
    }
    return Session({**options, **flags})


def change_session(app: KvtuiApp, choice: str) -> None:
    """Leave the endpoint for another one; nothing runs any more.

    Args:
        app: The screen's app.
        choice: One of ``kvtui.ui.endpoint.choices.endpoint_choices``.
    """
    from threading import Thread

    from kvtui.ui.endpoint.choices import options_of

    conductor = app.conductor
    assert conductor is not None
    settings, _ = read_settings()
    old, new = conductor.session, new_session(options_of(choice, app.options), settings)
    conductor.change_session(new, choice or tr("as started"))
    if old is not None:  # its thread and its engine's process take a moment to end
        Thread(target=old.close, name="kvtui-closing", daemon=True).start()
    new.warm()
    prepare(app.main, new)


def open_replay(app: KvtuiApp, replay: Replay) -> None:
    """A recorded run in place of an endpoint; it begins by itself, and nothing is sent."""
    from kvtui.bench.records.replay import ReplaySession

    conductor = app.conductor
    assert conductor is not None
    asked = replay.request(replay.recordings[0])
    conductor.mark = replay.mark
    conductor.waiting = True
    conductor.form = PromptForm(
        prompt=asked.prompt,
        system=asked.system or "",
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        repeats=len(replay.recordings),
        kv_cache=asked.kv_cache is not False,
    )
    app.main.post_message(ConductorReady(conductor))
    session = ReplaySession(replay)
    app.main.post_message(SessionReady(session))
    prepare(app.main, session)


def replay_instead(app: KvtuiApp, replay: Replay) -> None:
    """As ``open_replay``, in place of the endpoint that there was; nothing runs any more."""
    from threading import Thread

    conductor = app.conductor
    assert conductor is not None
    old = conductor.session
    conductor.prepare_again(run=False)
    open_replay(app, replay)
    if old is not None:
        Thread(target=old.close, name="kvtui-closing", daemon=True).start()


def prepare(main: MainScreen, session: SessionLike, *, unbidden: bool = False) -> None:
    """Have the endpoint prepared; the screen hears of it by a message.

    Args:
        main: The screen that is told.
        session: What prepares.
        unbidden: No key has been pressed: no other machine is contacted.
    """
    main.awaited = session
    session.prepare(unbidden=unbidden).add_done_callback(
        lambda done: _prepared(main, session, done)
    )


def _prepared(main: MainScreen, session: SessionLike, done: Future[Any]) -> None:
    """Tell the screen what the preparation came to; runs on the session's thread."""
    if done.cancelled() or main.awaited is not session:  # the user has gone on to another
        return
    error = done.exception()
    if error is None:
        main.post_message(EndpointReady(done.result()))
    else:
        main.post_message(OpeningFailed(str(error) or type(error).__name__))


def read_files(options: dict[str, Any]) -> list[str]:
    """Put the prompt and the messages of the files that options name into the options.

    Returns:
        A sentence for each file that cannot be used; the screen opens without it.
    """
    problems = []
    if options.get("prompt_file") and not options.get("prompt"):
        try:
            options["prompt"] = read_prompt_file(options["prompt_file"])
        except ValueError as error:
            problems.append(str(error))
    if options.get("messages_file"):
        try:
            options["messages"] = read_messages(options["messages_file"])
        except ValueError as error:
            problems.append(str(error))
    return problems


def read_settings() -> tuple[Settings, str]:
    """The configuration file; one that cannot be used gives the defaults and a sentence."""
    from kvtui.config import ConfigError, Settings, config_path, load_settings

    path = config_path()
    try:
        return load_settings(path), ""
    except ConfigError as error:
        return Settings(path), tr("{error} The defaults are used.", error=error)


def load_memory(options: Mapping[str, Any], settings: Settings) -> tuple[MemoryView, list[str]]:
    """Catalogue and cards, with the options' choices; a wrong one is a sentence, not an end."""
    from kvtui.ui.memory import MemoryView, own_cards

    defaults = settings.defaults
    view = MemoryView(own_cards(settings.cards))
    problems: list[str] = []
    choices: list[tuple[Any, Callable[[Any], None]]] = [
        (options.get("gpu") or defaults.gpu, view.choose_card),
        (options.get("arch") or defaults.arch, view.choose_model),
        (options.get("config_json"), view.read_config),
        (options.get("gguf"), view.read_gguf),
        (options.get("kv_dtype") or defaults.kv_dtype, view.choose_precision),
    ]
    for value, choose in choices:
        if value:
            try:
                choose(value)
            except ValueError as error:
                problems.append(str(error))
    view.context = options.get("context") or defaults.context
    view.users = options.get("concurrency") or defaults.concurrency
    return view, problems


def frames_per_second(
    options: Mapping[str, Any], settings: Settings, environ: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """How often the screen is drawn while it streams: ``--fps``, ``KVTUI_FPS``, the configuration.

    Returns:
        The rate, and a sentence where the variable holds none.
    """
    usual = settings.defaults.fps
    if options.get("fps"):
        return int(options["fps"]), ""
    text = environ.get("KVTUI_FPS", "").strip()
    if not text:
        return usual, ""
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MOST_FPS:
        return int(text), ""
    return usual, tr(
        "KVTUI_FPS must be a whole number from 1 to {most_fps}: {usual} is used.",
        most_fps=MOST_FPS,
        usual=usual,
    )


def take_language(app: KvtuiApp, settings: Settings) -> list[str]:
    """Take the configuration's language where neither flag nor environment named one.

    Returns:
        A sentence where there is none of that code.
    """
    import os

    from kvtui.language import ENGLISH, LanguageError, use, wanted

    code = settings.defaults.lang
    if not code or code == ENGLISH or wanted(app.options.get("lang"), os.environ):
        return []
    try:
        use(code)
    except LanguageError as error:
        return [str(error)]
    app.call_later(app.main.refresh_language)
    return []


def take_theme(app: KvtuiApp, settings: Settings) -> list[str]:
    """Take the configuration's theme where no flag and no choice made on the screen says otherwise.

    Returns:
        A sentence where there is none of that name.
    """
    from kvtui.ui.look.themes import suggest

    name = settings.defaults.theme
    if not name or app.options.get("theme") or app.remembered.get("theme", str):
        return []
    if name not in app.available_themes:
        return [suggest(name, list(app.available_themes))]
    app.call_later(setattr, app, "theme", name)
    return []
