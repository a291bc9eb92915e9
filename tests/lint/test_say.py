"""Causes that are no change of content, in words: what is shown, grouped, and kept back."""

from dataclasses import replace
from typing import Any

import pytest

from stemcache.lint.cause import Cause
from stemcache.lint.finding import Severity
from stemcache.lint.helped import helped
from stemcache.lint.keys import KeyChange, KeyValue
from stemcache.lint.placement import Fault, Misplaced
from stemcache.lint.refusals import Refusal
from stemcache.lint.say import (
    extended_cause,
    key_cause,
    misplaced_cause,
    odd_cause,
    refusal_cause,
    timing_cause,
    unread_cause,
)
from stemcache.lint.timing import Label
from stemcache.provider.rule import Key, Range, Rule
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api
from stemcache.wire.section import Section

RULE = Rule(
    name="anthropic",
    provider="anthropic",
    kind="markers",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(1_024, 1_024, 1_024, ()),
    most_markers=4,
    look_back=20,
    write_factor={},
    read_factor=0.1,
)
PROMPT = prompt_of(
    {
        "system": [{"type": "text", "text": "You help."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "secret"}]},
            {"role": "user", "content": [{"type": "text", "text": "secret"}] * 3},
        ],
    },
    Api.MESSAGES,
)
CALL = Call(place=Place("log.jsonl", 1), api=Api.MESSAGES, body=None, fidelity=Fidelity.WIRE)
CHOICE = Key(("/tool_choice",), "tool_choice", Section.MESSAGES)


def _timing(label: Label, call: Call = CALL, **words: str) -> Cause:
    return timing_cause(label, call, words)


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [
        ("no-marker", "STM403", "no-marker"),
        ("look-back", "STM401", "look-back"),
        ("marker-placement", "STM402", "marker-placement"),
        ("frozen-markers", "STM410", "frozen-markers"),
        ("below-minimum", "STM406", "below-minimum"),
    ],
)
def test_fault_of_markers(fault: Fault, code: str, kind: str) -> None:
    """Each has its rule; the block is pointed to, and numbers make no other finding."""
    found = misplaced_cause(Misplaced(fault, 4, 700, "what is wrong"), RULE, PROMPT)
    assert (found.rule.code, found.kind, found.message) == (code, kind, "what is wrong")
    assert found.pointer == "/messages/1/content/2"
    assert found.group == "/messages/*/content/*"
    assert "secret" not in repr(found)
    assert found.rule.help.format_map(dict(found.fields))


def test_help_below_the_minimum_speaks_of_markers_where_there_are_any() -> None:
    """A provider that keeps prefixes by itself has none that could be left out."""
    fault = Misplaced("below-minimum", 4, 700, "what is wrong")
    marked = helped(misplaced_cause(fault, RULE, PROMPT))
    plain = helped(misplaced_cause(fault, replace(RULE, kind="units"), PROMPT))
    assert marked.startswith("The provider keeps nothing below 1,024 tokens for this model, ")
    assert plain.startswith("The provider keeps nothing below 1,024 tokens for this model, ")
    assert "leave the marker out" in marked
    assert "marker" not in plain


def test_refusal_is_an_error() -> None:
    """Grouped by the place of its marker, whatever its number."""
    refusal = Refusal("too-many-markers", "/tools/7/cache_control", "5 markers, 4 are allowed")
    found = refusal_cause(refusal, RULE)
    assert (found.rule.code, found.rule.worst) == ("STM404", Severity.ERROR)
    assert found.message == "5 markers, 4 are allowed"
    assert found.pointer == "/tools/7/cache_control"
    assert found.group == "anthropic /tools/*/cache_control"
    other = refusal_cause(replace(refusal, pointer="/tools/9/cache_control"), RULE)
    assert other.group == found.group
    order = refusal_cause(replace(refusal, fault="ttl-order"), RULE)
    assert order.rule.code == "STM405"


