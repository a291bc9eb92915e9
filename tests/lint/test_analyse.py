"""What holds for every log: sums, bounds, and changes of a log that may change nothing.

Logs are put together by chance from a small pool of texts: two APIs, several providers, markers,
edits, moves and removals, with and without times and usage.
"""

import copy
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.lint.analyse import Analysis, analyse
from stemcache.lint.collect import Occurrence
from stemcache.lint.finding import Finding, Report, Severity
from stemcache.lint.log import Row
from stemcache.lint.options import Options
from stemcache.lint.room import RUNNING, Room
from stemcache.provider.book import load_book
from stemcache.trace.calls.call import Call, Fidelity, Place
from tests.lint.logs import TODAY, MemoryLog, anthropic, call, chat, lint, prose, tool

Body = dict[str, Any]

T0 = 1_800_000_000.0
FOR_A_LOG = Room()
POOL = [
    prose(words, seed) for seed, words in enumerate([3, 20, 60, 200, 600, 1_500, 300, 90, 700, 40])
]
CLAUDE = ["claude-opus-5", "claude-opus-4-5"]
OTHERS = ["gpt-5.5", "gpt-5.6", "deepseek-chat", "gemini-3.8-flash", "nobody-1", "qwen-max"]
PIECES = ["X", "  ", " 2026-11-30T09:15:02Z ", "7f3a9c1e-0000-4000-8000-0123456789ab", *POOL[:3]]
SEEDS = st.integers(0, 2**32)


def _block(chance: random.Random, marked: float) -> Body:
    block: Body = {"type": "text", "text": chance.choice(POOL)}
    if chance.random() < marked:
        block["cache_control"] = {"type": "ephemeral"}
        if chance.random() < 0.3:
            block["cache_control"]["ttl"] = chance.choice(["5m", "1h"])
    return block


def _messages(chance: random.Random, *, marked: float = 0.15) -> Body:
    body: Body = {"model": chance.choice(CLAUDE), "max_tokens": 9}
    if chance.random() < 0.7:
        body["tools"] = [tool(f"tool_{i}", i) for i in range(chance.randint(0, 4))]
    if chance.random() < 0.8:
        body["system"] = [_block(chance, 2 * marked) for _ in range(chance.randint(1, 3))]
    body["messages"] = [
        {
            "role": ("user", "assistant")[i % 2],
            "content": [_block(chance, marked) for _ in range(chance.randint(1, 3))],
        }
        for i in range(chance.choice([1, 3, 5, 7]))
    ]
    if chance.random() < 0.2 and marked:
        body["cache_control"] = {"type": "ephemeral"}
    return body


def _chat(chance: random.Random) -> Body:
    messages = [
        {"role": role, "content": chance.choice(POOL)}
        for role in ("system", "user", *("assistant", "user") * chance.randint(0, 3))
    ]
    body: Body = {"model": chance.choice(OTHERS), "messages": messages}
    if chance.random() < 0.4:
        body["tools"] = [
            {"type": "function", "function": {"name": f"f{i}", "description": POOL[i]}}
            for i in range(chance.randint(0, 4))
        ]
    return body


def _blocks(body: Body) -> list[Body]:
    """All that may be marked."""
    found = [*body.get("tools", ())]
    for content in [body.get("system", []), *(one["content"] for one in body["messages"])]:
        found += content if isinstance(content, list) else []
    return found


def _edit(chance: random.Random, body: Body) -> None:
    message = chance.choice(body["messages"])
    holder, name = message, "content"
    if isinstance(message["content"], list):
        holder, name = chance.choice(message["content"]), "text"
    text = holder[name]
    at = chance.randrange(len(text) + 1)
    holder[name] = text[:at] + chance.choice(PIECES) + text[at:]


def _grow(chance: random.Random, body: Body) -> None:
    listed = isinstance(body["messages"][-1]["content"], list)
    for role in ("assistant", "user"):
        text = chance.choice(POOL)
        content = [{"type": "text", "text": text}] if listed else text
        body["messages"].append({"role": role, "content": content})


def _shuffle_tools(chance: random.Random, body: Body) -> None:
    chance.shuffle(body.get("tools", []))


def _drop_tool(chance: random.Random, body: Body) -> None:
    if body.get("tools"):
        body["tools"].pop(chance.randrange(len(body["tools"])))


