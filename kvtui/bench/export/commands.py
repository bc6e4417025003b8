"""The shell commands that do the same work with vLLM's bench serve, guidellm and aiperf.

Flags of ``vllm bench serve`` 0.32, guidellm 0.8 and aiperf 0.13. No key is in them: where one is
needed a variable stands.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kvtui.bench.evaluation.results import Results
from kvtui.bench.figures.summary import kind_of
from kvtui.bench.records.record import Record
from kvtui.bench.work.workload import MOST_TOKENS, Stage
from kvtui.text import one_line

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EVEN = "1000"
"""vLLM's burstiness from which requests come evenly."""


@dataclass(frozen=True, slots=True)
class _Where:
    """The endpoint, as the tools want it told."""

    root: str
    """Up to the path, without a slash at its end."""
    path: str
    """Before ``/chat/completions``."""
    model: str
    key: str | None
    """The variable that holds the key."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One level, as each of the tools is to repeat it."""

    record: Record
    where: _Where
    stage: Stage
    count: int
    """Requests."""
    prompts: str | None
    """The file that holds them; None: made up, of the stage's length."""
    tokenizer: Sequence[str]
    """The one to name, or none."""
    number: int
    """Of the level, from 1; it names the result's file."""


def commands(results: Results) -> str:
    """A shell script: each level with each of the tools, then the comparison of what they wrote."""
    record = results.record
    where = _where(record)
    lines = ["#!/bin/sh", f"# The work of {one_line(record.path.name, 200)} with other tools."]
    if (record.header.get("endpoint") or {}).get("embedded"):
        lines += ["# It ran on the embedded engine, which serves others too:", "kvtui serve &", ""]
    if where.key:
        lines += [f"# The key is read from {where.key}."]
    headers = list((record.header.get("request") or {}).get("headers") or ())
    if headers:
        lines.append(f"# Its requests carried headers too: {one_line(', '.join(headers), 200)}.")
    tokenizer: list[str] = []
    if "/" not in where.model:
        lines += [
            "# These tools count tokens themselves: name a tokenizer of the Hugging Face hub."
        ]
        lines += [': "${TOKENIZER:?name a tokenizer that counts as the server does}"']
        tokenizer = ['"$TOKENIZER"']
    files: list[str] = []
    texts: dict[tuple[str, ...], str] = {}
    for number, (stage, count) in enumerate(_levels(record), 1):
        lines += ["", f"# --- {number}: {one_line(stage.label, 100)}"]
        if stage.texts and stage.texts not in texts:
            texts[stage.texts] = name = f"prompts-{len(texts) + 1}.jsonl"
            lines += _prompts_file(name, stage)
        work = _Work(record, where, stage, count, texts.get(stage.texts), tokenizer, number)
        for tool, build in (("vllm", _vllm), ("guidellm", _guidellm), ("aiperf", _aiperf)):
            lines += [_folded(build(work))]
            files.append(
                f"{tool}-{number}/profile_export.jsonl"
                if tool == "aiperf"
                else f"{tool}-{number}.json"
            )
    lines += ["", "# --- side by side", f"for file in {' '.join(files)}; do"]
    lines += [f'  kvtui compare {shlex.quote(str(record.path))} "$file"', "done"]
    return "\n".join(lines) + "\n"


def _where(record: Record) -> _Where:
    told: dict[str, Any] = record.header.get("endpoint") or {}
    base_url = "http://127.0.0.1:8000/v1" if told.get("embedded") else str(told.get("base_url"))
    parts = urlsplit(base_url)
    key = told.get("key_from")
    variable = key if key and _VARIABLE.fullmatch(key) else "API_KEY"
    return _Where(
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        parts.path.rstrip("/"),
        str(told.get("model") or ""),
        variable if key else None,
    )


def _levels(record: Record) -> list[tuple[Stage, int]]:
    """Each kind of stage once, with the requests that it had in all."""
    found: dict[Stage, int] = {}
    for number, stage in enumerate(record.workload.stages):
        kind = kind_of(stage)
        done = sum(s.stage == number and not s.warmup for s in record.samples)
        found[kind] = found.get(kind, 0) + (stage.requests or done or 1)
    return list(found.items())


def _prompts_file(name: str, stage: Stage) -> list[str]:
    """The prompts in a file, under the names by which the tools look for them."""
    rows = [json.dumps({"prompt": text, "text": text}, ensure_ascii=True) for text in stage.texts]
    fresh = [] if stage.same_prompt else ["# kvtui put some words of its own before each of them."]
    return [*fresh, f"cat > {name} <<'END'", *rows, "END"]


