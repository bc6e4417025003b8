"""The app that ``kvtui --web`` starts for each page: ``python -m kvtui.commands.served``."""

from __future__ import annotations

import json
import os

from kvtui.commands.group import kvtui
from kvtui.commands.web import ARGUMENTS


def main() -> None:
    """Open the screen with the options that the server was given."""
    kvtui.main(args=json.loads(os.environ.pop(ARGUMENTS, "[]")), prog_name="kvtui")


if __name__ == "__main__":
    main()
