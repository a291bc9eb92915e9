"""From a prompt to the shape that a cache sees: cuts, marks, chains, and tokens at each."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.keys import key_values
from stemcache.lint.scale import Scale
from stemcache.lint.shaping import shape_of
from stemcache.provider.rule import Key, Range, Rule
from stemcache.provider.shape import Mark, Shape
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, chat, lint, prose

RULE = Rule(
    name="test",
    provider="test",
    kind="markers",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(0, 0, 0, ()),
    keys=(
        Key(("/model",), "model", Section.TOOLS),
        Key(("/tool_choice",), "tool_choice", Section.MESSAGES),
    ),
    write_factor={},
    read_factor=0.1,
)


def _shape(
    body: dict[str, Any],
    api: Api = Api.MESSAGES,
    *,
    tokens: int | None = None,
    hidden_tokens: int = 0,
    knot: tuple[int, int] | None = None,
    **others: Any,
) -> Shape:
    prompt = prompt_of(body, api)
    drawn = sketch(prompt)
    size = int(drawn.span_bytes.sum())
    scale = Scale(size, size if tokens is None else tokens, True, hidden_tokens)
    if knot is not None:
        scale = scale.with_knot(*knot)
    keys = key_values(RULE, prompt, body.get("model"))
    return shape_of(
        prompt, drawn, keys=keys, scale=scale, **{"output_tokens": None, "ttl": None, **others}
    )


def _text(text: str, **others: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **others}


def _user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def test_one_position_a_block() -> None:
    """Each says its section, who speaks, and how many tokens lie before its end."""
    shape = _shape({"system": "12345", "messages": [_user(_text("123"), _text("1234567"))]})
    assert [place.end_tokens for place in shape.positions] == [5, 8, 15]
    assert [place.section for place in shape.positions] == ["system", "messages", "messages"]
    assert [place.role for place in shape.positions] == ["system", "user", "user"]
    assert [place.ends_message for place in shape.positions] == [True, False, True]
    assert [place.message for place in shape.positions] == [-1, 0, 0]
    assert shape.tokens == 15
    assert shape.api is Api.MESSAGES


def test_marks_stand_where_markers_do() -> None:
    """With the lifetime as written, and None where it is the provider's."""
    hour = {"type": "ephemeral", "ttl": "1h"}
    shape = _shape(
        {
            "system": [_text("one", cache_control=hour), _text("two")],
            "messages": [_user(_text("three", cache_control={"type": "ephemeral"}))],
        }
    )
    assert [place.mark for place in shape.positions] == [Mark("1h"), None, Mark(None)]
    assert shape.automatic is None


def test_mark_on_the_request_is_on_the_whole() -> None:
    """It is on no position, since the provider puts it at the end."""
    marker = {"type": "ephemeral", "ttl": "1h"}
    shape = _shape({"cache_control": marker, "messages": [_user(_text("hi"))]})
    assert shape.automatic == Mark("1h")
    assert [place.mark for place in shape.positions] == [None]


def test_lifetime_of_usage_marks_the_whole() -> None:
    """Where a transcript shows no markers; one that is shown goes first."""
    body: dict[str, Any] = {"messages": [_user(_text("hi"))]}
    assert _shape(body, ttl="1h").automatic == Mark("1h")
    assert _shape({**body, "cache_control": {"type": "ephemeral"}}, ttl="1h").automatic == Mark()


def test_runs_of_calls_and_results_are_told() -> None:
    """Other blocks are of no run."""
    use = {"type": "tool_use", "id": "t", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "found"}
    shape = _shape(
        {
            "messages": [
                _user(_text("hi")),
                {"role": "assistant", "content": [_text("so"), use, use]},
                _user(result, _text("go on")),
            ]
        }
    )
    runs = [place.run for place in shape.positions]
    assert runs == [None, None, "tool_use", "tool_use", "tool_result", None]


def test_tokens_are_spread_over_bytes() -> None:
    """A half of the text has half of the tokens."""
    shape = _shape({"messages": [_user(_text("x" * 50), _text("y" * 50))]}, tokens=30)
    assert [place.end_tokens for place in shape.positions] == [15, 30]


def test_hidden_tokens_stand_before_the_first_byte() -> None:
    """What a transcript does not show is at the head."""
    body = {"messages": [_user(_text("x" * 50), _text("y" * 50))]}
    shape = _shape(body, tokens=1_030, hidden_tokens=1_000)
    assert [place.end_tokens for place in shape.positions] == [1_015, 1_030]
    assert shape.fine_tokens.tolist() == [1_015, 1_030]


