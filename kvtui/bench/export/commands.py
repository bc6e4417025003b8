"""The shell commands that do the same work with vLLM's bench serve, guidellm and aiperf.

Run with guidellm 0.8.1 and aiperf 0.13.0; the flags of ``vllm bench serve`` are those of the source
of vLLM 0.33. No key is in them: where one is needed a variable stands.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import msgspec

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
        lines += ["# It ran on the embedded engine, which serves others too:", "kvtui serve &"]
        lines += ["trap 'kill $!' EXIT", "until curl -sfo /dev/null http://127.0.0.1:8000/health"]
        lines += ["do sleep 1; done", ""]
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
    if _template(record):
        lines += [
            "# They count a prompt's text alone; the chat template's"
            f" {_template(record)} tokens are taken off it here."
        ]
    files: list[str] = []
    texts: dict[tuple[str, ...], str] = {}
    levels = _levels(record)
    for number, (stage, count) in enumerate(levels, 1):
        lines += ["", f"# --- {number}: {one_line(stage.label, 100)}"]
        if stage.texts and stage.texts not in texts:
            texts[stage.texts] = name = f"prompts-{len(texts) + 1}.jsonl"
            most = max(n + one.warmup for one, n in levels if one.texts == stage.texts)
            lines += _prompts_file(name, stage, most)
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
    counts: dict[Stage, int] = {}
    warmups: dict[Stage, int] = {}
    for number, stage in enumerate(record.workload.stages):
        kind = kind_of(stage)
        done = sum(s.stage == number and not s.warmup for s in record.samples)
        counts[kind] = counts.get(kind, 0) + (stage.requests or done or 1)
        warmups[kind] = max(warmups.get(kind, 0), stage.warmup)
    return [
        (msgspec.structs.replace(kind, warmup=warmups[kind]), count)
        for kind, count in counts.items()
    ]


def _template(record: Record) -> int:
    """Tokens that the chat template adds to a synthetic prompt, as far as that is known."""
    words = record.words
    synthetic = any(not stage.texts for stage in record.workload.stages)
    return round(words.fixed) if words is not None and words.measured and synthetic else 0


def _length(work: _Work) -> int:
    """Tokens of a synthetic prompt's own text."""
    return max(1, (work.stage.prompt_tokens or 0) - _template(work.record))


def _prompts_file(name: str, stage: Stage, requests: int) -> list[str]:
    """The prompts in a file, under the names by which the tools look for them.

    In turn, a line for each request: guidellm ends where the file does.
    """
    rows = [json.dumps({"prompt": text, "text": text}, ensure_ascii=True) for text in stage.texts]
    fresh = [] if stage.same_prompt else ["# kvtui put some words of its own before each of them."]
    times = ceil(requests / len(rows))
    return [
        *fresh,
        f"n=0; while [ $n -lt {times} ]; do n=$((n + 1)); cat <<'END'",
        *rows,
        "END",
        f"done > {name}",
    ]


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
        words += ["--dataset-name random", f"--random-input-len {_length(work)}"]
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
    asked = work.record.workload
    body: dict[str, Any] = {"temperature": asked.temperature, "seed": asked.seed}
    body |= {"ignore_eos": True} if work.record.ignore_eos else {}
    backend: dict[str, Any] = {
        "kind": "openai_http",
        "target": f"{where.root}{where.path.removesuffix('/v1')}",
        "model": where.model,
        "request_format": "/v1/chat/completions",
        "extras": {"body": body},
    }
    if work.prompts and stage.max_tokens < MOST_TOKENS:
        backend["max_tokens"] = stage.max_tokens
    told = json.dumps(backend)
    if where.key:
        told = _quoted(f'{told[:-1]}, "api_key": "') + f'"${where.key}"' + _quoted('"}')
    else:
        told = _quoted(told)
    profile: dict[str, Any] = {"kind": "concurrent", "streams": stage.concurrency}
    if stage.rate:
        profile = {"kind": stage.arrival, "rate": stage.rate}
        profile |= {"max_concurrency": stage.concurrency} if stage.concurrency else {}
    if stage.warmup:
        profile["warmup"] = {"mode": "requests", "value": stage.warmup}
    words = ["guidellm run", f"--backend {told}", f"--profile {_quoted(json.dumps(profile))}"]
    words += (
        [f"--constraint kind=max_duration,seconds={stage.duration_s:g}"]
        if stage.requests is None and stage.duration_s
        else [f"--constraint kind=max_requests,count={work.count + stage.warmup}"]
    )
    words += [f"--tokenizer kind=hf_auto,model={t}" for t in work.tokenizer]
    words += (
        [f"--data kind=json_file,path={work.prompts}"]
        if work.prompts
        else [
            f"--data kind=synthetic_text,prompt_tokens={_length(work)},"
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
        words += [f"--isl {_length(work)}", f"--osl {stage.max_tokens}"]
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
