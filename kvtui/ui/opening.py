"""What happens after the first frame, off the UI thread: catalogue, cards, session, endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.ui.conductor import Conductor
from kvtui.ui.messages import (
    ConductorReady,
    EndpointReady,
    MemoryReady,
    OpeningFailed,
    SessionReady,
)
from kvtui.ui.state import PromptForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from kvtui.bench.session import RunOptions
    from kvtui.config import Defaults, Settings
    from kvtui.stream.request import Request, Timeouts
    from kvtui.ui.app import KvtuiApp
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import PreparedLike

DEFAULT_PROMPT = "Explain what a KV cache is."


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
        from kvtui.stream.request import Request

        endpoint = prepared.endpoint
        return Request(
            endpoint=endpoint,
            model=model,
            prompt=form.prompt,
            system=form.system or None,
            max_tokens=form.max_tokens,
            temperature=form.temperature,
            top_p=options.get("top_p"),
            seed=options.get("seed"),
            stop=tuple(options.get("stop") or ()),
            kv_cache=form.kv_cache if endpoint.embedded else None,
            extra_body=options.get("extra_body") or {},
            timeouts=timeouts(options),
        )

    return build


def open_all(app: KvtuiApp) -> None:
    """Load everything behind the screen, in a thread; what is found arrives as messages."""
    main = app.main
    settings, problem = read_settings()
    app.conductor = Conductor(
        build=build_request(app.options), form=initial_form(app.options, settings.defaults)
    )
    main.post_message(ConductorReady(app.conductor))
    view, problems = load_memory(app.options, settings)
    main.post_message(MemoryReady(view, [problem, *problems] if problem else problems))
    from kvtui.bench.session import Session

    session = Session(run_options(app.options, settings))
    main.post_message(SessionReady(session))
    session.warm()
    session.prepare().add_done_callback(lambda done: _prepared(app, done))


def _prepared(app: KvtuiApp, done: Future[Any]) -> None:
    """Tell the screen what the preparation came to; runs on the session's thread."""
    if done.cancelled():
        return
    error = done.exception()
    if error is None:
        app.main.post_message(EndpointReady(done.result()))
    else:
        app.main.post_message(OpeningFailed(str(error) or type(error).__name__))


def read_settings() -> tuple[Settings, str]:
    """The configuration file; one that cannot be used gives the defaults and a sentence."""
    from kvtui.config import ConfigError, Settings, config_path, load_settings

    path = config_path()
    try:
        return load_settings(path), ""
    except ConfigError as error:
        return Settings(path), f"{error} The defaults are used."


def run_options(options: Mapping[str, Any], settings: Settings) -> RunOptions:
    """Which endpoint the session talks to."""
    from kvtui.bench.session import RunOptions

    return RunOptions(
        base_url=options.get("base_url"),
        model=options.get("model"),
        api_key_env=options.get("api_key_env"),
        profile=options.get("profile"),
        headers=dict(options.get("headers") or ()),
        threads=options.get("threads") or settings.defaults.threads,
        settings=settings,
        timeouts=timeouts(options),
    )


def timeouts(options: Mapping[str, Any]) -> Timeouts:
    """The timeouts that the options name; the others keep their defaults."""
    from kvtui.stream.request import Timeouts

    names = {
        "connect": "timeout_connect",
        "headers": "timeout_headers",
        "first_token": "timeout_first_token",
        "idle": "timeout_idle",
        "total": "timeout",
    }
    given = {field: options[name] for field, name in names.items() if options.get(name)}
    return Timeouts(**given)


def load_memory(options: Mapping[str, Any], settings: Settings) -> tuple[MemoryView, list[str]]:
    """Catalogue and cards, with the options' choices; a wrong one is a sentence, not an end."""
    from kvtui.ui.memory import MemoryView, own_cards

    defaults = settings.defaults
    view = MemoryView(own_cards(settings.cards))
    problems: list[str] = []
    choices: list[tuple[Any, Callable[[Any], None]]] = [
        (options.get("gpu") or defaults.gpu, view.choose_card),
        (options.get("arch") or defaults.arch, view.choose_model),
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


def remember(**changes: Any) -> str:
    """Write what the app remembers; returns why it could not, or an empty string."""
    from kvtui.state import save_state

    try:
        save_state(changes)
    except OSError as error:
        return f"The choice could not be remembered: {error}"
    return ""
