"""All tests: how many run at once, and nobody's own settings, state or records in any of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_MOST_WORKERS = 6
"""Each holds up to half a gigabyte, and starts engines and screens of its own."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores, since tests wait too; none for a file or a small folder."""
    here = Path(__file__).parent
    if not {Path(argument).resolve() for argument in config.args} <= {here, *here.iterdir()}:
        return 0
    return min((os.cpu_count() or 1) + 1, _MOST_WORKERS)


@pytest.fixture(scope="session", autouse=True)
def _nobodys_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a test leaves to the defaults goes to a folder of this worker."""
    folder = tmp_path_factory.mktemp("nobody")
    os.environ["KVTUI_CONFIG"] = str(folder / "config.toml")
    os.environ["KVTUI_STATE"] = str(folder / "state.toml")
    os.environ["KVTUI_RUNS"] = str(folder / "runs")