def _drop_message(chance: random.Random, body: Body) -> None:
    if len(body["messages"]) > 2:
        body["messages"].pop(chance.randrange(len(body["messages"])))


def _shuffle_messages(chance: random.Random, body: Body) -> None:
    chance.shuffle(body["messages"])


def _parameter(chance: random.Random, body: Body) -> None:
    name = chance.choice(["tool_choice", "temperature", "service_tier", "model"])
    values = [{"type": "any"}, {"type": "auto"}, "auto", None, 1]
    body[name] = chance.choice(CLAUDE + OTHERS if name == "model" else values)


def _clock(chance: random.Random, body: Body) -> None:
    if isinstance(body.get("system"), list):
        block = chance.choice(body["system"])
        block["text"] = f"It is 2026-11-30T09:{chance.randrange(60):02}:02Z\n{block['text']}"


def _remark(chance: random.Random, body: Body) -> None:
    for block in _blocks(body) if "max_tokens" in body else ():
        block.pop("cache_control", None)
        if chance.random() < 0.2:
            block["cache_control"] = {"type": "ephemeral"}


CHANGES: list[Callable[[random.Random, Body], None]] = [
    _edit,
    _edit,
    _grow,
    _grow,
    _shuffle_tools,
    _drop_tool,
    _drop_message,
    _shuffle_messages,
    _parameter,
    _clock,
    _remark,
]


def _usage(chance: random.Random, body: Body) -> Body:
    """Any figures that can be right."""
    prompt = max(1, round(len(json.dumps(body)) / 4 * chance.uniform(0.8, 1.3)))
    read = chance.choice([0, prompt, chance.randint(0, prompt)])
    written = chance.choice([0, prompt - read, chance.randint(0, prompt - read)])
    if "max_tokens" in body:
        return {
            "input_tokens": prompt - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": chance.randint(0, 500),
        }
    return {
        "prompt_tokens": prompt,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": read},
    }


def _log(seed: int, *, usage: float | None = None) -> list[Call]:
    chance = random.Random(seed)
    reports = chance.choice([0.0, 0.0, 0.5, 1.0]) if usage is None else usage
    timed = chance.choice([0.0, 1.0, 1.0, 0.7])
    calls: list[Call] = []
    bodies: list[Body] = []
    time_s = T0
    for line in range(1, chance.randint(2, 9)):
        if not bodies or chance.random() < 0.15:
            body = chance.choice([_messages, _chat])(chance)
        else:
            body = copy.deepcopy(chance.choice(bodies[-3:]))
            for _ in range(chance.choice([0, 1, 1, 2, 3])):
                chance.choice(CHANGES)(chance, body)
        bodies.append(body)
        time_s += chance.choice([0, 1, 5, 200, 400, 4_000, 100_000])
        others: dict[str, Any] = {"id": f"r{line}", "scope": chance.choice(["", "", "", "b"])}
        if chance.random() < timed:
            others["time_s"] = time_s
            others["answered_s"] = chance.choice([None, time_s + 0.125, time_s + 30])
            others["ended_s"] = chance.choice([None, time_s + 40])
        if chance.random() < reports:
            others.update(usage=_usage(chance, body), status=200)
        calls.append(call(body, line, **others))
    return calls


def _lint(calls: Sequence[Call], *, room: Room = FOR_A_LOG) -> tuple[Report, list[Row]]:
    rows: list[Row] = []
    report = analyse(MemoryLog(calls), options=Options(today=TODAY), on_row=rows.append, room=room)
    return report, rows


def _said(findings: Iterable[Finding]) -> list[object]:
    """All of a finding but the file."""
    return [
        (
            one.code,
            one.kind,
            one.severity,
            one.count,
            one.lost_tokens,
            None if one.cost_usd is None else round(one.cost_usd, 9),
            one.message,
            one.location.line,
            one.location.pointer,
            one.location.char,
            one.fingerprint,
        )
        for one in findings
    ]


def _of_rows(rows: Iterable[Row]) -> list[object]:
    return [
        (
            row.call.place.line,
            row.prompt_tokens,
            row.predicted_tokens,
            row.parts,
            [(loss.cause.kind, loss.cause.pointer, loss.tokens) for loss in row.losses],
        )
        for row in rows
    ]