def _vllm(work: _Work) -> list[str]:
    where, stage = work.where, work.stage
    words = [f'OPENAI_API_KEY="${where.key}"'] if where.key else []
    words += ["vllm bench serve", "--backend openai-chat", f"--base-url {_quoted(where.root)}"]
    words += [f"--endpoint {_quoted(where.path + '/chat/completions')}"]
    words += [f"--model {_quoted(where.model)}", *(f"--tokenizer {t}" for t in work.tokenizer)]
    if work.prompts:
        words += ["--dataset-name custom", f"--dataset-path {work.prompts}", "--skip-chat-template"]
        words += [f"--custom-output-len {stage.max_tokens}"] * (stage.max_tokens < MOST_TOKENS)
    else:
        words += ["--dataset-name random", f"--random-input-len {stage.prompt_tokens}"]
        words += [f"--random-output-len {stage.max_tokens}"]
    words += [f"--num-prompts {work.count}", f"--num-warmups {stage.warmup}"]
    if stage.rate:
        even = _EVEN if stage.arrival == "constant" else "1"
        words += [f"--request-rate {stage.rate:g}", f"--burstiness {even}"]
    words += [f"--max-concurrency {stage.concurrency}"] * bool(stage.concurrency)
    words += ["--ignore-eos"] * work.record.ignore_eos
    asked = work.record.workload
    words += [f"--seed {asked.seed}", f"--temperature {asked.temperature:g}"]
    words += ["--save-result", "--save-detailed", f"--result-filename vllm-{work.number}.json"]
    return words


def _guidellm(work: _Work) -> list[str]:
    where, stage = work.where, work.stage
    backend = [
        "kind=openai_http",
        f"target={where.root}{where.path.removesuffix('/v1')}",
        f"model={where.model}",
        "request_format=/v1/chat/completions",
    ]
    told = _quoted(",".join(backend)) + (f',api_key="${where.key}"' if where.key else "")
    if work.prompts and stage.max_tokens < MOST_TOKENS:
        told += f",max_tokens={stage.max_tokens}"
    words = ["guidellm run", f"--backend {told}"]
    if stage.rate:
        most = f",max_concurrency={stage.concurrency}" if stage.concurrency else ""
        words += [f"--profile kind={stage.arrival},rate={stage.rate:g}{most}"]
    else:
        words += [f"--profile kind=concurrent,streams={stage.concurrency}"]
    words += (
        [f"--constraint kind=max_duration,seconds={stage.duration_s:g}"]
        if stage.requests is None and stage.duration_s
        else [f"--constraint kind=max_requests,count={work.count}"]
    )
    words += [f"--tokenizer kind=hf_auto,model={t}" for t in work.tokenizer]
    words += (
        [f"--data kind=json_file,path={work.prompts}"]
        if work.prompts
        else [
            f"--data kind=synthetic_text,prompt_tokens={stage.prompt_tokens},"
            f"output_tokens={stage.max_tokens}"
        ]
    )
    return [*words, f"--output kind=json,path=guidellm-{work.number}.json"]


def _aiperf(work: _Work) -> list[str]:
    where, stage = work.where, work.stage
    words = ["aiperf profile", f"--model {_quoted(where.model)}", f"--url {_quoted(where.root)}"]
    words += ["--endpoint-type chat", f"--endpoint {_quoted(where.path + '/chat/completions')}"]
    words += ["--streaming", *(f"--tokenizer {t}" for t in work.tokenizer)]
    words += [f'--api-key "${where.key}"'] if where.key else []
    extra = [f"temperature:{work.record.workload.temperature:g}"]
    extra += ["ignore_eos:true"] * work.record.ignore_eos
    if work.prompts:
        words += [f"--input-file {work.prompts}", "--custom-dataset-type single_turn"]
        extra += [f"max_tokens:{stage.max_tokens}"] * (stage.max_tokens < MOST_TOKENS)
    else:
        words += [f"--isl {stage.prompt_tokens}", f"--osl {stage.max_tokens}"]
    words += [f"--extra-inputs {one}" for one in extra]
    if stage.rate:
        words += [f"--request-rate {stage.rate:g}", f"--arrival-pattern {stage.arrival}"]
    words += [f"--concurrency {stage.concurrency}"] * bool(stage.concurrency)
    words += (
        [f"--benchmark-duration {stage.duration_s:g}"]
        if stage.requests is None and stage.duration_s
        else [f"--request-count {work.count}"]
    )
    words += [f"--warmup-request-count {stage.warmup}"] * bool(stage.warmup)
    words += [f"--random-seed {work.record.workload.seed}", f"--artifact-dir aiperf-{work.number}"]
    return words


def _quoted(text: str) -> str:
    return shlex.quote(one_line(text, 2000))


def _folded(words: Sequence[str]) -> str:
    """A command over several lines, each at most a hundred characters where that can be."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) > 96:
            lines[-1] += " \\"
            lines.append("  " + word)
        else:
            lines[-1] += " " + word
    return "\n".join(lines)
