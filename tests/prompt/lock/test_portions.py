"""What is pinned of a prefix."""

import json
from dataclasses import replace
from hashlib import sha256
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.lock.portions import (
    RUNGS,
    Portion,
    digest_of,
    estimated_tokens,
    in_order,
    pinned,
    portions_of_body,
    portions_of_text,
    rung,
    safe_name,
    version_of,
)
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.prompt.lock_portions import lock, portion, portions

RULES = portion("rules", "text")
TOOL = {"name": "search", "description": "find", "input_schema": {"type": "object"}}
BODY = {
    "model": "claude-opus-4-5",
    "max_tokens": 8,
    "tools": [TOOL],
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "Hello"}],
}


def test_equal_portions_are_pinned_alike_and_others_are_not() -> None:
    """Over random prefixes and edits of one character."""
    random = Random(1)
    for _ in range(100):
        given = portions(random)
        again = [replace(one) for one in given]
        assert pinned("a", given) == pinned("a", again)
        at = random.randrange(len(given))
        changed = [*given]
        changed[at] = replace(given[at], text=given[at].text + ".")
        assert pinned("a", given).digest != pinned("a", changed).digest


@pytest.mark.parametrize(
    "other",
    [
        replace(RULES, text="other"),
        replace(RULES, role="user"),
        replace(RULES, label="call_1"),
        replace(RULES, section=Section.MESSAGES),
        replace(RULES, kind=SpanKind.DOCUMENT),
    ],
)
def test_all_that_a_provider_sees_is_in_the_digest(other: Portion) -> None:
    """Role, label, section and kind beside the text."""
    assert digest_of(RULES) != digest_of(other)


def test_names_and_versions_are_in_no_digest() -> None:
    """No provider sees them."""
    one = portion("rules", "text")
    other = replace(one, name="principles", version="9", tokens=77)
    assert digest_of(one) == digest_of(other)
    assert lock(one).digest == lock(other).digest


def test_fields_cannot_run_into_each_other() -> None:
    """A label that moves into the text is another portion."""
    one = replace(portion("a", "bc"), label="a")
    other = replace(portion("a", "c"), label="ab")
    assert digest_of(one) != digest_of(other)


def test_the_order_of_portions_is_in_the_digest_but_not_that_of_sections() -> None:
    """A lock has one order of sections; within one, what stands first is read first."""
    rules, book = portion("rules", "a"), portion("book", "b")
    tool = portion("tool:x", "{}", section=Section.TOOLS)
    assert lock(rules, book).digest != lock(book, rules).digest
    assert lock(rules, tool) == lock(tool, rules)
    assert in_order((rules, tool), (Section.SYSTEM, Section.TOOLS)) == (rules, tool)


def test_rungs_are_the_digests_of_beginnings() -> None:
    """Made in one pass, as if each was made by itself; whatever characters there are."""
    random = Random(2)
    for _ in range(30):
        text = "".join(random.choices("aé木\n\ud800 ", k=random.randint(512, 3_000)))
        (one,) = lock(portion("a", text)).portions
        twin = [
            sha256(text[: i * len(text) // RUNGS].encode("utf-8", "surrogatepass")).hexdigest()[:8]
            for i in range(1, RUNGS)
        ]
        assert list(one.rungs) == twin
        assert one.rungs[3] == rung(text, 4 * len(text) // RUNGS)


def test_short_texts_have_no_rungs() -> None:
    """The portion is place enough."""
    assert lock(portion("a", "x" * 511)).portions[0].rungs == ()
    assert len(lock(portion("a", "x" * 512)).portions[0].rungs) == RUNGS - 1


def test_a_body_is_taken_apart_without_markers_and_parameters() -> None:
    """In the provider's order, with names that say where each stands."""
    found = portions_of_body(BODY, Api.MESSAGES)
    assert [one.name for one in found] == ["tool:search", "system/0", "messages/0"]
    assert [one.role for one in found] == ["", "system", "user"]
    bare = {**BODY, "system": [{"type": "text", "text": "Be kind."}], "max_tokens": 9}
    assert pinned("a", portions_of_body(bare, Api.MESSAGES)) == pinned("a", found)


def test_keys_of_a_body_count_in_the_order_that_they_have() -> None:
    """Since they are sent so."""
    turned = {**BODY, "tools": [dict(reversed(TOOL.items()))]}
    one, other = (pinned("a", portions_of_body(each, Api.MESSAGES)) for each in (BODY, turned))
    assert one.digest != other.digest


def test_a_body_of_another_api_is_an_error() -> None:
    """Which says for which API it was read."""
    with pytest.raises(UsageError, match=r"the body is no request for chat: .*; "):
        portions_of_body({"messages": 3}, Api.CHAT)


def test_a_text_is_a_system_prompt() -> None:
    """With tokens as counted by whoever can."""
    (one,) = portions_of_text("Be kind.", count=len)
    assert (one.section, one.tokens, one.name) == (Section.SYSTEM, 8, "text")


def test_tokens_are_a_quarter_of_the_bytes_and_at_least_one() -> None:
    """Of texts without any too."""
    assert [estimated_tokens(text) for text in ("", "abcd", "abcde", "木木")] == [1, 1, 2, 2]


def test_a_prefix_without_anything_stable_is_an_error() -> None:
    """It says what to give it."""
    with pytest.raises(UsageError, match="'a' has nothing stable in it; give its layout static"):
        pinned("a", [])


def test_the_version_is_given_or_made_of_the_segments() -> None:
    """Once a segment, however many parts it has."""
    parts = (
        portion("rules", "a", version="3"),
        portion("rules/1", "b", version="3"),
        portion("book", "c"),
        portion("law", "d", version="2026-11"),
    )
    assert version_of(parts) == "rules=3 law=2026-11"
    assert lock(*parts).version == "rules=3 law=2026-11"
    assert lock(*parts, version="7").version == "7"
    assert version_of(parts[2:3]) is None


def test_names_of_tools_that_cannot_stand_in_a_file_are_digests() -> None:
    """Equal ones for equal names."""
    assert safe_name("search_web") == "search_web"
    odd = safe_name('a"b\n')
    assert odd == safe_name('a"b\n') != safe_name('a"b')
    assert odd.isalnum()
    body = {**BODY, "tools": [{**TOOL, "name": "x]\n["}]}
    assert portions_of_body(body, Api.MESSAGES)[0].name == "tool:" + safe_name("x]\n[")


def test_portions_survive_json() -> None:
    """They come from another process."""
    one = portions_of_body(BODY, Api.MESSAGES)[0]
    fields = json.loads(json.dumps({**{k: getattr(one, k) for k in one.__slots__}}))
    again = Portion(**fields)
    assert digest_of(again) == digest_of(one)
