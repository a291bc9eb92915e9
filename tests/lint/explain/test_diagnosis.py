from typing import Any

import pytest

from stemcache.lint.explain.diagnosis import Diagnosis, read_diagnosis
from tests.lint.explain.requests import changed, explained, shown
from tests.lint.logs import anthropic, tool

BODY = anthropic(3)
SYSTEM = changed(BODY, "system", 0, "text", to="Other words. " * 2_000)
TOOLS = changed(BODY, "tools", 0, to=tool("other"))
HISTORY = changed(BODY, "messages", 0, "content", 0, "text", to="What else is there?")
GPT: dict[str, Any] = {
    "model": "gpt-5.6",
    "instructions": "You help. " * 2_000,
    "input": [{"role": "user", "content": "Where is it?"}],
}


def miss(type: str) -> dict[str, Any]:  # noqa: A002
    """What Anthropic answers."""
    return {"cache_miss_reason": {"type": type, "cache_missed_input_tokens": 12_000}}


def openai(reason: str) -> dict[str, Any]:
    """What OpenAI answers."""
    return {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": 900,
        "comparison_reusable_tokens": 5_000,
    }


@pytest.mark.parametrize(
    ("new", "said", "verdict", "pointer"),
    [
        (TOOLS, "tools_changed", "agrees", "/tools/0"),
        (SYSTEM, "system_changed", "agrees", "/system/0/text"),
        (HISTORY, "messages_changed", "agrees", "/messages/0/content/0/text"),
        (changed(BODY, "model", to="claude-opus-4-8"), "model_changed", "agrees", "/model"),
        (changed(BODY, "tool_choice", to={"type": "any"}), "unavailable", "agrees", "/tool_choice"),
        (SYSTEM, "tools_changed", "differs", "/system/0/text"),
        (BODY, "messages_changed", "bytes-equal", None),
        (BODY, "model_changed", "bytes-equal", None),
        (BODY, "previous_message_not_found", "unknown", None),
        (BODY, "unavailable", "unknown", None),
        (BODY, "moon_changed", "unknown", None),
    ],
)
def test_what_the_provider_says_is_put_beside_the_bytes(
    new: dict[str, Any], said: str, verdict: str, pointer: str | None
) -> None:
    """The bytes name the place, or that there is none."""
    found = explained(BODY, new, new_call={"diagnostics": miss(said)}).diagnosis
    assert found is not None
    assert found.said == Diagnosis(
        vendor="anthropic", reason=said, missed_tokens=12_000, reusable_tokens=None
    )
    assert (found.verdict, (found.pointer or "").startswith(pointer or "")) == (verdict, True)
    assert found.sentence.startswith(f"the provider says {said}")


@pytest.mark.parametrize(
    ("way", "value", "said", "pointer"),
    [
        (("instructions",), "Other. " * 2_000, "input_changed", "/instructions"),
        (("model",), "gpt-6.1-sol", "model_changed", "/model"),
        (("prompt_cache_key",), "k2", "prompt_cache_key_changed", "/prompt_cache_key"),
        (("reasoning",), {"effort": "high"}, "reasoning_effort_changed", "/reasoning/effort"),
        (("text",), {"verbosity": "low"}, "verbosity_changed", "/text/verbosity"),
        (("text",), {"format": {"type": "json_object"}}, "text_format_changed", "/text/format"),
        (("service_tier",), "flex", "service_tier_changed", "/service_tier"),
    ],
)
def test_openai_names_parameters(way: tuple[str], value: Any, said: str, pointer: str) -> None:
    """Which are found where they stand."""
    new = changed(GPT, *way, to=value)
    found = explained(GPT, new, new_call={"diagnostics": openai(said)}).diagnosis
    assert found is not None
    assert (found.verdict, found.pointer) == ("agrees", pointer)
    assert (found.said.vendor, found.said.reusable_tokens) == ("openai", 5_000)


def test_a_comparison_with_another_answer_is_told() -> None:
    """Where the request names one that is not the first request's."""
    told = explained(
        BODY,
        BODY,
        old_call={"id": "msg_1"},
        new_call={"previous_id": "msg_0", "diagnostics": miss("messages_changed")},
    )
    assert told.diagnosis is not None
    assert told.diagnosis.sentence == (
        "the provider says messages_changed, the bytes are equal: it was asked to compare with an "
        "answer that is not the first request's"
    )


def test_its_count_stands_beside_ours() -> None:
    """On the page."""
    page = shown(explained(BODY, TOOLS, new_call={"diagnostics": miss("tools_changed")}))
    assert "diagnosis: the provider says tools_changed; the bytes agree: /tools/0" in page
    assert "by its count 12,000 tokens missed; by the rule" in page


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"cache_miss_reason": "tools_changed"}, "tools_changed"),
        ({"type": "cache_hit"}, "cache_hit"),
        ({"type": "cache_miss"}, "cache_miss"),
        ({"type": "cache_miss", "reasons": ["input_changed", "x"]}, "input_changed"),
        ({"type": "cache_miss", "reason": {"type": "input_changed"}}, "input_changed"),
        ({"type": "comparison_response_not_found"}, "comparison_response_not_found"),
    ],
)
def test_forms_of_the_word(given: dict[str, Any], reason: str) -> None:
    """Of several reasons the first."""
    found = read_diagnosis(given)
    assert found is not None
    assert found.reason == reason


@pytest.mark.parametrize(
    "given",
    [
        None,
        "x",
        [],
        {},
        {"cache_miss_reason": None},
        {"cache_miss_reason": {"type": "Where is my order?"}},
        {"cache_miss_reason": {"type": "x" * 61}},
        {"type": 5},
        {"type": "", "reasons": []},
    ],
)
def test_what_is_no_word_of_a_provider_is_left_out(given: object) -> None:
    """A text could be a prompt's."""
    assert read_diagnosis(given) is None


@pytest.mark.parametrize("count", [True, -1, "12", 1.5, 10**12, None])
def test_counts_that_are_none_are_unknown(count: object) -> None:
    """And not zero."""
    found = read_diagnosis(
        {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": count}}
    )
    assert found is not None
    assert found.missed_tokens is None


def test_a_hit_agrees_with_equal_bytes() -> None:
    """And is put beside what differs."""
    found = explained(GPT, GPT, new_call={"diagnostics": {"type": "cache_hit"}}).diagnosis
    assert found is not None
    assert found.verdict == "agrees"
    other = changed(GPT, "instructions", to="Other. " * 2_000)
    found = explained(GPT, other, new_call={"diagnostics": {"type": "cache_hit"}}).diagnosis
    assert found is not None
    assert (found.verdict, found.pointer) == ("differs", "/instructions")
