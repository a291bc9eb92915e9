"""Live caches that a log shows: which calls begin with a prefix, and what still lives."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stemcache.cli.prefix_live import Live, live_caches, matches
from stemcache.prompt.lock.portions import Pinned, pinned, portions_of_body
from stemcache.provider.book import load_book
from stemcache.trace.calls.open import open_calls
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.prompt.lock_portions import lock, portion

RULES, BOOK_TEXT = "Be kind. " * 900, "How we ship. " * 300
PREFIX = lock(portion("rules", RULES), portion("book", BOOK_TEXT))
TOOL = portion("tool:x", '{"name":"x"}', section=Section.TOOLS, kind=SpanKind.TOOL)
BOOK = load_book()


def chat(system: object, **more: object) -> dict[str, Any]:
    """A body for OpenAI."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Hi"}]
    return {"model": "gpt-4.1", "messages": messages, **more}


def blocks(*texts: str) -> list[dict[str, str]]:
    """Content as blocks."""
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize(
    ("system", "held"),
    [
        (blocks(RULES, BOOK_TEXT), True),
        (RULES + BOOK_TEXT, True),
        (f"{RULES}\n{BOOK_TEXT}", True),
        (f"{RULES}\n\n{BOOK_TEXT}\n\nYou speak with Ann.", True),
        (blocks(RULES, f"{BOOK_TEXT} Ann."), True),
        (blocks(RULES), False),
        (blocks(BOOK_TEXT, RULES), False),
        (blocks("Hello.", RULES, BOOK_TEXT), False),
        (f"{RULES}\n\n\n\n{BOOK_TEXT}", False),
        (RULES[1:] + BOOK_TEXT, False),
        ("", False),
    ],
)
def test_a_prefix_is_known_in_blocks_of_its_own_or_in_one_text(system: object, held: bool) -> None:  # noqa: FBT001
    """As renderers write it, from the very beginning."""
    assert matches(prompt_of(chat(system), Api.CHAT), PREFIX) is held


def test_a_body_is_known_by_its_roles_too() -> None:
    """As it was pinned."""
    body = chat(RULES)
    pin = pinned("a", portions_of_body({"messages": body["messages"][:1]}, Api.CHAT))
    assert matches(prompt_of(body, Api.CHAT), pin)
    assert not matches(prompt_of(chat("Other."), Api.CHAT), pin)


def test_tools_alone_are_never_known() -> None:
    """Each API has another form for them."""
    assert not matches(prompt_of(chat(RULES), Api.CHAT), lock(TOOL))
    assert matches(
        prompt_of(chat(f"{RULES}{BOOK_TEXT}"), Api.CHAT),
        lock(TOOL, portion("rules", RULES), portion("book", BOOK_TEXT)),
    )


def live(folder: Path, lines: Sequence[dict[str, Any]], pin: Pinned = PREFIX) -> tuple[Live, ...]:
    """What a log shows."""
    log = folder / "calls.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_calls([str(log)]) as calls:
        found = live_caches(calls, {"support": pin}, book=BOOK, provider=None, aliases={})
    return found["support"]


def call(time: float, *texts: str, key: str = "a", usage: object = None, **more: object) -> Any:
    """What `stemcache record` writes of a call to OpenAI."""
    messages = [{"role": "system", "content": blocks(RULES, BOOK_TEXT)}]
    messages += [
        {"role": role, "content": blocks(text)}
        for role, text in zip(("user", "assistant") * 9, texts, strict=False)
    ]
    return {
        "stemcache": 1,
        "time": time,
        "answered": time + 1,
        "ended": time + 2,
        "url": "https://api.openai.com/v1/chat/completions",
        "request": json.dumps(
            {"model": "gpt-4.1", "messages": messages, "prompt_cache_key": key, **more}
        ),
        "response": {"id": f"r{time}-{key}", "usage": usage},
        "status": 200,
    }


def test_caches_are_counted_by_what_keeps_them_apart(tmp_path: Path) -> None:
    """Model and routing key; calls of one place are one cache."""
    lines = [
        call(0, "one"),
        call(1, "two"),
        call(2, "three", key="b"),
        call(3, "four", model="gpt-4.1-mini"),
        {**call(4, "five"), "request": json.dumps(chat("Something else."))},
    ]
    found = {one.model: (one.caches, one.conversations) for one in live(tmp_path, lines)}
    assert found == {"gpt-4.1": (2, 3), "gpt-4.1-mini": (1, 1)}


def test_a_conversation_is_counted_once_with_its_latest_history(tmp_path: Path) -> None:
    """However many turns it had; a fork is another."""
    usage = {"prompt_tokens": PREFIX.tokens + 700, "completion_tokens": 3}
    lines = [
        call(0, "one"),
        call(1, "one", "first", "two"),
        call(2, "one", "first", "two", "second", "three", usage=usage),
        call(3, "one", "first", "other"),
    ]
    (found,) = live(tmp_path, lines)
    assert found.conversations == 2
    assert 700 <= found.history_tokens <= 720


def test_what_was_not_used_for_its_time_to_live_is_gone(tmp_path: Path) -> None:
    """Counted back from the end of the log."""
    (ttl,) = {one.high_s for one in BOOK.rule("openai-pre-5.6").ttls[:1]}
    lines = [call(0, "one", key="old"), call(ttl + 10, "two", key="new")]
    (found,) = live(tmp_path, lines)
    assert (found.caches, found.conversations) == (1, 1)
    near = [call(0, "one", key="old"), call(ttl - 10, "two", key="new")]
    assert live(tmp_path, near)[0].caches == 2


def test_without_times_all_may_live(tmp_path: Path) -> None:
    """Nothing says otherwise."""
    lines = [chat(blocks(RULES, BOOK_TEXT), prompt_cache_key=key) for key in "abc"]
    assert live(tmp_path, lines)[0].caches == 3


def test_a_log_without_the_prefix_shows_nothing(tmp_path: Path) -> None:
    """Nor do calls that failed."""
    assert live(tmp_path, [chat("Something else.")]) == ()
    failed = {**call(0, "one"), "status": 500}
    assert live(tmp_path, [failed, chat("Something else.")]) == ()
