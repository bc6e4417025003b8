"""An endpoint typed on the screen: URL, the variable with its key, model, a name to keep it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from kvtui.language import later, tr
from kvtui.text import looks_like_key, sanitise
from kvtui.ui.endpoint.typed import TypedEndpoint, TypedError, keep, key_note, parse, read_url

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kvtui.config import Settings

_FIELDS = (
    ("base_url", later("URL"), later("http://HOST:PORT/v1")),
    ("api_key_env", later("key's variable"), later("a name, MY_KEY; empty: none")),
    ("api_key", later("or the key"), later("hidden, for this session, kept nowhere")),
    ("model", later("model"), later("empty: the server is asked")),
    ("keep_as", later("keep as"), later("a profile's name; empty: for this session")),
)


class HiddenInput(Input):
    """A key is typed here: nobody sees it, and no copy of it is made."""

    def action_copy(self) -> None:
        """A key is not copied."""

    def action_cut(self) -> None:
        """A key is deleted, not cut."""
        self.delete_selection()


class EndpointForm(ModalScreen["tuple[TypedEndpoint, str] | None"]):
    """Returns the endpoint and what was said of its keeping; None where it was left."""

    CSS_PATH = "../dialogs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "leave", "Leave", show=False),
        Binding("up", "app.focus_previous", "Up", show=False),
        Binding("down", "app.focus_next", "Down", show=False),
    ]

    def __init__(self, settings: Settings, url: str, model: str = "") -> None:
        """Ask.

        Args:
            settings: The configuration file as it is now.
            url: What the URL is to begin with.
            model: What the model is to begin with.
        """
        super().__init__()
        self._settings = settings
        self._keeping = False
        begin = {"base_url": url, "model": model}
        self.fields: dict[str, Input] = {
            name: (HiddenInput if name == "api_key" else Input)(
                begin.get(name, ""),
                placeholder=tr(empty),
                password=name == "api_key",
                id=f"endpoint-{name.replace('_', '-')}",
                compact=True,
                select_on_focus=name != "api_key",
            )
            for name, _, empty in _FIELDS
        }
        self.told = Static("", id="endpoint-note", markup=False)

    def compose(self) -> ComposeResult:
        """A line for each field, and one for what they come to."""
        with Vertical(id="endpoint-form") as box:
            box.border_title = tr("Endpoint")
            box.border_subtitle = tr("⏎ use it · tab next field · esc leave")
            for name, label, _ in _FIELDS:
                with Horizontal(classes="fields"):
                    yield Label(tr(label), markup=False)
                    yield self.fields[name]
            yield self.told

    def on_mount(self) -> None:
        """What is missing is asked for first."""
        given = bool(self.fields["base_url"].value)
        self.fields["api_key_env" if given else "base_url"].focus()
        self.fields["base_url"].cursor_position = len(self.fields["base_url"].value)
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what the fields come to; a key in the place of its variable's name is hidden."""
        event.stop()
        name = self.fields["api_key_env"]
        if event.input is name and looks_like_key(name.value):
            hidden = self.fields["api_key"]
            hidden.value, name.value = name.value, ""
            hidden.focus()
            hidden.cursor_position = len(hidden.value)
        self._tell()

    def _tell(self) -> None:
        try:
            typed = self._typed()
        except TypedError as error:
            empty = error.field == "base_url" and not self.fields["base_url"].value.strip()
            self._say("" if empty else str(error), wrong=not empty)
            return
        mended = read_url(self.fields["base_url"].value)[1]
        self._say(" ".join(filter(None, (mended, key_note(typed, self._settings)))))

    def _say(self, sentence: str, *, wrong: bool = False) -> None:
        self.told.update(sanitise(f"▲ {sentence}" if wrong else sentence))
        self.told.set_class(wrong, "-warning")

    def _typed(self) -> TypedEndpoint:
        return parse(self._settings, **{name: each.value for name, each in self.fields.items()})

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Use it, or say what is wrong and where."""
        event.stop()
        if self._keeping:
            return
        try:
            typed = self._typed()
        except TypedError as error:
            self._refuse(error)
            return
        if not typed.keep_as:
            self.dismiss((typed, ""))
            return
        self._keeping = True
        self.run_worker(lambda: self._keep(typed), thread=True)

    def _keep(self, typed: TypedEndpoint) -> None:
        """Write it, off the screen's thread: the disk and another kvtui's lock may take a while."""
        try:
            said = keep(typed)
        except TypedError as error:
            self.app.call_from_thread(self._refuse, error)
        else:
            self.app.call_from_thread(self._kept, typed, said)

    def _refuse(self, error: TypedError) -> None:
        self._keeping = False
        self._say(str(error), wrong=True)
        self.fields[error.field].focus()

    def _kept(self, typed: TypedEndpoint, said: str) -> None:
        self.dismiss((typed, said))

    def action_leave(self) -> None:
        """Nothing is changed; what is being written already is waited for."""
        if not self._keeping:
            self.dismiss(None)
