"""An endpoint typed on the screen: its URL judged as --base-url is, its key goes nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fakes import make_app
from test_endpoints import Slow
from test_screen import ready, shown, until

from kvtui import language
from kvtui.config import Settings, load_settings, resolve_endpoint
from kvtui.ui.app import KvtuiApp
from kvtui.ui.endpoint.choices import with_typed
from kvtui.ui.endpoint.typed import TypedEndpoint, TypedError, keep, parse
from kvtui.ui.opening import sessions as opening
from kvtui.ui.screens.endpoint_form import EndpointForm
from kvtui.ui.screens.main.screen import MainScreen
from tests.wire.scripted import Asked, error, models, scripted, sse

KEY = "sk-typed-4fQ91xZk27LmPq83"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Slow]:
    made_: list[Slow] = []

    def new_session(options: Mapping[str, Any], settings: Settings) -> Slow:
        made_.append(Slow(None, options))
        return made_[-1]

    monkeypatch.setattr(opening, "new_session", new_session)
    return made_


def on_screen(app: Any) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("http://127.0.0.1:8080/v1", "use http://127.0.0.1:8080/v1"),
        ("localhost:8080", "use http://localhost:8080"),
        ("api.example.com/v1", "use https://api.example.com/v1"),
        ("htp://h:1/v1", "use http://h:1/v1"),
        ("http://h:99999/v1", "has a port that is no number from 0 to 65535"),
        ("ftp://h/v1", "begins with ftp://"),
        ("http://<host>/v1", "looks like a placeholder"),
        ("nobody", "type a URL"),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_url_is_offered_or_what_is_wrong_with_it_is_said(
    typed: str, said: str, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        await pilot.press("E")
        app.screen.query_one("#filter").value = typed
        await pilot.pause()
        assert said in " ".join(shown(app.screen.query_one("#choices")).split())


async def test_two_enters_use_a_url_without_the_key_of_another_host(made: list[Slow]) -> None:
    app = make_app(
        base_url="https://gpu.example/v1",
        api_key_env="VLLM_KEY",
        headers=(("X-Org", "1"),),
        max_tokens=64,
    )
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot)
        await pilot.press("E", *"localhost:8080/v1", "enter")
        assert isinstance(app.screen, EndpointForm)
        assert "No key is sent" in on_screen(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(made) == 1)
        asked = {name: value for name, value in made[0].options.items() if value is not None}
        assert asked == {"max_tokens": 64, "base_url": "http://localhost:8080/v1"}
        assert "localhost:8080/v1" in shown(main.header)
        await pilot.press("E")
        assert "localhost:8080/v1 ●" in on_screen(app)  # there to be chosen again


async def test_a_key_in_the_place_of_its_name_is_hidden_and_written_nowhere(
    made: list[Slow], tmp_path: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("E", *"http://127.0.0.1:8080/v1", "enter")
        for letter in KEY:
            await pilot.press(letter)
        assert app.screen.fields["api_key"].value.endswith(KEY)
        assert app.screen.fields["api_key_env"].value == ""
        text = on_screen(app)
        assert not any(KEY[at : at + 8] in text for at in range(len(KEY) - 7))
        await pilot.press("ctrl+a", "ctrl+c")
        assert KEY not in app.clipboard
        await pilot.press("tab", *"m1", "tab", *"mine", "enter")
        await until(pilot, lambda: len(made) == 1)
        assert made[0].options["api_key"] == KEY
        assert KEY not in repr(made[0].options["base_url"])
        written = (tmp_path / "config.toml").read_text(encoding="utf-8")
        assert 'base_url = "http://127.0.0.1:8080/v1"' in written
        assert "m1" in written
        assert KEY[3:9] not in written
        await pilot.pause()
        assert KEY[3:11] not in on_screen(app)


async def test_it_is_kept_as_a_profile_and_is_one(
    made: list[Slow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_KEY", "box-key-1234")
    config = tmp_path / "config.toml"
    config.write_text('# mine\n[defaults]\ngpu = "H100"  # big\n', encoding="utf-8")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await pilot.press("E", *"http://10.0.0.5:8000/v1", "enter", *"BOX_KEY")
        assert "The key in BOX_KEY is sent (12 characters)" in on_screen(app)
        await pilot.press("tab", "tab", "tab", *"embedded", "enter")
        assert isinstance(app.screen, EndpointForm)  # that name is taken
        await pilot.press("ctrl+u", *"box", "enter")
        await until(pilot, lambda: len(made) == 1)
        assert made[0].options["profile"] == "box"
        assert isinstance(app.screen, MainScreen)
    assert config.read_text(encoding="utf-8").startswith('# mine\n[defaults]\ngpu = "H100"  # big')
    endpoint = resolve_endpoint(load_settings(config), profile="box")
    assert endpoint.base_url == "http://10.0.0.5:8000/v1"
    assert endpoint.api_key == "box-key-1234"


async def test_the_endpoint_in_use_gets_another_key(made: list[Slow]) -> None:
    from fakes import REMOTE

    app = make_app(prepared=REMOTE, base_url="https://gpu.example/v1")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("E", "end", "down", "down", "down", "enter")
        assert isinstance(app.screen, EndpointForm)
        assert app.screen.fields["base_url"].value == "https://gpu.example/v1"
        await pilot.press("down", *KEY, "enter")
        await until(pilot, lambda: len(made) == 1)
        assert made[0].options["api_key"] == KEY
        assert made[0].options["model"] == REMOTE.model


async def test_a_typed_key_opens_the_server_and_is_redacted_wherever_it_is_echoed() -> None:
    def answer(asked: Asked) -> Any:
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return error(401, "no")
        if asked.path.endswith("/models"):
            return models("m1")
        return sse(f"it is {KEY} then")

    with scripted(answer) as server:
        app = KvtuiApp({"profile": "embedded", "max_tokens": 8})
        async with app.run_test(size=(120, 40)) as pilot:
            main = app.main
            await until(
                pilot, lambda: main.opened.conductor is not None and main.opened.conductor.prepared
            )
            await pilot.press("E", *f"{server.url}/v1", "enter", "down", *KEY, "enter")
            await until(pilot, lambda: main.opened.conductor.model == "m1")
            await pilot.press("enter")
            await until(pilot, lambda: main.opened.conductor.errors.requests == 1)
            await pilot.pause()
            assert main.opened.conductor.errors.last_ok
            text = on_screen(app)
            assert "it is" in text
            assert KEY[:11] not in text


def test_a_typed_key_goes_to_the_url_it_was_typed_for_and_to_no_other() -> None:
    settings = Settings(Path("config.toml"))
    typed = resolve_endpoint(settings, base_url="http://h:1/v1", api_key=KEY, environ={})
    assert typed.api_key == KEY
    assert KEY not in repr(typed)
    other = resolve_endpoint(
        settings, api_key=KEY, environ={"OPENAI_BASE_URL": "http://other:1/v1"}
    )
    assert other.api_key is None


@pytest.mark.parametrize(
    ("options", "config", "label"),
    [
        ({"base_url": "http://10.0.0.5:8000/v1", "model": "m1"}, "", "10.0.0.5:8000/v1 ▸ m1"),
        (
            {"profile": "far"},
            '[profiles.far]\nbase_url = "https://far.example/v1"\n',
            "far.example",
        ),
        (
            {},
            '[defaults]\nprofile = "far"\n[profiles.far]\nbase_url = "https://far.example/v1"\n',
            "far.example",
        ),
        ({}, "", "embedded"),
    ],
)
async def test_before_it_is_known_who_answers_the_header_says_what_was_chosen(
    options: dict[str, Any],
    config: str,
    label: str,
    made: list[Slow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")

    def keep_waiting(self: Slow, *, unbidden: bool = False) -> Any:
        return self.future

    monkeypatch.setattr(Slow, "prepare", keep_waiting)
    app = KvtuiApp(options)
    seen: list[str] = []
    async with app.run_test(size=(120, 40)) as pilot:
        seen.append(shown(app.main.header))
        await until(
            pilot,
            lambda: app.main.opened.conductor is not None and app.main.opened.conductor.session,
        )
        seen.append(shown(app.main.header))
        text = on_screen(app)
    assert label in seen[-1]
    assert "starting" in seen[-1]
    if label != "embedded":
        assert not any("embedded" in each for each in seen)
        assert "embedded engine is starting" not in text


def fields(**given: str) -> dict[str, str]:
    names = ("base_url", "api_key_env", "api_key", "model", "keep_as")
    return dict.fromkeys(names, "") | {"base_url": "http://h:1/v1"} | given


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key_env", KEY),
        ("model", KEY),
        ("keep_as", KEY),
        ("keep_as", "f9e8d7c6b5a4938271605f4e3d2c1b0a"),
        ("base_url", KEY),
        ("base_url", "sk-abcdefgh"),
        ("base_url", f"http://{KEY}/v1"),
        ("base_url", f"http://h:1/{KEY}/v1"),
        ("base_url", f"h:1/{KEY}/v1"),
        ("base_url", f"http://h:1/v1?x={KEY}"),
    ],
)
def test_a_key_is_taken_in_its_own_field_only_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(TypedError) as raised:
        parse(Settings(Path("config.toml")), **fields(**{name: value}))
    assert raised.value.field == name
    assert "key" in str(raised.value)
    assert KEY[3:11] not in str(raised.value)


@pytest.mark.parametrize(
    "typed", ["http://h:1/v1?api_key=zz9zz", "h:1/v1?key=zz9zz", "http://a:zz9zz@h:1/v1"]
)
def test_a_secret_in_the_url_is_left_out(typed: str) -> None:
    parsed = parse(Settings(Path("config.toml")), **fields(base_url=typed))
    assert parsed.base_url == "http://h:1/v1"


@pytest.mark.parametrize("model", ["xai-org/grok-1", "hf-internal-testing/tiny-random", "gpt-4o"])
def test_a_model_is_no_key(model: str) -> None:
    settings = Settings(Path("config.toml"))
    assert parse(settings, **fields(model=model, keep_as="hf-production")).model == model


def test_what_is_wrong_with_a_key_is_said_in_one_language() -> None:
    language.use("zh")
    try:
        with pytest.raises(TypedError) as raised:
            parse(Settings(Path("config.toml")), **fields(api_key="my key"))
    finally:
        language.use("en")
    assert "has a space" not in str(raised.value)


def test_a_profile_made_meanwhile_stays(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[profiles.box]\nbase_url = "http://theirs:1/v1"\n', encoding="utf-8")
    with pytest.raises(TypedError, match="There is a profile box already") as raised:
        keep(TypedEndpoint("http://mine:1/v1", keep_as="box"))
    assert raised.value.field == "keep_as"
    keep(TypedEndpoint("http://mine:1/v1", keep_as="two"))
    urls = {name: each.base_url for name, each in load_settings(config).profiles.items()}
    assert urls == {"box": "http://theirs:1/v1", "two": "http://mine:1/v1"}


def test_a_profile_is_read_and_written_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    from kvtui import config_edit

    said: list[str] = []

    @contextmanager
    def only_writer(_: Path) -> Any:
        said.append("locked")
        yield
        said.append("free")

    def load(path: Path) -> Settings:
        said.append("read")
        return load_settings(path)

    monkeypatch.setattr(config_edit, "only_writer", only_writer)
    monkeypatch.setattr(config_edit, "load_settings", load)
    monkeypatch.setattr(config_edit, "write", lambda *_: said.append("written"))
    keep(TypedEndpoint("http://mine:1/v1", keep_as="box"))
    assert (said[0], said[-2:]) == ("locked", ["written", "free"])
    assert "read" in said


def test_a_url_typed_again_takes_the_place_of_its_first() -> None:
    one, two = TypedEndpoint("http://a/v1"), TypedEndpoint("http://b/v1")
    again = TypedEndpoint("http://a/v1", model="m")
    typed: tuple[TypedEndpoint, ...] = ()
    for each, at, now in ((one, 0, 1), (two, 1, 2), (again, 0, 2)):
        typed, place = with_typed(typed, each)
        assert (place, len(typed)) == (at, now)
    assert typed == (again, two)


async def test_writing_a_profile_holds_no_frame_up_and_is_begun_once(
    made: list[Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtui.ui.screens import endpoint_form

    go, begun = Event(), list[TypedEndpoint]()

    def slow(typed: TypedEndpoint) -> str:
        begun.append(typed)
        go.wait(20)
        return keep(typed)

    monkeypatch.setattr(endpoint_form, "keep", slow)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("E", *"http://10.0.0.5:8000/v1", "enter", *["tab"] * 3, *"box", "enter")
        await pilot.press("enter", "escape")  # the screen still takes keys
        assert isinstance(app.screen, EndpointForm)
        go.set()
        await until(pilot, lambda: len(made) == 1)
        assert len(begun) == 1
        assert made[0].options["profile"] == "box"


async def test_a_key_pasted_into_the_list_is_no_url() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("E")
        for key in (KEY, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.aa"):
            app.screen.query_one("#filter").value = key
            await pilot.pause()
            assert "looks like a key" in shown(app.screen.query_one("#choices"))
        await pilot.press("enter")
        assert not isinstance(app.screen, EndpointForm)
