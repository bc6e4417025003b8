"""What happens after the first frame, off the UI thread: catalogue, cards, session, endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.ui.messages import EndpointReady, MemoryReady, OpeningFailed, SessionReady
from kvtui.ui.state import PromptForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from kvtui.stream.request import Request
    from kvtui.ui.app import KvtuiApp
    from kvtui.ui.memory import MemoryView
    from kvtui.ui.ports import PreparedLike

DEFAULT_PROMPT = "Explain what a KV cache is."


def initial_form(options: Mapping[str, Any]) -> PromptForm:
    """The prompt form as the options preset it."""
    temperature = options.get("temperature")
    return PromptForm(
        prompt=options.get("prompt") or DEFAULT_PROMPT,
        system=options.get("system") or "",
        max_tokens=options.get("max_tokens") or 512,
        temperature=None if temperature is None else float(temperature),
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
            extra_headers=dict(options.get("headers") or ()),
        )

    return build


def open_in_thread(app: KvtuiApp) -> None:
    """Load memory and session in a thread of their own; what they find arrives as messages."""
    from threading import Thread

    Thread(target=_open, args=(app,), name="kvtui-opening", daemon=True).start()


def _open(app: KvtuiApp) -> None:
    main = app.main
    view, problems = load_memory(app.options)
    main.post_message(MemoryReady(view, problems))
    from kvtui.bench.session import Session

    try:
        session = Session(app.options)
    except ValueError as error:
        main.post_message(OpeningFailed(str(error)))
        return
    main.post_message(SessionReady(session))
    session.warm()
    future: Future[Any] = session.prepare()

    def ready(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            main.post_message(EndpointReady(done.result()))
        else:
            main.post_message(OpeningFailed(str(error) or type(error).__name__))

    future.add_done_callback(ready)


def load_memory(options: Mapping[str, Any]) -> tuple[MemoryView, list[str]]:
    """Catalogue and cards, with the options' choices; a wrong one is a sentence, not an end."""
    from kvtui.ui.memory import MemoryView

    view = MemoryView()
    problems: list[str] = []
    choices: list[tuple[Any, Callable[[Any], None]]] = [
        (options.get("gpu"), view.choose_card),
        (options.get("arch"), view.choose_model),
        (options.get("kv_dtype"), view.choose_precision),
    ]
    for value, choose in choices:
        if value:
            try:
                choose(value)
            except ValueError as error:
                problems.append(str(error))
    if options.get("context"):
        view.context = int(options["context"])
    if options.get("concurrency"):
        view.users = int(options["concurrency"])
    return view, problems


def remember(**changes: Any) -> str:
    """Write what the app remembers; returns why it could not, or an empty string."""
    from kvtui.state import save_state

    try:
        save_state(changes)
    except OSError as error:
        return f"The choice could not be remembered: {error}"
    return ""
