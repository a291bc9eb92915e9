"""Runs the specifications beside this file: two bodies and what is to be said of the second.

## heading
Sessions: a, b               names of the parent's and the child's session, where it matters
(parent as JSON) (child as JSON) (one line a change: `kind at pointer char N: message`)
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.explain_change import explain
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api, api_of

_FENCED = re.compile(r"^```(json|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Case(NamedTuple):
    rule: str
    heading: str
    parent: dict[str, Any]
    child: dict[str, Any]
    expected: str
    sessions: tuple[str | None, str | None]


def _cases() -> list[Case]:
    found: list[Case] = []
    for path in sorted(Path(__file__).parent.glob("*.md")):
        for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            heading, _, rest = section.partition("\n")
            parent, child, expected = (body for _, body in _FENCED.findall(rest))
            named = re.search(r"^Sessions: (\w+), (\w+)$", rest, re.MULTILINE)
            sessions = (named[1], named[2]) if named else (None, None)
            bodies = json.loads(parent), json.loads(child)
            found.append(Case(path.stem, heading, *bodies, expected, sessions))
    return found


CASES = _cases()


def _call(body: dict[str, Any], api: Api, session: str | None) -> Call:
    place = Place("log.jsonl", 1)
    return Call(place=place, api=api, body=body, fidelity=Fidelity.WIRE, session=session)


def _causes(case: Case) -> list[Cause]:
    api = api_of(case.child)
    assert api is not None
    parent, child = prompt_of(case.parent, api), prompt_of(case.child, api)
    pair = Pair(
        child=child,
        parent=parent,
        divergence=compare(parent, child),
        child_call=_call(case.child, api, case.sessions[1]),
        parent_call=_call(case.parent, api, case.sessions[0]),
    )
    return [explain(change, pair) for change in pair.divergence.changes]


def _line(cause: Cause) -> str:
    char = "" if cause.char is None else f" char {cause.char}"
    return f"{cause.kind} at {cause.pointer}{char}: {cause.message}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.heading}")
def test_changes_are_explained_as_the_specification_says(case: Case) -> None:
    """Kind, pointer, character and message are those of the specification."""
    lines = [_line(cause) for cause in _causes(case)] or ["nothing"]
    assert "\n".join(lines) == case.expected.strip()


def test_every_rule_of_content_is_specified_by_what_it_claims_and_what_it_leaves() -> None:
    """Each has at least three cases that it claims and three that it does not."""
    claimed: dict[str, int] = {}
    left: dict[str, int] = {}
    for case in CASES:
        kinds = {line.partition(" ")[0] for line in case.expected.splitlines()}
        mine = _KINDS[case.rule] in kinds
        count = claimed if mine else left
        count[case.rule] = count.get(case.rule, 0) + 1
    assert {rule: min(claimed[rule], left[rule]) >= 3 for rule in _KINDS} == dict.fromkeys(
        _KINDS, True
    )


def test_no_cause_shows_a_piece_of_the_prompt() -> None:
    """Message, shapes, group and fields hold no word of eight letters or more of a prompt."""
    for case in CASES:
        texts = json.dumps([case.parent, case.child], ensure_ascii=False)
        for cause in _causes(case):
            shown = " ".join([cause.message, cause.old, cause.new, *map(" ".join, cause.fields)])
            words = set(re.findall(r"[A-Za-z]{8,}", shown)) - _OUR_WORDS
            assert not [word for word in words if word in texts], (case.heading, shown)


_OUR_WORDS = {
    "messages",
    "message",
    "assistant",
    "document",
    "description",
    "thinking",
    "arguments",
    "required",
}
_KINDS = {
    "clock_in_prefix": "clock",
    "injected_id": "injected-id",
    "environment_snapshot": "environment",
    "varying_context": "varying-context",
    "whitespace_change": "whitespace",
    "edited_prompt": "prompt-edited",
    "tool_order": "tool-order",
    "tool_set": "tool-set",
    "tool_definition": "tool-changed",
    "key_order": "key-order",
    "argument_order": "argument-order",
    "history_truncated": "history-truncated",
    "history_edited": "history-edited",
    "history_compacted": "compaction",
    "thinking_dropped": "thinking-dropped",
    "image_changed": "image-changed",
    "transient_suffix": "transient-suffix",
    "resumed_session": "resume",
}