def test_known_point_bends_the_spread() -> None:
    """What the parent reported for the first half holds for the first half."""
    body = {"messages": [_user(_text("x" * 50), _text("y" * 50))]}
    shape = _shape(body, tokens=30, knot=(50, 9))
    assert [place.end_tokens for place in shape.positions] == [9, 30]


def test_chains_are_of_prefixes() -> None:
    """Equal beginnings have equal chains, and what comes behind does not change them."""
    one = _shape({"system": "same", "messages": [_user(_text("one"))]})
    other = _shape({"system": "same", "messages": [_user(_text("other"))]})
    assert one.positions[0].chain == other.positions[0].chain
    assert one.positions[1].chain != other.positions[1].chain


def test_parameter_changes_chains_from_its_section_on() -> None:
    """A choice of tools keys the messages, a model all."""
    body = {"system": "same", "messages": [_user(_text("one"))]}
    plain = [place.chain for place in _shape(body).positions]
    choice = [place.chain for place in _shape({**body, "tool_choice": "any"}).positions]
    model = [place.chain for place in _shape({**body, "model": "other"}).positions]
    assert choice[0] == plain[0]
    assert choice[1] != plain[1]
    assert set(model).isdisjoint(plain)


def test_markers_change_no_chain() -> None:
    """Where a marker stands is no content."""
    marked = {"messages": [_user(_text("one", cache_control={"type": "ephemeral"}), _text("two"))]}
    plain = {"messages": [_user(_text("one"), _text("two"))]}
    chains = [[place.chain for place in _shape(body).positions] for body in (marked, plain)]
    assert chains[0] == chains[1]


@pytest.mark.parametrize(("mode", "implicit"), [("explicit", False), ("auto", True), (7, True)])
def test_breakpoints_of_the_provider_can_be_turned_off(mode: object, *, implicit: bool) -> None:
    """Only by the one word for it."""
    body = {**chat(1), "prompt_cache_options": {"mode": mode}}
    assert _shape(body, Api.CHAT).implicit is implicit
    assert _shape(chat(1), Api.CHAT).implicit


@pytest.mark.parametrize("name", ["cachedContent", "cached_content"])
def test_object_that_is_read_is_named(name: str) -> None:
    """In either spelling; what is no name is none."""
    body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    assert _shape({**body, name: "cachedContents/7"}, Api.GENERATE).object_name == (
        "cachedContents/7"
    )
    assert _shape({**body, name: 7}, Api.GENERATE).object_name is None
    assert _shape(body, Api.GENERATE).object_name is None


def test_output_tokens_are_handed_on() -> None:
    """Some caches keep the answer."""
    assert _shape({"messages": [_user(_text("hi"))]}, output_tokens=12).output_tokens == 12


def test_prompt_without_text_has_the_tokens_that_were_reported() -> None:
    """An empty question is billed, and counts as it was."""
    body = {"model": "gpt-5.5", "messages": [{"role": "user", "content": ""}]}
    usage = {
        "prompt_tokens": 8,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    total = lint([call(body, line, usage=usage) for line in (1, 2)]).total
    assert (total.prompt_tokens, total.prompt_tokens_reported) == (16, 16)
    assert total.read_tokens == 0


@given(
    texts=st.lists(st.text(max_size=40) | st.just(prose(400)), min_size=1, max_size=6),
    tokens=st.integers(0, 5_000),
    hidden=st.integers(0, 5_000),
    knot=st.tuples(st.integers(0, 5_000), st.integers(0, 5_000)),
)
def test_tokens_never_fall(
    texts: list[str], tokens: int, hidden: int, knot: tuple[int, int]
) -> None:
    """Coarse and fine cuts rise to all of the prompt, and every position is a fine cut."""
    body = {"messages": [_user(*(_text(text or "x") for text in texts))]}
    shape = _shape(body, tokens=hidden + tokens, hidden_tokens=hidden, knot=knot)
    ends = [place.end_tokens for place in shape.positions]
    assert ends == sorted(ends)
    assert shape.tokens == hidden + tokens
    assert (np.diff(shape.fine_tokens) >= 0).all()
    fine = dict(zip(shape.fine_chain.tolist(), shape.fine_tokens.tolist(), strict=True))
    for place in shape.positions:
        assert abs(fine[place.chain] - place.end_tokens) <= 1


def test_anthropic_body_s_shape_is_reproducible() -> None:
    """The same body has the same chains, coarse and fine."""
    first, second = _shape(anthropic(2)), _shape(anthropic(2))
    assert [one.chain for one in first.positions] == [one.chain for one in second.positions]
    assert np.array_equal(first.fine_chain, second.fine_chain)
