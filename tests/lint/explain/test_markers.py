from typing import Any

from tests.lint.explain.requests import explained, shown
from tests.lint.logs import anthropic, prose

SYSTEM = f"Now: 2026-11-30T05:14:01Z\nYou help.\n{prose(3_000, 7)}"
LATER = SYSTEM.replace("14:01", "14:31")


def test_what_each_marker_found_is_told() -> None:
    """With the length of the prefix, or why it found nothing."""
    told = explained(anthropic(3), anthropic(4))
    markers = told.cache.markers
    assert [one.pointer for one in markers] == ["/system/0", "/messages/6/content/0"]
    assert [one.found for one in markers] == ["/system/0", "/messages/4/content/0"]
    assert markers[1].found_tokens == told.reading.predicted_tokens
    told = explained(anthropic(3, system=SYSTEM), anthropic(4, system=LATER))
    assert [one.found for one in told.cache.markers] == [None, None]
    assert "/system/0/text" in told.cache.markers[0].note


def test_a_marker_that_looks_back_too_little_says_how_far_the_entry_is() -> None:
    """In blocks."""
    old = anthropic(2)
    new = anthropic(2)
    del new["messages"][-1]["content"][0]["cache_control"]
    for turn in range(24):
        role = "assistant" if turn % 2 == 0 else "user"
        text = f"step {turn} {prose(40, turn)}"
        new["messages"].append({"role": role, "content": [{"type": "text", "text": text}]})
    new["messages"][-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    told = explained(old, new)
    assert told.differences[0].kind == "look-back"
    assert not told.differences[0].content
    assert told.cache.markers[-1].note == (
        "the nearest entry is 24 blocks back, at /messages/2/content/0"
    )


def test_below_the_minimum_nothing_is_kept() -> None:
    """Which is said of the marker, and of the whole."""
    body = {
        "model": "claude-opus-5",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Hello?"}],
    }
    told = explained(body, body)
    assert told.differences[0].kind == "below-minimum"
    assert not told.costs
    assert told.cache.markers[0].note.endswith("below the minimum, so that A left nothing")


def chat56(turns: int, system: str) -> dict[str, Any]:
    """A body under OpenAI's rule of breakpoints."""
    messages = [{"role": "system", "content": system}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} {prose(90, turn)}"})
        messages.append({"role": "assistant", "content": f"answer {turn} {prose(90, turn + 50)}"})
    return {"model": "gpt-5.6", "messages": messages[:-1]}


def test_the_furthest_breakpoint_is_told() -> None:
    """Where a cache is read at ends of messages, markers or none."""
    told = explained(chat56(2, SYSTEM), chat56(3, SYSTEM))
    assert told.cache.kind == "breakpoints"
    assert told.cache.markers == ()
    assert told.cache.found == "/messages/3"
    assert "furthest breakpoint found: /messages/3" in shown(told)
    told = explained(chat56(2, SYSTEM), chat56(3, LATER))
    assert told.cache.found is None
    assert "furthest breakpoint found: none" in shown(told)


def test_a_request_without_markers_says_so() -> None:
    """On the page."""
    body = {
        "model": "claude-opus-5",
        "max_tokens": 1,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": "?"}],
    }
    assert "B has no markers" in shown(explained(body, body))


def test_no_more_markers_are_looked_at_than_a_page_holds() -> None:
    """However many there are: each costs a pass over the prompt."""
    body = anthropic(40)
    for message in body["messages"]:
        message["content"][0]["cache_control"] = {"type": "ephemeral"}
    told = explained(body, body)
    assert len(told.cache.markers) == 12
    assert told.refusals[0].code == "STM404"
