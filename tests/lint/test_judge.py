"""One call against its parent: each cause once, in prefix order, and what markers lost behind."""

import copy
from typing import Any

import numpy as np
import pytest

from stemcache.lint.judge import Case, judge, ladder_of, pure_growth
from stemcache.lint.keys import key_values
from stemcache.lint.known import Known
from stemcache.lint.ladder import Ladder
from stemcache.lint.placement import marked
from stemcache.lint.scale import Scale
from stemcache.lint.shaping import shape_of
from stemcache.provider.cache.cuts import held
from stemcache.provider.rule import Key, Kind, Range, Rule
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, prose

Body = dict[str, Any]

ALL = ("tools", "system", "messages")
WORD = 7
"""What an edit is widened by, to whole words: those are not counted as shared."""


def _rule(kind: Kind = "markers", *, minimum: int = 0) -> Rule:
    return Rule(
        name="test",
        provider="test",
        kind=kind,
        order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
        minimum_tokens=Range(minimum, minimum, minimum, ()),
        most_markers=4,
        look_back=20,
        keys=(
            Key(("/model",), "model", Section.TOOLS),
            Key(("/tool_choice",), "tool_choice", Section.MESSAGES),
        ),
        write_factor={},
        read_factor=0.1,
    )


def _known(body: Body, rule: Rule) -> Known:
    one = call(body, 1)
    prompt = prompt_of(body, Api.MESSAGES)
    drawn = sketch(prompt)
    keys = key_values(rule, prompt, one.model)
    size = int(drawn.span_bytes.sum())
    shape = shape_of(
        prompt, drawn, keys=keys, scale=Scale(size, size, reported=True), output_tokens=None
    )
    return Known(
        call=one,
        rule=rule,
        span_chain=drawn.span_chain,
        span_bytes=drawn.span_bytes,
        keys=keys,
        held=held(rule, shape),
        marks=tuple(marked(shape)),
        prompt_tokens=size,
        reported_prompt_tokens=None,
        readable_s=None,
        last_write=None,
        output_tokens=0,
        did_nothing=False,
    )


def _case(parent: Body, child: Body, rule: Rule) -> Case:
    """A token a byte."""
    known = _known(parent, rule)
    prompt = prompt_of(child, Api.MESSAGES)
    drawn = sketch(prompt)
    one = call(child, 2)
    keys = key_values(rule, prompt, one.model)
    size = int(drawn.span_bytes.sum())
    scale = Scale(size, size, reported=True)
    parent_prompt = prompt_of(parent, Api.MESSAGES)
    return Case(
        call=one,
        prompt=prompt,
        shape=shape_of(prompt, drawn, keys=keys, scale=scale, output_tokens=None),
        rule=rule,
        keys=keys,
        span_bytes=drawn.span_bytes,
        scale=scale,
        parent=known,
        parent_prompt=parent_prompt,
        divergence=compare(parent_prompt, prompt),
    )


def _judged(
    parent: Body,
    child: Body,
    *,
    kind: Kind = "markers",
    read_tokens: int = 0,
    markers: bool = True,
    minimum: int = 0,
) -> tuple[list[tuple[str, int]], Ladder]:
    case = _case(parent, child, _rule(kind, minimum=minimum))
    steps, ladder = ladder_of(case)
    losses = judge(case, steps, ladder, read_tokens=read_tokens, markers=markers)
    return [(loss.cause.kind, loss.tokens) for loss in losses], ladder


def _bytes(body: Body, *sections: str) -> int:
    spans = prompt_of(body, Api.MESSAGES).spans
    return sum(len(span.text.encode()) for span in spans if span.section in sections)


def _edited_system(body: Body) -> Body:
    text = body["system"][0]["text"]
    body["system"][0]["text"] = text[:29] + "Never guess.\n" + text[29:]
    return body


def test_growth_loses_nothing() -> None:
    """All that the parent left is read."""
    losses, ladder = _judged(anthropic(2), anthropic(3), read_tokens=_bytes(anthropic(2), *ALL))
    assert losses == []
    assert ladder.levels == (_bytes(anthropic(2), *ALL),)


def test_edit_loses_all_that_stands_behind_it() -> None:
    """Of what the parent has too, and where nothing else is kept before it."""
    losses, ladder = _judged(anthropic(2), _edited_system(anthropic(3)))
    assert losses == [("prompt-edited", ladder.top)]
    assert ladder.levels == (0, _bytes(anthropic(2), *ALL) - WORD)


def test_causes_are_charged_once_and_in_order() -> None:
    """The second one loses what the first left to be lost."""
    child = _edited_system(anthropic(3))
    child["tool_choice"] = {"type": "any"}
    losses, ladder = _judged(anthropic(2), child)
    head = _bytes(anthropic(2), "tools", "system")
    assert losses == [
        ("prompt-edited", head - WORD),
        ("parameter:tool_choice", _bytes(anthropic(2), "messages")),
    ]
    assert ladder.levels == (0, head - WORD, ladder.top)


