"""All tests: how many run at once, and nobody's own settings, state or records in any of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from kvtui.cli import main

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
    os.environ["LC_ALL"] = "C.UTF-8"  # what is asserted is English, whoever runs the tests
    os.environ.pop("KVTUI_LANG", None)


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """A command that has ended is deaf to them; the children of later tests would be so, too."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture
def kvtui_here(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., CompletedProcess[str]]:
    """The command in this process: as a process of its own, without the second it takes to start.

    ``env`` is set beside what there is, without the keys and URLs of the shell.
    """

    def run(*arguments: str, env: dict[str, str], stdin: str = "") -> CompletedProcess[str]:
        for name in list(os.environ):
            if name.startswith(("OPENAI_", "TAOTOKEN_")) or name.lower().endswith("_proxy"):
                monkeypatch.delenv(name)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "stdin").write_text(stdin, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["kvtui", *arguments])
        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
        capfd.readouterr()
        status: object = None
        with (tmp_path / "stdin").open(encoding="utf-8") as file:
            monkeypatch.setattr(sys, "stdin", file)
            try:
                main()
            except SystemExit as end:
                status = end.code
            finally:
                for each, handler in before.items():  # a command leaves its process deaf to them
                    signal.signal(each, handler)
        printed = capfd.readouterr()
        assert isinstance(status, int)
        return CompletedProcess(arguments, status, printed.out, printed.err)

    return run


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes by their length: what compresses holds the time, and workers must agree on names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None
