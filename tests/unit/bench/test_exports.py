"""What a record becomes for others: pictures, and the same work for other tools."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from kvtui import language
from kvtui.bench.evaluation.results import Results, results_of
from kvtui.bench.export import PLOTS, SHAPES
from kvtui.bench.export.commands import commands
from kvtui.bench.export.forms import ABOUT, SUFFIXES, export_text
from kvtui.bench.export.page import html
from kvtui.bench.export.plain import text
from kvtui.bench.export.plots import plot_of, plots
from kvtui.bench.export.tables import with_interval
from kvtui.bench.figures.sample import Sample
from kvtui.bench.records.record import RecordError, read_record
from kvtui.bench.records.recorder import Recorder, header_of
from kvtui.bench.requests.prepared import Prepared
from kvtui.bench.running.progress import Learned, RequestEnded
from kvtui.bench.work.prompts import Words
from kvtui.bench.work.workload import Spec, Workload, expand
from kvtui.config import Endpoint
from kvtui.stream.request import Request

SVG = "{http://www.w3.org/2000/svg}"
KEY = "sk-Zx81Qa77Lm"
BOX = Endpoint("https://gpu.example:8443/api/v1", "test", api_key=KEY, key_from="BOX_KEY")


def results(
    folder: Path, workload: Workload, *, model: str = "org/model-8B", endpoint: Endpoint = BOX
) -> Results:
    recorder = Recorder(folder / "r.jsonl")
    request = Request(endpoint, model, "")
    recorder.create(header_of(Prepared(endpoint, model), request, workload, "n"))
    recorder.take(Learned(None, True))
    for number, stage in enumerate(workload.stages):
        for index in range(stage.requests or 3):
            base = 10.0 * (number + 1)
            recorder.take(
                RequestEnded(
                    Sample(
                        stage=number, index=index, send_s=0.0, first_s=0.1, last_s=1.0, end_s=1.0,
                        ttft_ms=base + index, tpot_ms=base, e2e_ms=base * 30, decode_tps=100.0,
                        completion_tokens=20, chunks=20, token_source="usage",
                    )
                )
            )  # fmt: skip
    recorder.end()
    recorder.close()
    return results_of(read_record(recorder.path))


SWEEP = expand(
    Spec(prompt_tokens=(64,), max_tokens=(32,), concurrency=(1, 4), requests=3, warmup=2), "sweep"
)


def test_every_form_is_described_and_gives_something(tmp_path: Path) -> None:
    assert set(SHAPES) == set(SUFFIXES) == set(ABOUT)
    found = results(tmp_path, SWEEP)
    for shape in SHAPES:
        assert export_text(found, shape).strip()


LOAD = expand(
    Spec(prompt_tokens=(64, 4096), max_tokens=(32,), concurrency=(1, 4, 128), requests=8), "sweep"
)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_text_fits_its_width_and_loses_no_column(tmp_path: Path, width: int) -> None:
    found = results(tmp_path, LOAD)
    lines = text(found, width)
    assert max(map(len, lines)) <= width
    told = "\n".join(lines)
    for name in ("TTFT p50 [95 %]", "TTFT p99", "TPOT p99", "E2E p50", "tok/s all", "req/s"):
        assert told.count(name) == 1
    blocks = sum(line.startswith("level ") for line in lines)
    assert blocks > 1 if width <= 80 else blocks == 1 if width == 200 else blocks
    assert sum(line.startswith("4096→32 tokens, c=128") for line in lines) == blocks
    assert lines[1].startswith("48 requests, none failed")
    assert "failed" not in told[told.index("level ") :]


@pytest.fixture
def chinese() -> Iterator[None]:
    language.use("zh")
    yield
    language.use("en")


def test_tables_and_pages_speak_the_language_in_use(tmp_path: Path, chinese: None) -> None:
    found = results(tmp_path, LOAD)
    lines = text(found, 200)
    at = next(number for number, line in enumerate(lines) if line.startswith("档"))
    head, *rows = lines[at : at + 1 + len(found.levels)]
    assert "失败" not in head  # none did: the column stays out in every language
    assert {cell_len(line) for line in rows} == {cell_len(head)}
    for width in (60, 80, 100):
        assert max(map(cell_len, text(found, width))) <= width
    page = html(found)
    assert '<html lang="zh">' in page
    for english in ("<h2>Levels", "<h2>Plots", "of each request", "Latency against", ">level<"):
        assert english not in page, english
    assert "| level |" not in export_text(found, "markdown")
    assert export_text(found, "json").isascii()


def test_failures_have_a_column_where_there_are_some(tmp_path: Path) -> None:
    whole = results(tmp_path, SWEEP)
    row = msgspec.structs.replace(whole.levels[0], failed_subcodes={"server.internal": 2})
    told = "\n".join(text(replace(whole, levels=[row, whole.levels[1]])))
    assert "2 server.internal" in told


def test_a_tpot_that_few_answers_have_is_said_to_be_so(tmp_path: Path) -> None:
    found = results(tmp_path, expand(Spec(prompts=("Hi",), requests=10), "own"))
    told = {finding.code for finding in found.findings}
    assert "few_tpot" not in told
    whole = [
        msgspec.structs.replace(s, tpot_ms=None if s.index else 9.6) for s in found.record.samples
    ]
    (finding,) = [
        f
        for f in results_of(replace(found.record, samples=tuple(whole))).findings
        if f.code == "few_tpot"
    ]
    assert "1 of 10 answers have a TPOT" in finding.message


def test_where_all_failed_no_figure_has_a_column_and_each_sentence_its_stop(
    tmp_path: Path,
) -> None:
    workload = expand(Spec(prompts=("Hi",), requests=2), "own")
    found = results(tmp_path, workload)
    failure = {"message": "It ran out: tried to allocate 2.00 GiB", "fixes": ["Ask for less."]}
    samples = tuple(
        Sample(
            stage=0, index=i, cls="server", subcode="oom", failed=True, end_s=1.0, failure=failure
        )
        for i in range(2)
    )
    told = "\n".join(text(results_of(replace(found.record, samples=samples))))
    assert "TTFT" not in told
    assert "2 server.oom" in told
    assert "2.00 GiB. Ask for less." in " ".join(told.split())


@pytest.mark.parametrize(
    ("value", "between", "told"),
    [
        (57.1, (41.53, 71.0), "57.1 ms [41.5, 71.0]"),
        (2503.3, (1943.4, 13555.3), "2.50 s [1.94, 13.6]"),
        (9.2, (7.1, 710.4), "9.20 ms [7.10, 710]"),
        (9.2, None, "9.20 ms"),
    ],
)
def test_an_interval_has_its_figures_unit(
    value: float, between: tuple[float, float] | None, told: str
) -> None:
    assert with_interval(value, between) == told


def test_a_plot_is_a_picture_that_stands_alone(tmp_path: Path) -> None:
    found = results(tmp_path, SWEEP)
    assert list(plots(found)) == ["throughput", "ttft", "tpot", "e2e"]
    assert set(plots(found)) <= set(PLOTS)
    tree = ElementTree.fromstring(plot_of(found, "ttft"))  # our own text
    assert tree.tag == f"{SVG}svg"
    assert len(tree.findall(f"{SVG}circle")) == 6
    texts = [text.text for text in tree.findall(f"{SVG}text")]
    assert "● 64→32 tokens, c=4" in texts
    ElementTree.fromstring(export_text(found, "svg"))
    with pytest.raises(RecordError, match="no plot 'position': it gives throughput, ttft"):
        plot_of(found, "position")


def test_points_stand_where_their_figures_say(tmp_path: Path) -> None:
    tree = ElementTree.fromstring(plot_of(results(tmp_path, SWEEP), "tpot"))
    heights = [float(c.attrib["cy"]) for c in tree.findall(f"{SVG}circle")]
    zero = max(float(line.attrib["y1"]) for line in tree.findall(f"{SVG}line"))
    assert heights[:3] == [heights[0]] * 3
    assert (zero - heights[3]) / (zero - heights[0]) == pytest.approx(2.0, rel=0.01)  # 20 to 10 ms


def test_names_from_outside_are_text_in_page_and_picture(tmp_path: Path) -> None:
    workload = expand(Spec(name="<b>", prompts=("Hi",), requests=2), "<script>x")
    found = results(tmp_path, workload, model="<img src=x onerror=y>\x1b[31m")
    page = html(found)
    assert "<script>x" not in page
    assert "<img" not in page
    assert "\x1b" not in plot_of(found)


def test_the_page_stands_alone_in_light_and_dark_and_on_paper(tmp_path: Path) -> None:
    page = html(results(tmp_path, SWEEP))
    assert "default-src 'none'" in page  # nothing is fetched or run, whatever a name holds
    for outside in ("<script", "src=", "href=", "url(", "@import"):
        assert outside not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    style = page[page.index("<style>") : page.index("</style>")]
    used = set(re.findall(r'class="(s\d|bg|grid|ink|dim)"', page))
    assert {"s0", "s1", "bg", "grid", "ink", "dim"} <= used
    for name in used:  # each colour of a picture is the page's own
        assert re.search(rf"svg (\w+)?\.{name}\b", style), name


def test_long_times_are_drawn_in_seconds(tmp_path: Path) -> None:
    found = results(tmp_path, SWEEP)
    assert ">TTFT, ms<" in plot_of(found, "ttft")
    slow = [msgspec.structs.replace(s, e2e_ms=20_000.0 + s.index) for s in found.record.samples]
    picture = plot_of(replace(found, record=replace(found.record, samples=tuple(slow))), "e2e")
    assert ">E2E time, s<" in picture
    assert ">20<" in picture


def words_of(script: str) -> list[list[str]]:
    """The commands of a script, each as its words."""
    joined = script.replace("\\\n", " ")
    return [shlex.split(line, comments=True) for line in joined.splitlines() if line.strip()]


def flags(words: list[str]) -> dict[str, str]:
    pairs: dict[str, Any] = {}
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        if flag.startswith("--"):
            pairs[flag] = "" if value.startswith("--") else value
    return pairs


def test_the_same_load_and_lengths_are_asked_of_each_tool(tmp_path: Path) -> None:
    script = commands(results(tmp_path, SWEEP))
    assert KEY not in script
    told = [words for words in words_of(script) if words]
    vllm = [flags(w) for w in told if w[1:2] == ["vllm"]]
    guidellm = [flags(w) for w in told if w[0] == "guidellm"]
    aiperf = [flags(w) for w in told if w[0] == "aiperf"]
    for rows in (vllm, guidellm, aiperf):
        assert len(rows) == 2
    assert [f["--max-concurrency"] for f in vllm] == ["1", "4"]
    assert [f["--concurrency"] for f in aiperf] == ["1", "4"]
    warmed = {"mode": "requests", "value": 2}
    assert [json.loads(f["--profile"]) for f in guidellm] == [
        {"kind": "concurrent", "streams": streams, "warmup": warmed} for streams in (1, 4)
    ]
    assert [f["--num-warmups"] for f in vllm] == ["2", "2"]
    assert [f["--warmup-request-count"] for f in aiperf] == ["2", "2"]
    assert (vllm[0]["--random-input-len"], vllm[0]["--random-output-len"]) == ("64", "32")
    assert (aiperf[0]["--isl"], aiperf[0]["--osl"]) == ("64", "32")
    assert "prompt_tokens=64,output_tokens=32" in guidellm[0]["--data"]
    assert (vllm[0]["--num-prompts"], aiperf[0]["--request-count"]) == ("3", "3")
    assert guidellm[0]["--constraint"] == "kind=max_requests,count=5"  # with its warm-up
    assert vllm[0]["--base-url"] + vllm[0]["--endpoint"] == f"{BOX.base_url}/chat/completions"
    assert aiperf[0]["--url"] + aiperf[0]["--endpoint"] == f"{BOX.base_url}/chat/completions"
    backend = json.loads(guidellm[0]["--backend"])
    assert backend["target"] == "https://gpu.example:8443/api"
    assert backend["extras"] == {"body": {"temperature": 0, "seed": 0, "ignore_eos": True}}
    assert backend["api_key"] == "$BOX_KEY"  # which the shell fills in
    assert 'OPENAI_API_KEY="$BOX_KEY"' in script
    assert '--api-key "$BOX_KEY"' in script


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_it_is_a_script_whatever_names_and_prompts_are(tmp_path: Path) -> None:
    prompts = ("it's $(touch x) `y`\nEND\n", '日本 \\ "q"', "\x1b[31m")
    workload = expand(Spec(prompts=prompts, rate=(2.5,), arrival="poisson", requests=7), "own")
    script = commands(results(tmp_path, workload, model="a'; touch x; '$(touch x)"))
    path = tmp_path / "again.sh"
    path.write_text(script, encoding="utf-8")
    assert "\x1b" not in script
    assert subprocess.run(["sh", "-n", str(path)], capture_output=True).returncode == 0
    # Run with the tools replaced: nothing but the prompts' file is made, with the prompts as sent.
    stub = "vllm() { :; }\nguidellm() { :; }\naiperf() { :; }\nkvtui() { :; }\nTOKENIZER=t\n"
    done = subprocess.run(["sh", "-c", stub + script], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "x").exists()
    rows = (tmp_path / "prompts-1.jsonl").read_text(encoding="utf-8").splitlines()
    # One a request, warm-up included: a tool that stops where its file ends does all of the work.
    assert len(rows) == 9  # of 8, the last turn whole
    assert tuple(json.loads(row)["prompt"] for row in rows[:3]) == prompts
    assert "--request-rate 2.5" in script
    assert '"kind": "poisson", "rate": 2.5' in script


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_the_shell_fills_the_key_in(tmp_path: Path) -> None:
    script = commands(results(tmp_path, SWEEP, model="it's"))
    stub = (
        "vllm() { :; }\naiperf() { :; }\nkvtui() { :; }\nTOKENIZER=t\nBOX_KEY='k \"1'\n"
        'guidellm() { printf "%s\\n" "$3"; }\n'
    )
    done = subprocess.run(["sh", "-c", stub + script], capture_output=True, text=True)
    first = done.stdout.splitlines()[0]
    assert '"api_key": "k "1"' in first  # the very characters; a key with a quote is its owner's
    assert json.loads(first.replace('k "1', "k"))["model"] == "it's"


def test_the_template_is_taken_off_the_text_of_a_prompt(tmp_path: Path) -> None:
    """Servers count the whole prompt, these tools the text that they make up."""
    found = results(tmp_path, SWEEP)
    words = Words(25.0, 1.0, measured=True, source="tokenizer")
    script = commands(replace(found, record=replace(found.record, words=words)))
    assert "--random-input-len 39 " in script
    assert "--isl 39 " in script
    assert "prompt_tokens=39," in script
    assert "25 tokens are taken off" in script


def test_the_embedded_engine_is_served_first(tmp_path: Path) -> None:
    embedded = Endpoint("http://127.0.0.1:5/v1", "embedded", embedded=True)
    script = commands(results(tmp_path, SWEEP, model="kvtui-tiny", endpoint=embedded))
    assert "kvtui serve &" in script
    assert script.index("until curl") < script.index("vllm bench serve")
    assert "--base-url http://127.0.0.1:8000 " in script
    assert "api_key" not in script.lower()


HOSTILE = (
    "=1+1\x1b]0;P\x07\x1b]52;c;UA==\x07\x9b31m\x9d0;P\x9c\u202e\u2066 a|b `c` [red]x[/] "
    "[l](http://evil.test) ![i](http://evil.test/i.png) <script>alert(1)</script>\"'> $(id)"
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_server_calls_its_model_is_text_in_every_form(tmp_path: Path, shape: str) -> None:
    told = export_text(results(tmp_path, SWEEP, model=HOSTILE), shape)
    assert OBEYED.search(told) is None, shape
    if shape in ("html", "svg", "markdown"):
        assert "<script>" not in told
    if shape == "html":
        assert "alert(1)" in told


@pytest.mark.parametrize(
    "name",
    [
        HOSTILE, "http://evil.test", "HTTPS://evil.test/a`b``c", "www.evil.test", "evil.test/x",
        "mailto:a@evil.test", "foo@bar", "foo@evil.test,", "@evil", "org/model#1", "(ftp://evil)",
        "[x][y]", "![x]:", "<http://evil.test>", "a\\|`http://evil.test", "[x](evil)", "xmpp:a",
        "模型http://evil.test", "x | http://evil.test/a|b",
    ],
)  # fmt: skip
def test_no_reader_of_the_markdown_makes_a_link(tmp_path: Path, name: str) -> None:
    made = results(tmp_path, SWEEP, model=name)
    stages = tuple(
        msgspec.structs.replace(stage, label=name) for stage in made.record.workload.stages
    )
    record = replace(made.record, workload=msgspec.structs.replace(SWEEP, stages=stages))
    again = results_of(replace(record, header=made.record.header))
    told = export_text(again, "markdown")
    tokens = MarkdownIt("gfm-like").parse(told)
    found = [inner for token in tokens for inner in (token, *(token.children or ()))]
    assert not {"link_open", "image", "html_inline", "html_block"} & {one.type for one in found}
    code = {one.content for one in found if one.type == "code_inline"}
    bare = "".join(one.content for one in found if one.type == "text")
    assert BOX.base_url in code
    assert "://" not in bare
    assert "@" not in bare
    assert sum(one.type == "tr_open" for one in found) == 1 + len(stages)
    assert sum(one.type == "td_open" for one in found) == len(stages) * sum(
        one.type == "th_open" for one in found
    )


def test_a_spreadsheet_computes_nothing_and_a_terminal_obeys_nothing(tmp_path: Path) -> None:
    made = results(tmp_path, SWEEP)
    change = msgspec.structs.replace
    stages = tuple(change(stage, label=HOSTILE) for stage in made.record.workload.stages)
    record = replace(made.record, workload=change(made.record.workload, stages=stages))
    told = export_text(replace(made, record=record), "csv")
    assert OBEYED.search(told) is None
    assert "\"'=1+1" in told
