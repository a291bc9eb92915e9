import pytest

from stemcache.lint.intake import taken_in, usage_of
from stemcache.provider.book import load_book
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.wire.api import Api
from tests.lint.logs import anthropic, call, chat

BOOK = load_book()


def _taken(one: Call, provider: str | None = None, aliases: dict[str, str] | None = None) -> str:
    return taken_in(one, book=BOOK, provider=provider, aliases=aliases or {}).rule.name


def test_rule_is_told_by_the_model() -> None:
    """A bare body says enough."""
    assert _taken(call(anthropic(1), 1)) == "anthropic"
    assert _taken(call(chat(1), 1)) == "openai-pre-5.6"
    assert _taken(call(chat(1, model="gpt-6.1-sol"), 1)) == "openai-5.6"


def test_rule_of_an_unknown_model_is_none() -> None:
    """No minimum and no money are made up."""
    found = taken_in(call(chat(1, model="house-model"), 1), book=BOOK, provider=None, aliases={})
    assert (found.rule.name, found.price) == ("", None)
    assert found.prompt is not None


def test_alias_and_flag_name_what_the_log_does_not() -> None:
    """A gateway's own name for a model, and a server of one's own."""
    one = call(chat(1, model="house-model"), 1)
    assert _taken(one, aliases={"house-model": "gpt-5.5"}) == "openai-pre-5.6"
    assert _taken(one, provider="vllm") == "vllm"


def test_markers_choose_among_the_rules_of_one_provider() -> None:
    """Qwen keeps prefixes by itself, or at markers where a request has some."""
    body = chat(1, model="qwen3.7-max")
    plain = _taken(call(body, 1))
    text = body["messages"][0]["content"]
    part = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    body["messages"][0]["content"] = [part]
    assert _taken(call(body, 1)) != plain


def test_call_without_texts_has_no_prompt() -> None:
    """What was cut or replaced is not compared."""
    for fidelity in (Fidelity.TRUNCATED, Fidelity.REDACTED, Fidelity.USAGE_ONLY):
        one = call(chat(1), 1, fidelity=fidelity)
        assert taken_in(one, book=BOOK, provider=None, aliases={}).prompt is None


def test_body_that_is_no_request_is_told() -> None:
    """Nothing is guessed of it."""
    with pytest.raises(BadBodyError):
        taken_in(call({"model": "gpt-5.5"}, 1, api=Api.CHAT), book=BOOK, provider=None, aliases={})


def test_call_that_reports_nothing_has_unknown_usage() -> None:
    """Missing figures are unknown, never zero."""
    one = call(chat(1), 1)
    rule = taken_in(one, book=BOOK, provider=None, aliases={}).rule
    assert usage_of(one, rule).prompt_tokens is None
    reported = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}
    assert usage_of(call(chat(1), 1, usage=reported), rule).read_tokens == 4
