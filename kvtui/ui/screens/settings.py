"""Settings: every key of the file with its value and where that comes from, edited in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kvtui.config import ConfigError, config_path
from kvtui.config_edit import edit, edited
from kvtui.language import later, tr
from kvtui.text import one_line
from kvtui.ui.commands import move_bindings
from kvtui.ui.draw.sections import around, with_rest
from kvtui.ui.draw.settings import detail_rows, list_rows, place_rows
from kvtui.ui.settings import setting_rows
from kvtui.ui.widgets.lines import LinesWidget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult

    from kvtui.config import Settings
    from kvtui.ui.look.rows import Row
    from kvtui.ui.settings import SettingRow

KEYS = later("↑ ↓ choose · ⏎ edit · ^s write the file · esc close")
EDITING = later("⏎ keep · ^s write the file · esc undo · empty: the default")


class SettingsScreen(ModalScreen["tuple[Settings, frozenset[str]] | None"]):
    """Returns the settings as written with the keys that changed; None where nothing was."""

    CSS_PATH = "../dialogs.tcss"
    AUTO_FOCUS = ""  # the field waits until it is asked for
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "leave", "Leave", show=False),
        Binding("comma,q", "close", "Close", show=False),
        Binding("enter", "edit", "Edit", show=False),
        Binding("ctrl+s", "write", "Write", show=False, priority=True),
        *move_bindings(page=8, priority=True),
    ]

    def __init__(
        self,
        settings: Settings,
        options: Mapping[str, Any],
        remembered_theme: str | None,
        places: Sequence[tuple[str, str]],
    ) -> None:
        """Show the settings.

        Args:
            settings: The file as it is.
            options: The command line's, which go before it.
            remembered_theme: The theme chosen on the screen.
            places: What lies where: names and paths.
        """
        super().__init__()
        self._options = options
        self._theme = remembered_theme
        self.rows = setting_rows(settings, options, remembered_theme)
        self.pending: dict[str, Any] = {}
        self.problem = ""
        self._written: tuple[Settings, frozenset[str]] | None = None
        self._warned = False
        self.list = SettingsList(self)
        self.detail = SettingsDetail(self)
        self.field = Input(id="setting", compact=True)
        self.places = SettingsPlaces(places)

    def compose(self) -> ComposeResult:
        """The list, what the marked key means, its field, the paths."""
        with Vertical(id="settings") as box:
            box.border_title = tr("Settings")
            box.border_subtitle = tr(KEYS)
            yield self.list
            yield self.detail
            yield self.field
            yield self.places

    def on_mount(self) -> None:
        """Keys choose; the field comes when it is asked for."""
        self.field.display = False
        self.set_focus(None)

    @property
    def row(self) -> SettingRow:
        """The marked one."""
        return self.rows[self.list.marked]

    # --- choosing -------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Mark another key; what was typed for this one is kept if it can be."""
        self._mark(self.list.marked + by)

    def action_mark(self, index: int) -> None:
        """Mark a key; clicked again it is edited."""
        if index == self.list.marked and not self.field.display:
            self.action_edit()
        else:
            self._mark(index)

    def _mark(self, index: int) -> None:
        if self.field.display and not self._accept():
            return
        self.list.marked = max(0, min(len(self.rows) - 1, index))
        self.problem = ""
        self._show()

    def _show(self) -> None:
        self.list.redraw()
        self.detail.redraw()
        box = self.query_one("#settings")
        box.border_subtitle = tr(EDITING if self.field.display else KEYS)

    # --- editing --------------------------------------------------------------------------------

    def action_edit(self) -> None:
        """Type a value; a switch is switched at once."""
        each = self.row
        if not each.editable:
            self.problem = tr("{key} is edited in the file itself.", key=each.key)
        elif isinstance(each.setting.default, bool):
            now = self.pending.get(each.key, each.value)
            self._change(not now)
        elif not self.field.display:
            pending = self.pending.get(each.key, each.filed)
            with self.field.prevent(Input.Changed):
                self.field.value = each.typed if pending == each.filed else str(pending or "")
            default = each.setting.default
            self.field.placeholder = tr("not set") if default is None else str(default)
            self.field.display = True
            self.field.focus()
            self.field.cursor_position = len(self.field.value)
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what is wrong while it is typed."""
        event.stop()
        self.problem = self._fault({self.row.key: self.row.parse(event.value)})
        self.detail.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep what was typed; the file is written only when asked to."""
        event.stop()
        if self._accept():
            self._show()

    def _accept(self) -> bool:
        """Keep the field's value and put the field away; False where it is wrong."""
        value = self.row.parse(self.field.value)
        self.problem = self._fault({self.row.key: value})
        if self.problem:
            self.detail.redraw()
            return False
        self._put_away()
        self._change(value)
        return True

    def _change(self, value: Any) -> None:
        each = self.row
        self._warned = False
        if value == each.filed or (each.filed is None and value == each.setting.default):
            self.pending.pop(each.key, None)
        else:
            self.pending[each.key] = value

    def _put_away(self) -> None:
        self.field.display = False
        self.set_focus(None)

    def _fault(self, changes: Mapping[str, Any]) -> str:
        """Why the file would not take these changes beside those kept; empty where it would."""
        target = config_path()
        try:
            edited(target, {**self.pending, **changes}, list(self.app.available_themes))
        except ConfigError as error:
            text = str(error).removeprefix(tr("Not written: {why}", why=""))
            for end in (": ", tr(": ")):
                text = text.removeprefix(f"{target}{end}")
            return one_line(text, 300)
        return ""

    def action_write(self) -> None:
        """Write what was changed into the file."""
        if self.field.display and not self._accept():
            return
        if not self.pending:
            self.notify(tr("Nothing is changed."), markup=False)
            self._show()
            return
        target = config_path()
        try:
            settings = edit(target, self.pending, list(self.app.available_themes))
        except ConfigError as error:
            self.problem = one_line(str(error), 300)
            self._show()
            return
        before = frozenset() if self._written is None else self._written[1]
        self._written = settings, before | frozenset(self.pending)
        changed = [each for each in self.rows if each.key in self.pending]
        late = [each.name for each in changed if "next start" in each.when()]
        said = tr("Written to {target}.", target=target)
        if late:
            said += tr(" At the next start: {late}.", late=", ".join(late))
        self.notify(one_line(said, 300), markup=False, timeout=8)
        theme = None if "defaults.theme" in self.pending else self._theme
        self._theme = theme
        self.pending.clear()
        self.rows = setting_rows(settings, self._options, theme)
        self._show()

    # --- leaving --------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Esc: leave the field as it was; else the screen, and say it where something is lost."""
        if self.field.display:
            self._put_away()
            self.problem = ""
            self._show()
            return
        self.action_close()

    def action_close(self) -> None:
        """Close; with changes not yet written only when asked a second time."""
        if self.pending and not self._warned:
            self._warned = True
            count = len(self.pending)
            self.problem = (
                tr("{count} changes are not written: ^s writes, esc again drops.", count=count)
                if count > 1
                else tr("1 change is not written: ^s writes, esc again drops.")
            )
            self._show()
            return
        self.dismiss(self._written)


class SettingsList(LinesWidget):
    """All keys, the marked one in view."""

    def __init__(self, settings: SettingsScreen) -> None:
        super().__init__()
        self._settings = settings
        self.marked = 0

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel marks what is below."""
        event.stop()
        self._settings.action_move(1)

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel marks what is above."""
        event.stop()
        self._settings.action_move(-1)

    def draw(self, width: int, height: int) -> Sequence[Row]:
        """The lines around the marked one."""
        of = self._settings
        lines, at = list_rows(of.rows, self.marked, of.pending, width)
        here = around(at, len(lines), height)
        return with_rest(lines[here.start : here.stop], len(lines) - here.stop, width)


class SettingsDetail(LinesWidget):
    """What the marked key means, or what is wrong."""

    def __init__(self, settings: SettingsScreen) -> None:
        super().__init__()
        self._settings = settings

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return detail_rows(self._settings.row, self._settings.problem, width)


class SettingsPlaces(LinesWidget):
    """Where the files are."""

    def __init__(self, places: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._places = places

    def draw(self, width: int, height: int) -> Sequence[Row]:  # noqa: ARG002
        """The rows."""
        return place_rows(self._places, width)
