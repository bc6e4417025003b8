"""Which endpoint, which key, which settings: flags > environment > TOML file > defaults."""

from kvtui.config.endpoint import (
    EMBEDDED,
    TYPED,
    Endpoint,
    chosen_url,
    profile_name,
    resolve_endpoint,
)
from kvtui.config.file import (
    ConfigError,
    Defaults,
    OwnCard,
    Profile,
    Settings,
    load_settings,
    parse_settings,
    profile_taken,
)
from kvtui.config.keys import KEY_VARIABLES, OPENAI_URL, TAOTOKEN_URL
from kvtui.config.variables import variable_problem
from kvtui.places import config_path

__all__ = [
    "EMBEDDED",
    "KEY_VARIABLES",
    "OPENAI_URL",
    "TAOTOKEN_URL",
    "TYPED",
    "ConfigError",
    "Defaults",
    "Endpoint",
    "OwnCard",
    "Profile",
    "Settings",
    "chosen_url",
    "config_path",
    "load_settings",
    "parse_settings",
    "profile_name",
    "profile_taken",
    "resolve_endpoint",
    "variable_problem",
]