@settings(max_examples=60)
@given(SEEDS)
def test_no_call_loses_more_than_it_did_not_read(seed: int) -> None:
    """What was read and what was lost are never more than the prompt."""
    _, rows = _lint(_log(seed))
    for row in rows:
        lost = sum(loss.tokens for loss in row.losses)
        assert all(loss.tokens > 0 or loss.needs for loss in row.losses)
        gap = sum(tokens for _, tokens in row.parts)
        read = row.reported_tokens
        if read is None:
            read = row.predicted_tokens - gap
        else:
            assert gap == max(0, row.predicted_tokens - read)
        assert 0 <= row.predicted_tokens <= row.prompt_tokens
        assert read + lost <= row.prompt_tokens


@settings(max_examples=60)
@given(SEEDS)
def test_sums_of_a_report_agree(seed: int) -> None:
    """Findings, trifles and calls lose the same; costs are part of the log's; rates are rates."""
    report, rows = _lint(_log(seed))
    total = report.total
    lost = sum(loss.tokens for row in rows for loss in row.losses)
    assert total.lost_tokens == lost
    left_out = [remark for remark in report.remarks if "left out: " in remark]
    trifles = sum(
        int(remark.split("left out: ")[1].split()[0].replace(",", "")) for remark in left_out
    )
    assert sum(one.lost_tokens for one in report.findings) + trifles == lost
    if total.input_cost_usd is not None:
        costs = sum(one.cost_usd or 0.0 for one in report.findings)
        assert costs <= total.input_cost_usd * (1 + 1e-9)
    found = report.reconciliation
    assert sum(found.remainder.values()) == found.predicted_tokens - found.reported_tokens
    assert found.calls == sum(row.reported_tokens is not None for row in rows)
    if total.hit_rate is not None:
        assert total.attainable_hit_rate is not None
        assert 0 <= total.hit_rate <= total.attainable_hit_rate <= 1


@settings(max_examples=30)
@given(seed=SEEDS, later_s=st.sampled_from([-1_048_576.0, 4_096.0, 33_554_432.0]))
def test_times_and_ids_are_only_compared(seed: int, later_s: float) -> None:
    """The same log an hour later, under other ids and in another file, has the same findings."""
    calls = _log(seed)
    moved = [
        replace(
            one,
            id=f"other-{one.id}",
            place=Place("other.jsonl", one.place.line),
            time_s=None if one.time_s is None else one.time_s + later_s,
            answered_s=None if one.answered_s is None else one.answered_s + later_s,
            ended_s=None if one.ended_s is None else one.ended_s + later_s,
        )
        for one in calls
    ]
    assert _said(_lint(moved)[0].findings) == _said(_lint(calls)[0].findings)


@settings(max_examples=30)
@given(SEEDS)
def test_order_of_a_body_s_own_keys_is_no_content(seed: int) -> None:
    """Whether the model or the messages come first in the JSON says nothing."""
    calls = _log(seed)
    chance = random.Random(seed)
    turned = []
    for one in calls:
        assert one.body is not None
        names = list(one.body)
        chance.shuffle(names)
        turned.append(replace(one, body={name: one.body[name] for name in names}))
    assert _said(_lint(turned)[0].findings) == _said(_lint(calls)[0].findings)


@settings(max_examples=30)
@given(seed=SEEDS, usage=st.sampled_from([0.0, 1.0]))
def test_other_tenants_change_nothing(seed: int, usage: float) -> None:
    """Their calls in between, of the same prompts, leave what is said of each call as it was."""
    calls = _log(seed, usage=usage)
    chance = random.Random(seed)
    mixed = []
    for one in calls:
        mixed.append(one)
        if chance.random() < 0.5:
            theirs = chance.choice(calls)
            line = 1_000 + len(mixed)
            place = Place("log.jsonl", line)
            mixed.append(
                replace(
                    theirs,
                    scope="theirs",
                    place=place,
                    id=f"their-{line}",
                    usage=None,
                    time_s=one.time_s,
                    answered_s=one.answered_s,
                    ended_s=one.ended_s,
                )
            )
    rows = [row for row in _lint(mixed)[1] if row.call.scope != "theirs"]
    assert _of_rows(rows) == _of_rows(_lint(calls)[1])