@pytest.mark.parametrize("read_tokens", [0, 100, 9_000, 10**9])
def test_what_was_read_is_not_lost(read_tokens: int) -> None:
    """Losses are what lies between it and the top, whoever is charged for them."""
    child = _edited_system(anthropic(3))
    child["tool_choice"] = {"type": "any"}
    losses, ladder = _judged(anthropic(2), child, read_tokens=read_tokens)
    assert sum(tokens for _, tokens in losses) == max(0, ladder.top - read_tokens)
    assert all(tokens > 0 for _, tokens in losses)


def test_markers_that_cannot_be_seen_are_not_judged() -> None:
    """A transcript has none."""
    parent, child = anthropic(2), anthropic(3)
    for body in (parent, child):
        body["system"][0].pop("cache_control")
        body["messages"][-1]["content"][-1].pop("cache_control")
    losses, ladder = _judged(parent, child)
    assert losses == [("no-marker", ladder.top)]
    assert _judged(parent, child, markers=False)[0] == []


def test_markers_are_not_judged_across_models() -> None:
    """What the other model kept is nobody's fault of placement."""
    parent, child = anthropic(2), anthropic(3)
    child["model"] = "claude-sonnet-5"
    child["system"][0].pop("cache_control")
    child["messages"][-1]["content"][-1].pop("cache_control")
    assert [kind for kind, _ in _judged(parent, child)[0]] == []


def test_other_model_loses_all() -> None:
    """Where the same markers stand."""
    child = {**anthropic(3), "model": "claude-sonnet-5"}
    losses, _ = _judged(anthropic(2), child)
    assert losses == [("parameter:model", _bytes(anthropic(2), *ALL))]


def test_fault_that_lost_nothing_is_not_said() -> None:
    """A prompt below the minimum that was read all the same."""
    parent, child = anthropic(1, system="You help.", tools=0), anthropic(2, system="You help.")
    child["tools"] = []
    losses, _ = _judged(parent, child, minimum=4_096)
    assert [kind for kind, _ in losses] == ["below-minimum"]
    assert _judged(parent, child, minimum=4_096, read_tokens=10**6)[0] == []


def test_prefix_cache_is_read_up_to_the_change() -> None:
    """Within the block, where nobody has to mark anything."""
    losses, ladder = _judged(anthropic(2), _edited_system(anthropic(3)), kind="units")
    assert ladder.levels[0] == pytest.approx(_bytes(anthropic(2), "tools") + 29, abs=13)
    assert losses == [("prompt-edited", ladder.top - ladder.levels[0])]


def test_block_that_goes_on_is_named_as_such() -> None:
    """Where ends count: the end that was kept is inside of a block now."""
    parent = anthropic(1)
    child = copy.deepcopy(parent)
    child["messages"][0]["content"][0]["text"] += "\n" + prose(30, 5)
    losses, _ = _judged(parent, child)
    assert losses == [("extended-message", _bytes(parent, "messages"))]
    assert _judged(parent, child, kind="units")[0] == []


# --- growth, told by digests ----------------------------------------------------------------------


def _growth(parent: Body, child: Body) -> Any:
    drawn = sketch(prompt_of(child, Api.MESSAGES))
    return pure_growth(drawn.span_chain, drawn.span_bytes, _known(parent, _rule()))


def test_growth_is_told_without_texts() -> None:
    """As the comparison of texts says it."""
    found = _growth(anthropic(2), anthropic(4))
    texts = compare(*(prompt_of(anthropic(turns), Api.MESSAGES) for turns in (2, 4)))
    assert found == texts


def test_same_prompt_is_growth_of_nothing() -> None:
    """What was sent again is all there."""
    found = _growth(anthropic(2), anthropic(2))
    assert found.changes == ()
    assert found.shared_bytes == found.child_bytes == found.parent_bytes


def test_markers_do_not_hide_growth() -> None:
    """They are no content."""
    child = anthropic(3)
    child["system"][0].pop("cache_control")
    assert _growth(anthropic(2), child) is not None


@pytest.mark.parametrize(
    "child",
    [anthropic(1), _edited_system(anthropic(4)), anthropic(4, tools=2)],
    ids=["shorter", "edited", "a tool less"],
)
def test_what_is_no_growth(child: Body) -> None:
    """It has to be compared."""
    assert _growth(anthropic(2), child) is None


def test_empty_parent_is_no_beginning() -> None:
    """Nothing is not gone on from."""
    empty = np.array([], np.uint64)
    parent = _known(anthropic(1), _rule())
    drawn = sketch(prompt_of(anthropic(1), Api.MESSAGES))
    assert pure_growth(empty, np.array([], np.int64), parent) is None
    assert pure_growth(drawn.span_chain, drawn.span_bytes, parent) is not None


def test_other_document_of_a_prompt_is_not_lost() -> None:
    """A block that holds another long text each time shares its head and its tail, and no more."""
    parent, child = anthropic(1, tools=0), anthropic(1, tools=0)
    for body, seed in ((parent, 5), (child, 6)):
        middle = prose(6_000, seed)
        body["system"][0]["text"] = f"{prose(300, 1)}\n{middle}\n{prose(300, 2)}"
    for rule in (_rule(), _rule("units")):
        case = _case(parent, child, rule)
        _, ladder = ladder_of(case)
        assert ladder.top <= case.divergence.shared_bytes < 6_000
