import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.explain_change import explain
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.divergence.change import ChangeKind
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.changes import edited, pair_of, span

CASES = Path(__file__).parents[3] / "shared" / "cases"


def _explained(parent: dict[str, Any], child: dict[str, Any], api: Api) -> list[Cause]:
    old, new = prompt_of(parent, api), prompt_of(child, api)
    call = Call(place=Place("log.jsonl", 1), api=api, body=child, fidelity=Fidelity.WIRE)
    divergence = compare(old, new)
    pair = Pair(child=new, parent=old, divergence=divergence, child_call=call, parent_call=call)
    return [explain(change, pair) for change in divergence.changes]


SYSTEM = "You are a support assistant.\n" + "Error invoice escalation device token panel. " * 20


def _turns(count: int, start: int = 0) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    names = ("question", "answer")
    return [
        {"role": roles[i % 2], "content": f"{names[i % 2]} {i // 2}: Signal launch region {i}."}
        for i in range(start, count)
    ]


def _chat(system: str, turns: list[dict[str, str]]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "system", "content": system}, *turns]}


def test_a_timestamp_is_a_clock_at_its_seconds() -> None:
    """Pointer and character are those of the change, the shape that of the whole time."""
    (cause,) = _explained(
        _chat(f"Current time: 2026-11-30T05:14:01Z\n{SYSTEM}", _turns(7)),
        _chat(f"Current time: 2026-11-30T05:14:31Z\n{SYSTEM}", _turns(9)),
        Api.CHAT,
    )
    assert (cause.kind, cause.pointer, cause.char) == ("clock", "/messages/0/content", 31)
    assert (cause.old, cause.new) == ("ISO time, 20 chars", "ISO time, 20 chars")
    assert dict(cause.fields) == {"what": "ISO time", "where": "in the system prompt"}
    assert (cause.old_text, cause.new_text) == ("2026-11-30T05:14:01Z", "2026-11-30T05:14:31Z")


def test_a_history_that_lost_its_front_is_truncated() -> None:
    """One cause, at the message that now stands first."""
    (cause,) = _explained(_chat(SYSTEM, _turns(11)), _chat(SYSTEM, _turns(13, 4)), Api.CHAT)
    assert (cause.kind, cause.pointer) == ("history-truncated", "/messages/1")
    assert cause.message == "the oldest 4 messages were removed"


def test_one_letter_of_the_first_message_is_an_edit() -> None:
    """Another case is another text."""
    turns = _turns(9)
    turns[0] = {"role": "user", "content": turns[0]["content"].replace("question", "Question")}
    (cause,) = _explained(_chat(SYSTEM, _turns(7)), _chat(SYSTEM, turns), Api.CHAT)
    assert (cause.kind, cause.pointer, cause.char) == ("history-edited", "/messages/1/content", 0)


def test_occurrences_in_other_messages_are_of_one_group() -> None:
    """Ages that are rendered anew in every message are one cause."""
    old, new = _turns(9), _turns(9)
    for i in range(0, 6, 2):
        old[i]["content"] += f" (sent {i + 2} minutes ago)"
        new[i]["content"] += f" (sent {i + 3} minutes ago)"
    causes = _explained(_chat(SYSTEM, old), _chat(SYSTEM, new), Api.CHAT)
    assert [cause.kind for cause in causes] == ["clock", "clock", "clock"]
    assert len({cause.group for cause in causes}) == 1


@pytest.mark.parametrize("kind", list(ChangeKind))
@pytest.mark.parametrize("section", list(Section))
@pytest.mark.parametrize("sides", ["both", "before", "after", "none"])
def test_every_change_has_a_cause(kind: ChangeKind, section: Section, sides: str) -> None:
    """Also of kinds, sections and sides that no comparison puts together."""
    for span_kind in SpanKind:
        one = span('{"a":1}', 1, section=section, kind=span_kind)
        change = replace(edited(one, one, old_text="a", new_text="b", char=0), kind=kind)
        if sides in {"after", "none"}:
            change = replace(change, before=(), old="")
        if sides in {"before", "none"}:
            change = replace(change, after=(), new="", char=None)
        cause = explain(change, pair_of([one], [one], change))
        assert cause.rule.kind == cause.kind
        assert cause.group and cause.message and len(cause.message) <= 100


