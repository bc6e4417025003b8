"""``kvtui run`` as a process: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtui.bench.records.replay import Replay
from tests.processes import environment
from tests.signals import hear_interrupts
from tests.wire.scripted import Asked, error, models, scripted, sse
from tests.wire.timing import TimingServer, timing_server

Here = Callable[..., subprocess.CompletedProcess[str]]

FIELDS = {
    "started_at", "outcome", "partial", "connect_ms", "ttft_ms", "ttfa_ms", "tpot_ms",
    "decode_tps", "e2e_tps", "e2e_ms", "server_ms", "first_token", "prompt_tokens",
    "cached_prompt_tokens", "completion_tokens", "reasoning_tokens", "estimated_tokens",
    "token_source", "chunks", "finish_reason", "model_answered", "content", "reasoning",
    "hints", "failure",
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[TimingServer]:
    with timing_server("--ttft", "60", "--itl", "5", "-n", "40") as server:
        yield server


def kvtui(
    *flags: str, env: dict[str, str], stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kvtui", "run", *flags],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=env,
        input=stdin if stdin is not None else "",
        timeout=50,
    )


def run_json(
    *flags: str, env: dict[str, str], stdin: str | None = None
) -> tuple[int, dict[str, Any]]:
    done = kvtui("--json", *flags, env=env, stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_what_is_printed_aside_begins_and_ends_on_lines_of_its_own(tmp_path: Path) -> None:
    deltas = [{"reasoning_content": "Let me"}, {"reasoning_content": " see."}]
    with scripted(lambda asked: chunks(*deltas)) as server:
        flags = ("--base-url", f"{server.url}/v1", "--model", "m", "--prompt", "Hi")
        done = kvtui(*flags, env=environment(tmp_path))
    assert "Let me see.\n" in done.stderr
    assert not done.stdout.startswith("\n")


def chunks(*deltas: dict[str, Any]) -> tuple[int, str, bytes]:
    lines = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n" for delta in deltas]
    return 200, "text/event-stream", ("".join(lines) + "data: [DONE]\n\n").encode()


def test_one_run_as_json(server: TimingServer, tmp_path: Path) -> None:
    url = f"{server.url}/v1"
    status, table = run_json(
        "--base-url", url, "--model", "think", "--prompt", "Hi", env=environment(tmp_path)
    )
    assert status == 0
    assert table["schema"] == "kvtui.run/1"
    assert table["endpoint"] == {"base_url": url, "model": "think", "key_from": None}
    (run,) = table["runs"]
    assert set(run) >= FIELDS
    assert run["outcome"] == {"class": "truncated", "subcode": "max_tokens"}
    assert run["failure"]["evidence"]["status"] == 200
    assert run["failure"]["evidence"]["waiting_for"] is None
    assert run["first_token"] == "reasoning"
    assert (run["content"], run["reasoning"]) == (" hello" * 20, " hello" * 20)
    assert run["completion_tokens"] == run["chunks"] == 40
    assert run["ttft_ms"] < run["ttfa_ms"] < run["e2e_ms"]
    assert run["formula"]["tpot_ms"].startswith("TPOT = (t_last − t_first) / (N − n_first)")
    assert table["median"]["n"] == 1
    assert table["median"]["ttft_ms"] == run["ttft_ms"]


def test_text_goes_to_stdout_and_narration_to_stderr(server: TimingServer, tmp_path: Path) -> None:
    done = kvtui(
        "--base-url", f"{server.url}/v1", "--prompt", "Hi", "--repeat", "2", "--formula",
        env=environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0
    assert " hello" * 40 in done.stdout
    assert "median of 2" in done.stdout
    assert "TPS = 1 / TPOT" in done.stdout
    assert "The server has one model: plain." in done.stderr
    assert "run 2 of 2" in done.stderr
    assert "hint few_samples" in done.stderr


def test_a_prompt_from_a_pipe_and_a_key_from_a_variable(tmp_path: Path) -> None:
    with scripted(lambda asked: sse("a", "b")) as server:
        status, table = run_json(
            "--base-url", f"{server.url}/v1", "--model", "m", "--api-key-env", "MINE",
            "--header", "X-Own: 1", "--extra-body", '{"top_k": 1}',
            env=environment(tmp_path, MINE="sk-mine-0123456789"), stdin="From a pipe\n",
        )  # fmt: skip
        asked = server.posts()[0]
    assert status == 0
    assert table["endpoint"]["key_from"] == "MINE"
    assert asked.body["messages"] == [{"role": "user", "content": "From a pipe"}]
    assert asked.body["top_k"] == 1
    assert asked.headers["authorization"] == "Bearer sk-mine-0123456789"
    assert asked.headers["x-own"] == "1"
    assert "sk-mine" not in json.dumps(table)


def test_messages_from_a_file(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(messages))
    with scripted(lambda asked: sse("a")) as server:
        flags = ("--base-url", f"{server.url}/v1", "--model", "m", "--messages", str(path))
        status, _ = run_json(*flags, env=environment(tmp_path))
        assert status == 0
        assert server.posts()[0].body["messages"] == messages


def test_without_an_endpoint_the_embedded_engine_answers(tmp_path: Path) -> None:
    flags = ("--prompt", "Hi", "--max-tokens", "6", "--temperature", "0")
    status, table = run_json(*flags, "--no-kv-cache", env=environment(tmp_path))
    (run,) = table["runs"]
    if status and "model" in run["failure"]["message"]:
        pytest.skip("no model is shipped with this checkout")
    assert status == 0
    assert run["completion_tokens"] in range(1, 7)
    assert run["token_source"] == "usage"
    assert table["endpoint"]["key_from"] is None
    status, table = run_json(*flags, "--model", "demo-auth", env=environment(tmp_path))
    assert status == 1
    assert table["runs"][0]["failure"]["class"] == "auth"


def test_a_failure_is_status_1_and_an_object(tmp_path: Path) -> None:
    reply = error(401, "Incorrect API key provided", code="invalid_api_key")
    with scripted(lambda asked: reply) as server:
        flags = (
            "--base-url",
            f"{server.url}/v1",
            "--model",
            "m",
            "--prompt",
            "Hi",
            "--repeat",
            "3",
        )
        status, table = run_json(*flags, env=environment(tmp_path))
        assert len(server.posts()) == 1, "a failure that would come again is not repeated"
    assert status == 1
    failure = table["runs"][0]["failure"]
    assert failure["class"] == "auth"
    assert failure["evidence"]["status"] == 401
    assert failure["evidence"]["url"] == f"{server.url}/v1/chat/completions"
    assert failure["fixes"]
    assert table["median"]["n"] == 0


@pytest.mark.parametrize(
    ("flags", "env", "outcome"),
    [
        (("--base-url", "http://127.0.0.1:9/v1"), {}, "network.connection_refused"),
        (("--base-url", "localhost:8000/v1"), {}, "parameter.base_url_invalid"),
        (("--base-url", "https://api.openai.com/v1"), {}, "auth.key_missing"),
        (("--base-url", "http://no-such-host.invalid/v1"), {}, "network.dns"),
        (
            ("--base-url", "http://far.test/v1"),
            {"HTTP_PROXY": "http://127.0.0.1:9"},
            "network.proxy_unreachable",
        ),
        (
            ("--base-url", "http://far.test/v1"),
            {"ALL_PROXY": "socks4://127.0.0.1:9"},
            "network.proxy_misconfigured",
        ),
    ],
)
@pytest.mark.parametrize("model", [("--model", "m"), ()], ids=["model", "list"])
def test_what_is_wrong_before_an_answer(
    flags: tuple[str, ...],
    env: dict[str, str],
    outcome: str,
    model: tuple[str, ...],
    tmp_path: Path,
    kvtui_here: Here,
) -> None:
    environ = environment(tmp_path, **env)
    done = kvtui_here("run", "--json", *flags, *model, "--prompt", "Hi", env=environ)
    assert done.returncode == 1
    table = json.loads(done.stdout)
    failure = table["runs"][0]["failure"]
    assert f"{failure['class']}.{failure['subcode']}" == outcome
    assert failure["message"]
    assert failure["fixes"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the test's certificates")
@pytest.mark.parametrize(
    ("name", "trusted", "outcome"),
    [
        ("localhost", False, "network.tls_untrusted"),
        ("other.test", True, "network.tls_hostname"),
    ],
)
def test_tls(name: str, trusted: bool, outcome: str, tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
         str(certificate), "-days", "2", "-subj", f"/CN={name}",
         "-addext", f"subjectAltName=DNS:{name}"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    Thread(target=server.serve_forever, daemon=True).start()
    env = environment(tmp_path, **({"SSL_CERT_FILE": str(certificate)} if trusted else {}))
    flags = (
        "--base-url",
        f"https://localhost:{server.server_port}/v1",
        "--model",
        "m",
        "--prompt",
        "x",
    )
    status, table = run_json(*flags, env=env)
    server.shutdown()
    server.server_close()
    failure = table["runs"][0]["failure"]
    assert status == 1
    assert f"{failure['class']}.{failure['subcode']}" == outcome


def test_several_models_and_none_named(tmp_path: Path) -> None:
    with scripted(lambda asked: models("a", "b")) as server:
        flags = ("--base-url", f"{server.url}/v1", "--prompt", "Hi")
        status, table = run_json(*flags, env=environment(tmp_path))
    assert status == 1
    failure = table["runs"][0]["failure"]
    assert failure["class"] == "parameter"
    assert "a, b" in failure["message"]
    assert failure["evidence"]["models_offered"] == ["a", "b"]


def test_a_base_url_that_was_put_right(tmp_path: Path) -> None:
    def reply(asked: Asked) -> object:
        if not asked.path.startswith("/api/v1/"):
            return 404, "text/html", b"<html>not here</html>"
        return models("m") if asked.method == "GET" else sse("a", "b")

    with scripted(reply) as server:
        flags = ("--base-url", f"{server.url}/api", "--model", "m", "--prompt", "Hi")
        status, table = run_json(*flags, env=environment(tmp_path))
        assert status == 0
        assert table["endpoint"]["base_url"] == f"{server.url}/api/v1"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--prompt", " "), "empty"),
        (("--prompt", "a", "--prompt-file", __file__), "use one"),
        (("--messages", __file__), "not valid JSON"),
        (("--profile", "nowhere"), "no profile 'nowhere'"),
        (("--extra-body", "[]"), "JSON object"),
        (("--timeout", "nan"), "finite"),
    ],
)
def test_wrong_flags_are_status_2_and_one_sentence(
    flags: tuple[str, ...], words: str, tmp_path: Path, kvtui_here: Here
) -> None:
    done = kvtui_here("run", *flags, env=environment(tmp_path))
    assert done.returncode == 2
    assert words in done.stderr
    assert not done.stdout.startswith("\n")
    assert "Traceback" not in done.stderr


def started(*flags: str, env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kvtui", "run", "--json", "--prompt", "Hi", *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=hear_interrupts,
    )


signals = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
both = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@signals
@both
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions"])
def test_a_signal_at_any_moment_prints_what_there_is(
    number: signal.Signals, path: str, tmp_path: Path
) -> None:
    """While the endpoint is looked at, and while it answers."""

    def reply(asked: Asked) -> Any:
        return None if asked.path == path else models("m")

    with scripted(reply) as server:
        url = f"{server.url}/v1"
        with started("--base-url", url, env=environment(tmp_path)) as process:
            deadline = time.monotonic() + 40
            while not any(asked.path == path for asked in server.asked):
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(number)
            process.send_signal(number)  # as a wrapper passes it on once more
            out, err = process.communicate(timeout=40)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    table = json.loads(out)
    assert table["endpoint"]["base_url"] == url
    assert table["median"]["n"] == 0
    runs = table["runs"]
    assert [(run["partial"], run["stopped"], run["e2e_tps"]) for run in runs] == (
        [(True, True, None)] if path.endswith("completions") else []
    )


@signals
@both
def test_a_signal_after_the_json_changes_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with scripted(lambda asked: sse("a", "b")) as server:
        flags = ("--base-url", f"{server.url}/v1", "--model", "m")
        with started(*flags, env=environment(tmp_path)) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                if line == "}\n":
                    break
            process.send_signal(number)
            said = process.stderr.read()
    assert process.returncode == 0, said
    assert "Traceback" not in said


def test_a_recorded_run_is_printed_again_as_it_was(server: TimingServer, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    env = environment(tmp_path, K="sk-fixture-0123456789abcdefghij")
    url = f"{server.url}/v1"
    flags = ("--base-url", url, "--model", "think", "--prompt", "Hi", "--api-key-env", "K")
    status, live = run_json(*flags, "--repeat", "2", "-o", str(path), env=env)
    assert status == 0
    assert env["K"] not in path.read_text()

    again = Replay.read(path).document()
    assert again["endpoint"] == live["endpoint"]
    for before, after in zip(live["runs"], again["runs"], strict=True):
        for name, value in before.items():
            if name == "formula":
                continue
            if isinstance(value, float):  # stamps are kept to the microsecond, gaps in steps
                step = 0.021 if name.startswith("itl_") else 1e-3
                value = pytest.approx(value, abs=0.003 + step * value)
            assert after[name] == value
    assert again["median"]["n"] == live["median"]["n"] == 2

    refused = kvtui(*flags, "-o", str(path), env=env)
    assert refused.returncode == 2
    assert "is there already" in refused.stderr
