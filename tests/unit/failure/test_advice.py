"""The sentences: the facts in them, their order, and the file they come from."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvtui.failure.advice as advice_module
from kvtui.failure import Evidence, ExceptionFact, KeyFacts, classify, hints_for
from kvtui.failure.advice import AdviceError, advice_table, parse_advice
from kvtui.failure.codes import tables
from kvtui.failure.finish import finish_table
from kvtui.failure.providers import providers
from kvtui.failure.taxonomy import NAMES
from kvtui.failure.wordings import group, group_names

Make = Callable[..., Evidence]
ADVICE = Path(advice_module.__file__).with_name("advice.toml")


def test_every_subcode_has_advice_and_every_data_file_loads() -> None:
    assert advice_table().keys() == NAMES
    assert {name for table in tables() for name in table.codes.values()} <= NAMES
    assert set(finish_table().values()) <= NAMES
    assert len({provider.label for provider in providers()}) == len(providers())
    for name in group_names():
        group(name)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("auth", "invalid_key", "say"), ["It is {nonsense}."], "unknown placeholder nonsense"),
        (("auth", "invalid_key", "say"), ["It is {model}."], "always holds"),
        (("auth", "invalid_key", "fix"), ["Ask {provider}."], "one fix that always holds"),
        (("auth", "invalid_key", "retry"), "maybe", "retry must be one of"),
        (("auth", "invalid_key", "hint"), "x", "unknown key hint"),
        (("auth", "invalid_key", "say"), [{"if": ["sunny"], "text": "x"}], "unknown condition"),
        (("auth", "invalid_key", "say"), [{"if": ["status"], "text": "x"}], "needs an argument"),
        (("auth", "invalid_key", "say"), [{"if": ["page=x"], "text": "x"}], "takes no argument"),
        (("auth", "no_such_thing"), {"say": ["x"], "fix": ["y"]}, "unknown: auth.no_such_thing"),
    ],
)
def test_a_wrong_file_is_named(path: tuple[str, ...], value: Any, complaint: str) -> None:
    data = copy.deepcopy(tomllib.loads(ADVICE.read_text(encoding="utf-8")))
    table = data
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    with pytest.raises(AdviceError, match=complaint):
        parse_advice(data)


def test_a_missing_subcode_is_named() -> None:
    data = tomllib.loads(ADVICE.read_text(encoding="utf-8"))
    del data["server"]["oom"]
    with pytest.raises(AdviceError, match=r"missing: server\.oom"):
        parse_advice(data)


@pytest.mark.parametrize("evidence", [Evidence(), Evidence(phase="settings")])
def test_empty_evidence_still_says_something(evidence: Evidence) -> None:
    verdict = classify(evidence)
    assert verdict.message
    assert verdict.fixes


# --- the article's checklist ----------------------------------------------------------------------


def test_proxy_that_refused(make_answer: Make) -> None:
    verdict = classify(
        make_answer(
            phase="connect",
            exceptions=(ExceptionFact("ConnectError", "[Errno 111] Connection refused"),),
            proxy="http://127.0.0.1:7890",
            proxy_from="HTTPS_PROXY",
        )
    )
    assert verdict.message == (
        "127.0.0.1:7890 refused: that is the proxy in HTTPS_PROXY, the endpoint was never reached."
    )
    assert "127.0.0.1:7890" in verdict.fixes[0]
    assert "unset HTTPS_PROXY" in verdict.fixes[1]


@pytest.mark.parametrize(
    ("status", "headers", "said", "not_said"),
    [
        (301, {"location": "https://x.test/v1"}, "redirected (301) to https://x.test/v1", "where"),
        (302, {}, "redirected (302), and the answer does not say where to", "GET"),
        (304, {}, "304 (not modified), which is no answer to a POST", "redirect"),
        (304, {"location": "/x"}, "304 (not modified)", "redirect"),
        (300, {}, "300 (several choices)", "redirect"),
        (305, {"location": "http://p.test"}, "305, which once told clients to go", "redirected"),
        (306, {}, "306, which once told", "redirected"),
        (310, {}, "answered 310, which is no answer of an API", "redirect"),
    ],
)
def test_only_a_redirect_is_called_one(
    status: int, headers: dict[str, str], said: str, not_said: str, make_answer: Make
) -> None:
    verdict = classify(make_answer(status=status, headers=headers, body="", streamed=False))
    assert (verdict.cls, verdict.subcode) == ("parameter", "base_url_redirect")
    assert said in verdict.message
    assert not_said not in verdict.message
    assert verdict.fixes
    assert status in (301, 302) or not any("redirect" in fix for fix in verdict.fixes)


@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTPS_PROXY"])
def test_a_socks_proxy_names_the_variable_and_three_ways_out(
    variable: str, make_answer: Make
) -> None:
    verdict = classify(
        make_answer(
            phase="settings",
            url="https://api.example.com/v1/chat/completions",
            exceptions=(
                ExceptionFact(
                    "ProxySettingError",
                    f"{variable} names a SOCKS proxy (socks5://127.0.0.1:7890)",
                ),
            ),
            proxy="socks5://127.0.0.1:7890",
            proxy_from=variable,
        )
    )
    assert f"{verdict.cls}.{verdict.subcode}" == "network.proxy_misconfigured"
    assert verdict.message.startswith(f"{variable} names a SOCKS proxy (socks5://127.0.0.1:7890)")
    http, unset, no_proxy = verdict.fixes
    assert "export HTTPS_PROXY=http://127.0.0.1:7890" in http
    assert ("goes before ALL_PROXY" in http) == (variable == "ALL_PROXY")
    assert f"unset {variable}" in unset
    assert "NO_PROXY=localhost,127.0.0.1,::1,api.example.com" in no_proxy


@pytest.mark.parametrize(
    ("status", "headers", "body", "unused", "expected"),
    [
        (503, {}, "", "HTTP_PROXY", "network.proxy_intercepts_local"),
        (403, {}, "<html>squid/5.7</html>", None, "network.proxy_intercepts_local"),
        (503, {}, "<html>nginx</html>", "HTTP_PROXY", "server.unavailable"),
        (503, {"server": "uvicorn"}, "x", "HTTP_PROXY", "server.unavailable"),
        (500, {}, "Internal Server Error", "HTTP_PROXY", "server.internal"),
        (503, {}, '{"error": {"message": "down"}}', "HTTP_PROXY", "server.unavailable"),
        (503, {}, "", None, "server.unavailable"),
    ],
)
def test_a_proxy_program_that_takes_every_connection(
    status: int,
    headers: dict[str, str],
    body: str,
    unused: str | None,
    expected: str,
    make_answer: Make,
) -> None:
    url = "http://192.168.1.5:8000/v1/chat/completions"
    evidence = make_answer(
        status=status, headers=headers, body=body, url=url, host="192.168.1.5", proxy_unused=unused
    )
    verdict = classify(evidence)
    assert f"{verdict.cls}.{verdict.subcode}" == expected
    if unused and expected.startswith("network"):
        assert "HTTP_PROXY names a proxy, which is not used for such hosts here" in verdict.message
        assert not any("NO_PROXY" in fix for fix in verdict.fixes)


@pytest.mark.parametrize("origin", [None, "MY_KEY"])
def test_a_500_without_a_key_may_be_for_want_of_one(origin: str | None, make_answer: Make) -> None:
    answer = make_answer(status=500, body="Internal Server Error", key=KeyFacts(origin=origin))
    fixes = classify(answer).fixes
    assert fixes[0].startswith("No key was sent") == (origin is None)


def test_wrong_base_url_with_one_that_answers(make_answer: Make) -> None:
    verdict = classify(
        make_answer(
            url="https://taotoken.net/api/chat/completions",
            base_url="https://taotoken.net/api",
            status=404,
            body="<html><title>404</title></html>",
            base_url_answers="https://taotoken.net/api/v1",
        )
    )
    assert verdict.message == (
        "POST https://taotoken.net/api/chat/completions answered 404 with a web page: "
        "the base URL should be https://taotoken.net/api/v1 (it answers)."
    )
    assert verdict.fixes[0] == "Set the base URL to https://taotoken.net/api/v1"


@pytest.mark.parametrize(
    ("lang", "said", "unsaid"),
    [
        ("en", "does not accept the key that was typed (", "from what"),
        ("zh", "不接受所输入的密钥", "来自"),
    ],
)
def test_a_key_that_was_typed_is_called_so(
    make_answer: Make, lang: str, said: str, unsaid: str
) -> None:
    from kvtui import config, language

    key = KeyFacts(origin=config.TYPED, length=20)
    language.use(lang)
    try:
        message = classify(
            make_answer(
                url="http://127.0.0.1:8000/v1/chat/completions",
                base_url="http://127.0.0.1:8000/v1",
                status=401,
                body='{"error": "Unauthorized"}',
                key=key,
            )
        ).message
    finally:
        language.use("en")
    assert said in message.replace(" 不", "不")
    assert unsaid not in message


@pytest.mark.parametrize("base", ["http://127.0.0.1:8000", "https://llm.example.com"])
def test_a_url_that_answers_is_named_by_one_fix(make_answer: Make, base: str) -> None:
    fixes = classify(
        make_answer(
            url=f"{base}/chat/completions",
            base_url=base,
            status=404,
            body='{"detail": "Not Found"}',
            base_url_answers=f"{base}/v1",
        )
    ).fixes
    assert [fix for fix in fixes if f"{base}/v1" in fix] == [f"Set the base URL to {base}/v1"]


def test_wrong_base_url_that_nobody_tried(make_answer: Make) -> None:
    verdict = classify(
        make_answer(
            url="https://taotoken.net/api/chat/completions",
            base_url="https://taotoken.net/api",
            status=404,
            body="<html><title>404</title></html>",
        )
    )
    assert "https://taotoken.net/api/v1" in verdict.fixes[0]


def test_max_tokens_cut_the_answer(make_stream: Make) -> None:
    evidence = make_stream(finish_reason="length", max_tokens=10, completion_tokens=10)
    assert classify(evidence).message == "Cut at max_tokens 10, as asked."


def test_all_tokens_went_into_reasoning(make_stream: Make) -> None:
    evidence = make_stream(
        finish_reason="length", content_chars=0, reasoning_chars=900, completion_tokens=512
    )
    assert classify(evidence).message.startswith("All 512 tokens went into reasoning")


def test_context_with_the_two_numbers(make_answer: Make) -> None:
    bodies = [
        '{"error":{"message":"request (5000 tokens) exceeds the available context size (4096 '
        'tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,'
        '"n_ctx":4096}}',
        '{"object":"error","message":"The input (5000 tokens) is longer than the model\'s context '
        'length (4096 tokens)."}',
        '{"error":{"message":"This model\'s maximum context length is 4096 tokens. However, you '
        'requested 5000 tokens (1000 in the messages, 4000 in the completion)."}}',
        '{"error":{"message":"prompt is too long: 5000 tokens > 4096 maximum"}}',
        '{"error":{"message":"This model\'s maximum context length is 4096 tokens. However, you '
        "requested 100 output tokens and your prompt contains at least 4900 input tokens, for a "
        'total of at least 5000 tokens."}}',
        '{"error":{"message":"input length and `max_tokens` exceed context limit: 4000 + 1000 > '
        '4096"}}',
        '{"error":{"message":"This model\'s maximum prompt length is 4096 but the request contains '
        '5000 tokens."}}',
        '{"error":{"message":"Prompt contains 5000 tokens and 0 draft tokens, too large for model '
        'with 4096 maximum context length"}}',
        '{"error":{"message":"The input token count (5000) exceeds the maximum number of tokens '
        'allowed (4096)."}}',
    ]
    for body in bodies:
        verdict = classify(make_answer(status=400, body=body))
        assert verdict.subcode == "context_length"
        assert "5000" in verdict.message, body
        assert "4096" in verdict.message


def test_max_tokens_too_large(make_answer: Make) -> None:
    body = (
        '{"error":{"message":"max_tokens is too large: 100000. This model supports at most 4096 '
        'completion tokens, whereas you provided 100000.","param":"max_tokens"}}'
    )
    verdict = classify(make_answer(status=400, body=body, max_tokens=100_000))
    assert verdict.message == "max_tokens 100000 is more than qwen3 gives: at most 4096."
    assert verdict.fixes[0] == "Lower --max-tokens to 4096 or less."


def test_login_token_used_as_a_key(make_answer: Make) -> None:
    key = KeyFacts("ANTHROPIC_API_KEY", 108, "has the form of a login token", kind="oauth")
    expired = classify(
        make_answer(status=401, body='{"error":{"message":"token expired"}}', key=key)
    )
    assert expired.subcode == "key_disabled"
    assert expired.fixes[0].startswith("Make an API key")
    wrong = classify(make_answer(status=401, body='{"error":{"message":"invalid"}}', key=key))
    assert wrong.subcode == "invalid_key"
    assert "OAuth" in wrong.message


def test_key_of_another_provider(make_answer: Make) -> None:
    key = KeyFacts("OPENROUTER_API_KEY", 73, belongs_to="OpenRouter")
    verdict = classify(
        make_answer(
            url="https://api.openai.com/v1/chat/completions", status=401, body="{}", key=key
        )
    )
    assert "OpenRouter" in verdict.message
    assert "OpenAI" in verdict.message


def test_model_with_the_nearest_on_offer(make_answer: Make) -> None:
    verdict = classify(
        make_answer(
            status=404,
            body='{"error":{"code":"model_not_found","message":"no"}}',
            model="qwen-3",
            models_offered=("llama3", "qwen3"),
        )
    )
    assert verdict.message.endswith("the nearest it offers is qwen3.")
    assert verdict.fixes[0] == "Use --model qwen3"


def test_aliases_from_the_message(make_answer: Make) -> None:
    body = '{"error":{"message":"The model `x` does not exist. Valid aliases: qwen3."}}'
    assert "it offers qwen3" in classify(make_answer(status=404, body=body)).message


def test_error_body_in_a_200(make_answer: Make) -> None:
    """What makes other clients fail with "reading choices"."""
    verdict = classify(make_answer(status=200, body='{"error":{"message":"upstream broke"}}'))
    assert verdict.message.endswith("upstream broke")


def test_content_filter_names_its_category(make_stream: Make) -> None:
    evidence = make_stream(finish_reason="content_filter", filter_categories=("violence",))
    assert "violence" in classify(evidence).message


def test_wait_is_said(make_answer: Make) -> None:
    verdict = classify(make_answer(status=429, headers={"retry-after": "17"}, body=""))
    assert verdict.retry_after_s == 17.0
    assert "17 s" in verdict.message


# --- hints ----------------------------------------------------------------------------------------


def test_hints_name_every_oddity_once(make_stream: Make) -> None:
    evidence = make_stream(cumulative=True, buffered=True)
    found = [hint.subcode for hint in hints_for(evidence)]
    assert found == ["cumulative_deltas", "buffered_transport"]
    assert [hint.subcode for hint in classify(evidence).hints] == found


def test_outcome_keeps_the_hints_of_the_transport(make_stream: Make) -> None:
    verdict = classify(make_stream(finish_reason="length", buffered=True))
    assert [hint.subcode for hint in verdict.hints] == ["buffered_transport"]


def test_a_plain_answer_has_no_hints(make_stream: Make) -> None:
    assert classify(make_stream()).hints == ()


# --- nothing secret, nothing a terminal obeys -----------------------------------------------------

SECRET = "sk-live-" + "Zq9" * 12


def test_texts_are_sanitised_and_free_of_secrets(make_answer: Make) -> None:
    nasty = f"\\u001b]0;owned\\u0007\\u202e key {SECRET} Authorization: Bearer {SECRET} \\n[red]"
    for status in (400, 401, 403, 404, 429, 500, 503):
        evidence = make_answer(
            status=status,
            body=f'{{"error":{{"message":"{nasty}","code":"{SECRET}","type":"\\u001b[31m"}}}}',
            model="m\x1b[2J",
            headers={"location": f"https://u:{SECRET}@a/"},
        )
        verdict = classify(evidence)
        texts = (verdict.message, *verdict.fixes, verdict.code or "", verdict.type or "")
        for text in texts:
            assert SECRET not in text
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "\n" not in text


def test_server_text_is_cut(make_answer: Make) -> None:
    body = '{"error":{"message":"' + "long " * 2_000 + '"}}'
    assert len(classify(make_answer(status=400, body=body)).message) < 400


@pytest.mark.parametrize(
    ("origin", "told"),
    [("OPENAI_API_KEY", True), ("the demo", False), ("api_key_command of profile box", False)],
)
def test_a_wrong_key_says_where_the_right_one_goes(
    make_answer: Make, origin: str, told: bool
) -> None:
    answer = make_answer(
        status=401, body='{"error":{"message":"Wrong"}}', key=KeyFacts(origin=origin, length=8)
    )
    fixes = " ".join(classify(answer).fixes)
    assert (f"into {origin} and start kvtui again" in fixes) is told