@settings(max_examples=30)
@given(SEEDS)
def test_markers_are_no_content(seed: int) -> None:
    """However they are moved, no rule of content speaks."""
    chance = random.Random(seed)
    bodies = [_messages(chance)]
    for _ in range(4):
        bodies.append(copy.deepcopy(bodies[0]))
        _remark(chance, bodies[-1])
    calls = [
        call(body, line, time_s=T0 + 10 * line, answered_s=T0 + 10 * line + 1)
        for line, body in enumerate(bodies)
    ]
    codes = {one.code[:4] for one in lint(calls).findings}
    assert codes.isdisjoint({"STM1", "STM2", "STM3", "STM5"})


@settings(max_examples=40)
@given(seed=SEEDS, timed=st.booleans())
def test_traffic_that_only_appends_never_warns(seed: int, *, timed: bool) -> None:
    """A conversation, marked at its end where that is needed; too short ones aside."""
    chance = random.Random(seed)
    body = chance.choice([lambda one: _messages(one, marked=0), _chat])(chance)
    if "max_tokens" in body:
        body["cache_control"] = {"type": "ephemeral"}
    bodies = [body]
    for _ in range(5):
        bodies.append(copy.deepcopy(bodies[-1]))
        for _ in range(chance.randint(0, 2)):
            _grow(chance, bodies[-1])
    calls = [
        call(
            one,
            line,
            **({"time_s": T0 + 10 * line, "answered_s": T0 + 10 * line + 1} if timed else {}),
        )
        for line, one in enumerate(bodies)
    ]
    found = [one.kind for one in lint(calls).findings if one.severity != "note"]
    assert set(found) <= {"below-minimum"}


# --- single calls ---------------------------------------------------------------------------------


def test_empty_log_has_nothing_to_say() -> None:
    """No calls, no findings, no remarks."""
    report = lint([])
    assert (report.findings, report.total.calls, report.remarks) == ((), 0, ())


def test_row_tells_what_is_said_of_a_call() -> None:
    """Its parent, its rule, and what it came to; bodies are not kept with it."""
    _, rows = _lint([call(anthropic(2), 1), call(anthropic(3), 2)])
    assert [row.parent for row in rows] == [None, Place("log.jsonl", 1)]
    assert [row.rule for row in rows] == ["anthropic", "anthropic"]
    assert rows[0].predicted_tokens == 0
    assert 0 < rows[1].predicted_tokens < rows[1].prompt_tokens
    assert rows[1].call.body is None
    assert rows[1].cost_usd is not None
    assert rows[1].losses == ()


def test_call_without_a_body_is_counted_and_not_judged() -> None:
    """Its usage and its money are in the sums."""
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 0,
        "output_tokens": 5,
    }
    calls = [
        replace(call(anthropic(1), line), body=None, fidelity=Fidelity.USAGE_ONLY, usage=usage)
        for line in (1, 2)
    ]
    report, rows = _lint(calls)
    assert rows == []
    assert (report.total.calls, report.total.prompt_tokens, report.total.read_tokens) == (
        2,
        2_000,
        1_800,
    )
    assert report.total.priced_calls == 2
    assert report.findings == ()


@pytest.mark.parametrize(
    "body",
    [{"messages": 7}, {"messages": []}, {"messages": [7]}, {"model": "claude-opus-5"}, {}],
    ids=["no list", "no messages", "no message", "no prompt", "nothing"],
)
def test_body_that_is_no_request_is_no_error(body: Body) -> None:
    """It is skipped or counted, and the next call is judged."""
    report, rows = _lint([replace(call(chat(1), 1), body=body), call(chat(2), 2)])
    assert report.total.calls == 2
    assert rows[-1].call.place.line == 2
    assert rows[-1].parent is None


def test_calls_are_judged_in_the_order_of_time() -> None:
    """A log that is written as calls end has later ones first."""
    calls = [
        call(chat(turns), line, time_s=T0 + 10 * turns, answered_s=T0 + 10 * turns + 1)
        for line, turns in enumerate((3, 1, 2), start=1)
    ]
    report, rows = _lint(calls)
    assert [row.call.place.line for row in rows] == [2, 3, 1]
    assert report.findings == ()