@pytest.mark.parametrize(
    ("before", "after"), [(b"", b'"any"'), (b'"any"', b""), (b'"any"', b'"none"')]
)
def test_parameter_that_changed(before: bytes, after: bytes) -> None:
    """It is named by its name; its value is for those who ask for texts."""
    values = [KeyValue(CHOICE, "/tool_choice", spelt) for spelt in (before, after)]
    found = key_cause(KeyChange(values[0], values[1], 3), RULE)
    assert (found.rule.code, found.kind) == ("STM501", "parameter:tool_choice")
    told = "tool_choice has another value, and all from messages on is keyed by it"
    assert found.message == told
    assert found.pointer == "/tool_choice"
    assert found.old == (f"value, {len(before)} bytes" if before else "absent, or the default")
    assert found.new == (f"value, {len(after)} bytes" if after else "absent, or the default")
    assert (found.old_text, found.new_text) == (before.decode(), after.decode())


def test_value_of_a_parameter_is_bounded() -> None:
    """A schema may be as long as a prompt, and may be cut within a character."""
    long = KeyValue(CHOICE, "/tool_choice", ("é" * 50_000).encode()[1:])
    found = key_cause(KeyChange(long, long, 0), RULE)
    assert len(found.old_text) == len(found.new_text) == 4_096


def test_block_that_goes_on() -> None:
    """The child's block is pointed to."""
    found = extended_cause(PROMPT, 1, RULE)
    assert (found.rule.code, found.pointer) == ("STM409", "/messages/0/content/0")
    assert found.group == "/messages/*/content/*"


@pytest.mark.parametrize(
    ("label", "code", "message"),
    [
        ("expired", "STM601", "it came 20 min after the last use, and is kept for 5m"),
        (
            "raced",
            "STM602",
            "it began while the call that would have written the prefix was still running",
        ),
        ("routed", "STM603", "the prefix was written under another prompt_cache_key"),
        (
            "marker-dropped",
            "STM407",
            "markers were sent, but usage shows neither a write nor a read",
        ),
        (
            "unexplained",
            "STM702",
            "nothing in the log says why the provider did not read what it should hold",
        ),
    ],
)
def test_label_in_words(label: Label, code: str, message: str) -> None:
    """With what the log shows of it; the finding is of the call, and of no place in it."""
    found = _timing(label, gap="20 min", ttl="5m", routing="prompt_cache_key")
    assert (found.rule.code, found.message, found.pointer, found.group) == (code, message, "", "")


def test_label_without_evidence_still_is_a_sentence() -> None:
    """A log may show that something expired, and not for how long it was kept."""
    assert _timing("expired").message == "it came too long after the last use, and is kept for less"
    assert _timing("routed").message == "the prefix was written under another host or key"


@pytest.mark.parametrize(
    ("diagnostics", "said"),
    [
        ({"cache_miss_reason": {"type": "messages_changed"}}, "messages_changed"),
        ({"cache_miss_reason": "model_changed"}, "model_changed"),
        ({"type": "system_changed"}, "system_changed"),
        ({"cache_miss_reason": {"type": "secret text of a prompt"}}, ""),
        ({"cache_miss_reason": {"type": "a" * 61}}, ""),
        ({"cache_miss_reason": {"type": 7}}, ""),
        ({"cache_miss_reason": None}, ""),
        ({"cache_miss_reason": {}}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_provider_s_own_word(diagnostics: Any, said: str) -> None:
    """A word is quoted and tells findings apart; what is no word is not let through."""
    found = _timing("unexplained", replace(CALL, diagnostics=diagnostics))
    assert found.group == said
    assert ("the provider says" in found.message) is bool(said)
    assert said in found.message
    assert "secret" not in repr(found)


def test_provider_s_word_explains_no_other_label() -> None:
    """What the log shows by itself needs no word for it."""
    call = replace(CALL, diagnostics={"type": "system_changed"})
    assert _timing("raced", call).group == ""
    assert "system_changed" not in _timing("raced", call).message


def test_usage_that_cannot_be_right() -> None:
    """One finding a sentence."""
    found = odd_cause("more was read than sent")
    assert (found.rule.code, found.message) == ("STM701", "more was read than sent")
    assert found.group == "more was read than sent"


def test_write_that_nobody_reads() -> None:
    """By section and lifetime."""
    found = unread_cause("/messages", "1h")
    assert (found.rule.code, found.pointer, found.group) == ("STM408", "/messages", "/messages 1h")
    assert found.message == "most of what is written here for 1h is never read"
    assert unread_cause("/messages", "5m").group != found.group
