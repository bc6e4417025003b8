"""``kvtui doctor`` and ``kvtui status``, ended by a signal: what there is, then 130, 143 or 129."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes import environment
from tests.signals import hear_interrupts
from tests.wire.scripted import Asked, models, scripted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def ended(
    tmp_path: Path, number: signal.Signals, silent: str, *command: str
) -> tuple[dict[str, Any], str, subprocess.Popen[str]]:
    """A command whose endpoint never answers ``silent``, sent a signal when it waits for that."""

    def reply(asked: Asked) -> Any:
        return None if asked.path == silent else models("m")

    with scripted(reply) as server:
        arguments = [*command, "--json", "--base-url", f"{server.url}/v1"]
        with subprocess.Popen(
            [sys.executable, "-m", "kvtui", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path),
            preexec_fn=hear_interrupts,
        ) as process:
            deadline = time.monotonic() + 40
            while not any(asked.path == silent for asked in server.asked):
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(number)
            process.send_signal(number)  # as a wrapper passes it on once more
            out, err = process.communicate(timeout=40)
    return json.loads(out), err, process


both = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
)


@both
def test_doctor_gives_the_steps_it_came_to(number: signal.Signals, tmp_path: Path) -> None:
    table, err, process = ended(tmp_path, number, "/v1/chat/completions", "doctor")
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert (table["ok"], table["interrupted"], table["failure"]) == (False, True, None)
    states = {step["name"]: step["state"] for step in table["steps"]}
    assert (states["tcp"], states["models"]) == ("ok", "ok")
    assert (states["stream"], states["usage"]) == ("unknown", "unknown")


@both
def test_status_says_that_nothing_is_known_yet(number: signal.Signals, tmp_path: Path) -> None:
    seen, err, process = ended(tmp_path, number, "/metrics", "status")
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert (seen["schema"], seen["server"]["answered"]) == ("kvtui.status/1", False)
    assert "Interrupted" in seen["server"]["notes"][0]