def test_changes_that_lie_about_their_places_raise_nothing() -> None:
    """Numbers beyond the prompts, characters beyond the text, empty prompts."""
    one = span("text", 1)
    for index in (-5, 0, 3, 10**9):
        for kind in ChangeKind:
            change = replace(
                edited(one, one, old_text="a" * 50, new_text="", char=10**9),
                kind=kind,
                before_index=index,
                after_index=index,
            )
            for spans in ((), (one,), (one, one, one)):
                explain(change, pair_of(spans, spans, change))


_VALUES: list[Any] = [
    *(None, True, 0, -1.5, 10**400, "", "x", "\ud800", "2026-11-30T05:14:01Z", [], {}, [[]]),
    {"type": "text", "text": "hello 3 minutes ago"},
    {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}},
    {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "[truncated]"}],
    },
    {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1, "a": 2}},
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"role": "user", "content": "session=9f86d081"},
    {"role": "assistant", "content": [], "tool_calls": [{"function": {"arguments": '{"a":1}'}}]},
]


def _mutated(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.12:
        return chance.choice(_VALUES)
    if isinstance(value, dict):
        items = [(key, _mutated(member, chance)) for key, member in value.items()]
        if chance.random() < 0.2:
            chance.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        items = [_mutated(item, chance) for item in value if chance.random() > 0.1]
        if items and chance.random() < 0.2:
            chance.shuffle(items)
        return items
    if isinstance(value, str) and value and chance.random() < 0.3:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(["", " ", "05:14", "\n", "é", value]) + value[at:]
    return value


@pytest.mark.parametrize("api", [Api.CHAT, Api.MESSAGES])
def test_any_two_bodies_are_explained_or_refused_as_bodies(api: Api) -> None:
    """Bodies with the wrong types at any place lead to causes, not to errors."""
    body = {
        "model": "m",
        "system": [{"type": "text", "text": SYSTEM}],
        "tools": [{"name": "f", "description": "d", "input_schema": {"properties": {"a": {}}}}],
        "messages": [
            *_turns(3),
            {"role": "assistant", "content": [_VALUES[15], _VALUES[16]]},
            {"role": "user", "content": [_VALUES[14], _VALUES[13], _VALUES[12]]},
        ],
    }
    chance = random.Random(11)
    explained = 0
    for _ in range(150):
        parent, child = _mutated(body, chance), _mutated(body, chance)
        try:
            explained += len(_explained(parent, child, api))
        except BadBodyError:
            continue
    assert explained > 200


def test_many_changes_in_long_texts_take_no_long_time() -> None:
    """As many edits of times as are told apart, in a text of a megabyte."""
    lines = [f"{i:06d} at 2026-11-30T05:{i % 60:02d}:01Z " + "word " * 80 for i in range(2000)]
    old = "\n".join(lines)
    new = "\n".join(
        line.replace(":01Z", ":31Z") if i % 9 == 0 else line for i, line in enumerate(lines)
    )
    begin = time.process_time()
    causes = _explained(_chat(old, _turns(3)), _chat(new, _turns(5)), Api.CHAT)
    assert {cause.kind for cause in causes} == {"clock"}
    assert len(causes) > 50
    assert time.process_time() - begin < 10


@pytest.mark.skipif(not CASES.exists(), reason="the request sequences are not beside this checkout")
@pytest.mark.parametrize("api", [Api.MESSAGES, Api.CHAT])
def test_sequences_of_known_cause(api: Api) -> None:
    """Of each pair that differs in content, the cause that is known."""
    folder = CASES / ("anthropic" if api is Api.MESSAGES else "openai")
    known = {
        "01_timestamp": "clock",
        "02_tools_reordered": "tool-order",
        "05_billing_header_block": "injected-id",
        "06_history_truncated": "history-truncated",
        "25_history_edit": "history-edited",
        "00_clean_append": None,
        "27_benign_params": None,
    }
    for name, kind in known.items():
        bodies = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        causes = _explained(bodies[0], bodies[1], api)
        assert [cause.kind for cause in causes] == ([] if kind is None else [kind]), name
