"""The settings as the settings screen shows them: one table made from the file's own schema."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvtui.config import Defaults, OwnCard, Profile
from kvtui.config_edit import parse_value, settings_of, toml
from kvtui.language import tr
from kvtui.text import UNKNOWN, one_line, redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import msgspec

    from kvtui.config import Settings
    from kvtui.config_edit import Setting

NEXT_START = frozenset({"profile", "lang", "threads", "record"})
"""Settings that take effect when kvtui starts anew; all others do at once."""
VARIABLES = {"fps": "KVTUI_FPS", "lang": "KVTUI_LANG"}
"""Settings that a variable of the environment decides before the file."""
_NOT_EDITED = ("headers", "api_key_command")
"""Tables and lists: the file is the place for them, and their values may be secret."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One key of the file."""

    key: str
    """Dotted: ``defaults.gpu``."""
    value: Any
    """In force; None where it is not set."""
    origin: str
    """What decided: a flag, a variable, ``remembered``, ``file`` or ``default``."""
    setting: Setting = field(repr=False)
    filed: Any = None
    """What the file says of it; None where it says nothing."""

    @property
    def name(self) -> str:
        """The key without its section's kind: ``gpu``, ``box.base_url``."""
        return self.key.partition(".")[2]

    @property
    def editable(self) -> bool:
        """The screen can write it."""
        return self.setting.name not in _NOT_EDITED

    @property
    def shown(self) -> str:
        """The value as text, with nothing secret in it."""
        if self.value is None or self.value == {}:
            return UNKNOWN
        if not self.editable:
            return tr("{count} in the file", count=len(self.value))
        text = self.value if isinstance(self.value, str) else toml(self.value)
        return one_line(redact(text), 200)

    @property
    def typed(self) -> str:
        """What the field holds when it is opened: the file's own."""
        filed = self.filed
        return "" if filed is None else filed if isinstance(filed, str) else toml(filed)

    def when(self) -> str:
        """When a new value takes effect."""
        if self.origin not in ("remembered", "file", "default"):
            return tr("{origin} holds until the next start", origin=self.origin)
        late = self.key.startswith("defaults.") and self.setting.name in NEXT_START
        return tr("takes effect at the next start") if late else tr("takes effect at once")

    def parse(self, text: str) -> Any:
        """What a text typed for this key means; None takes the key out of the file."""
        text = text.strip()
        if not text:
            return None
        return text if self.setting.takes_text else parse_value(text)


def setting_rows(
    settings: Settings,
    options: Mapping[str, Any],
    remembered_theme: str | None,
    environ: Mapping[str, str] = os.environ,
) -> list[SettingRow]:
    """Every key: the defaults, then each profile's and each card's.

    Args:
        settings: The file as it is.
        options: The command line's.
        remembered_theme: The theme that was chosen on the screen.
        environ: The environment's variables.
    """
    rows = []
    for setting in settings_of(Defaults):
        filed = getattr(settings.defaults, setting.name)
        filed = None if filed == setting.default else filed
        value, origin = (filed, "file") if filed is not None else (setting.default, "default")
        if setting.name == "theme" and remembered_theme:
            value, origin = remembered_theme, "remembered"
        variable = VARIABLES.get(setting.name, "")
        if environ.get(variable):
            value, origin = environ[variable], variable
        flag = options.get(setting.name)
        if flag is not None and flag != "":
            value, origin = flag, f"--{setting.name.replace('_', '-')}"
        rows.append(SettingRow(f"defaults.{setting.name}", value, origin, setting, filed))
    for name, profile in settings.profiles.items():
        rows += _section(f"profiles.{name}", profile, Profile)
    for name, card in settings.cards.items():
        rows += _section(f"cards.{name}", card, OwnCard)
    return rows


def _section(
    where: str, table: msgspec.Struct, schema: type[msgspec.Struct]
) -> Iterator[SettingRow]:
    for setting in settings_of(schema):
        value = getattr(table, setting.name)
        filed = None if value == setting.default else value
        origin = "default" if filed is None else "file"
        yield SettingRow(f"{where}.{setting.name}", value, origin, setting, filed)