def test_parent_that_cannot_be_read_again_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe cannot be read twice: what was lost is not said, and nothing breaks."""
    bodies = [anthropic(3), anthropic(2, system=prose(2_000, 99)), anthropic(4)]
    bodies[2]["system"][0]["text"] = "You never guess.\n" + bodies[0]["system"][0]["text"]
    calls = [call(body, line) for line, body in enumerate(bodies, start=1)]
    monkeypatch.setattr(MemoryLog, "again", lambda *_: None)
    report, rows = _lint(calls, room=Room(prompt_bytes=1))
    assert report.total.calls == 3
    assert rows[2].parent == Place("log.jsonl", 1)
    assert rows[2].losses == ()
    assert report.findings == ()


def test_parent_whose_text_is_gone_is_read_again() -> None:
    """Memory is bounded, and what was lost is said all the same."""
    bodies = [anthropic(3), anthropic(2, system=prose(2_000, 99)), anthropic(4)]
    bodies[2]["system"][0]["text"] = "You never guess.\n" + bodies[0]["system"][0]["text"]
    calls = [call(body, line) for line, body in enumerate(bodies, start=1)]
    report, rows = _lint(calls, room=Room(prompt_bytes=1))
    assert rows[2].parent == Place("log.jsonl", 1)
    assert [one.kind for one in report.findings] == ["prompt-edited"]


def _analysis() -> Analysis:
    return Analysis(Options(today=TODAY), load_book(), lambda _: None)


def _long(seed: int, calls: int) -> list[Call]:
    """Several logs, one behind the other."""
    found: list[Call] = []
    while len(found) < calls:
        for one in _log(seed + 1_000 * len(found)):
            later_s = None if one.time_s is None else one.time_s + 86_400 * len(found)
            number = len(found) + 1
            moved = replace(one, place=Place("log.jsonl", number), id=f"r{number}")
            found.append(replace(moved, time_s=later_s, answered_s=None, ended_s=None))
    return found[:calls]


def test_each_cause_is_told_as_it_is_found() -> None:
    """What is told adds up to the report; how a cause stands is its finding there."""
    calls = _long(11, 40)
    analysis = _analysis()
    told: list[Occurrence] = []
    analysis.on_occurrence = told.append
    lost = 0
    for one in calls:
        before = len(told)
        analysis.add(one)
        lost += sum(each.lost_tokens for each in told[before:])
        so_far = analysis.so_far()
        assert so_far.total.lost_tokens == lost
        for each in told[before:]:
            standing = analysis.standing(each)
            assert standing.severity is Severity.NOTE or standing in so_far.findings
    assert len(told) > 20
    assert analysis.so_far() == analysis.so_far()


def test_a_report_is_what_is_so_far_and_the_writes_that_nobody_read() -> None:
    """Only the end of a log says that nobody came back for what was written."""
    analysis = _analysis()
    for line in range(1, 9):
        analysis.add(call(anthropic(1, system=prose(3_000, line)), line, time_s=T0 + line))
    assert "STM408" not in {one.code for one in analysis.so_far().findings}
    assert analysis.so_far().total == analysis.report(repeated=0, skipped={}).total
    assert "STM408" in {one.code for one in analysis.report(repeated=0, skipped={}).findings}


@pytest.mark.parametrize("seed", range(5))
def test_a_small_room_finds_the_same_while_it_is_not_full(seed: int) -> None:
    """The bounds of a running program change nothing of what a short log says."""
    calls = _long(seed, 30)
    assert _lint(calls, room=RUNNING) == _lint(calls)


def test_a_room_that_is_full_breaks_nothing() -> None:
    """Whatever is forgotten: no token is lost twice, and every call is counted."""
    room = Room(
        calls=2,
        units=64,
        content_bytes=1,
        known_bytes=1,
        prompt_bytes=1,
        memo_characters=1,
        cache_entries=8,
        ends=1,
        open_writes=1,
        causes=1,
    )
    calls = _long(3, 60)
    report, _ = _lint(calls, room=room)
    assert report.total.calls == 60
    assert report.total.prompt_tokens == _lint(calls)[0].total.prompt_tokens
    assert sum(one.lost_tokens for one in report.findings) <= report.total.prompt_tokens
