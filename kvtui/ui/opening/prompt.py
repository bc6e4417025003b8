"""The prompt form as options preset it, the files they name, and how a form becomes a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.prompt import DEFAULT_PROMPT, read_messages, read_prompt_file
from kvtui.ui.state import PromptForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvtui.config import Defaults
    from kvtui.stream.request import Request
    from kvtui.ui.ports import PreparedLike


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
