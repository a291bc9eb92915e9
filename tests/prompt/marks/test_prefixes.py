"""Names of prefixes: equal where a cache takes them for the same, and nowhere else."""

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.layout import Layout
from stemcache.prompt.marks.prefixes import prefixes_of
from stemcache.prompt.message import Message
from stemcache.prompt.part import Image, Text, ToolCall, ToolResult
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.segment import Segment, session, static, turn
from stemcache.prompt.tool import Tool
from stemcache.provider.book import load_book
from stemcache.provider.rule import Rule
from stemcache.wire.api import Api

BOOK = load_book()
ANTHROPIC = BOOK.rule("anthropic", "claude-sonnet-5")
OPENAI = BOOK.rule("openai-5.6", "gpt-5.6")
FIND = Tool(name="find", description="Finds.", schema={"type": "object"})
ASKED = Message("user", (Text("Where?"),))
CALLED = Message("assistant", (Text("I look."), ToolCall(id="1", name="find", arguments="{}")))
TOLD = Message("user", (ToolResult(call_id="1", parts=(Text("Here."),)),))
NOW = turn("now", "10:07")


def _laid(
    *history: Message,
    segments: tuple[Segment, ...] = (static("rules", "Be kind."), session("who", "Ada")),
    tools: tuple[Tool, ...] = (FIND,),
    behind: tuple[Segment, ...] = (),
    rule: Rule = ANTHROPIC,
) -> Laid:
    return Layout(segments, tools).lay(rule.order, history, behind)


def _names(
    laid: Laid,
    options: Mapping[str, Any] | None = None,
    *,
    rule: Rule = ANTHROPIC,
    model: str = "m",
    api: Api = Api.MESSAGES,
) -> tuple[bytes, ...]:
    return prefixes_of(laid, rule=rule, model=model, api=api, options=options or {})


def test_a_prompt_that_goes_on_keeps_its_names() -> None:
    """All boundaries but those behind the turn piece, which ended the message that it stood in."""
    before = _names(_laid(ASKED, behind=(NOW,)))
    after = _names(_laid(ASKED, CALLED, TOLD, behind=(NOW,)))
    assert len(before) == 6
    assert len(set(after)) == len(after)
    assert after[:5] == before[:5]
    assert before[5] not in after


@pytest.mark.parametrize(
    "other",
    [
        _laid(ASKED, CALLED, TOLD),
        _laid(ASKED, CALLED, replace(TOLD, parts=(*TOLD.parts, Text("!")))),
        _laid(ASKED, CALLED, replace(TOLD, parts=(Image(media_type="image/png", url="x:"),))),
        _laid(ASKED, CALLED),
        _laid(ASKED, replace(CALLED, parts=CALLED.parts[:1]), TOLD),
        _laid(ASKED, replace(CALLED, speaker="user"), TOLD),
        _laid(replace(ASKED, parts=(Text("When?"),)), CALLED, TOLD),
        _laid(CALLED, TOLD),
        _laid(ASKED, CALLED, TOLD, segments=(static("rules", "Be kind."),)),
        _laid(ASKED, CALLED, TOLD, segments=(static("rules", "Be quick."),)),
        _laid(ASKED, CALLED, TOLD, tools=()),
        _laid(ASKED, CALLED, TOLD, tools=(FIND, replace(FIND, name="get"))),
        _laid(ASKED, CALLED, TOLD, tools=(replace(FIND, description="Looks."),)),
        _laid(ASKED, CALLED, TOLD, tools=(replace(FIND, schema={"type": "array"}),)),
    ],
)
def test_names_are_lost_from_the_first_difference_on(other: Laid) -> None:
    """Not before, and never found again behind it."""
    _are_lost_where_prompts_part(_laid(ASKED, CALLED, TOLD), other)


@pytest.mark.parametrize("seed", range(20))
def test_names_of_random_prompts_agree_with_their_pieces(seed: int) -> None:
    """Of few words, so that prompts share much and come together again."""
    chance = Random(seed)
    for _ in range(20):
        one, other = (
            _laid(
                *(
                    Message(
                        chance.choice(("user", "assistant")),
                        tuple(Text(chance.choice("ab")) for _ in range(chance.randint(1, 2))),
                    )
                    for _ in range(chance.randint(0, 4))
                ),
                segments=(static("s", chance.choice("ab")),),
                tools=(FIND,) * chance.randint(0, 1),
            )
            for _ in range(2)
        )
        _are_lost_where_prompts_part(one, other)


def _are_lost_where_prompts_part(one: Laid, other: Laid) -> None:
    pairs = zip(map(_sent, one.pieces), map(_sent, other.pieces), strict=False)
    least = min(len(one.pieces), len(other.pieces))
    same = next((at for at, (mine, others) in enumerate(pairs) if mine != others), least)
    mine, others = _names(one), _names(other)
    assert mine[: same + 1] == others[: same + 1]
    assert set(mine[same + 1 :]).isdisjoint(others)
    assert set(others[same + 1 :]).isdisjoint(mine)


def _sent(piece: Piece) -> tuple[object, ...]:
    """The dumb twin of a name: all that is sent of a piece."""
    source = piece.source
    if isinstance(source, Tool):
        return source.name, source.description, json.dumps(source.schema)
    speaker = source.speaker if isinstance(source, Message) else "user"
    return piece.section, piece.message, speaker, piece.part


def test_equal_prompts_have_equal_names() -> None:
    """Whatever segments are called, and in whatever order tools and keys are given."""
    get = Tool(name="get", description="", schema={"b": 1, "a": {"d": 1, "c": 2}})
    same = Tool(name="get", description="", schema={"a": {"c": 2, "d": 1}, "b": 1})
    one = _laid(ASKED, tools=(get, FIND), segments=(static("rules", "Be kind."),))
    other = _laid(ASKED, tools=(FIND, same), segments=(static("ways", "Be kind.", version="2"),))
    assert _names(one) == _names(other)


def test_caches_are_a_models_and_a_rules() -> None:
    """What another model, rule or API has written is not read."""
    laid = _laid(ASKED)
    names = [
        _names(laid),
        _names(laid, model="n"),
        _names(laid, api=Api.CHAT),
        _names(laid, rule=BOOK.rule("bedrock", "anthropic.claude-opus-4-7-v1:0")),
    ]
    assert len({name for one in names for name in one}) == sum(map(len, names))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"temperature": 0.5, "max_tokens": 9}, 5),
        ({"tool_choice": {"type": "any"}}, 4),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, 4),
        ({"output_config": {"effort": "low"}}, 4),
        ({"speed": "fast"}, 2),
    ],
)
def test_a_parameter_that_keys_the_cache_loses_its_section(
    options: dict[str, Any], kept: int
) -> None:
    """And all behind it: tools and system prompt stay when the choice of tools moves."""
    laid = _laid(ASKED)
    plain, changed = _names(laid), _names(laid, options)
    assert plain[:kept] == changed[:kept]
    assert set(plain[kept:]).isdisjoint(changed)


def test_a_section_without_pieces_passes_its_parameters_on() -> None:
    """`speed` is of the system prompt; where there is none, messages are lost all the same."""
    laid = _laid(ASKED, segments=())
    plain, changed = _names(laid), _names(laid, {"speed": "fast"})
    assert (plain[:2] == changed[:2], plain[2] == changed[2]) == (True, False)


def test_a_parameter_that_says_what_absence_says_changes_nothing() -> None:
    """By the rule's own list of such values."""
    (key,) = [key for key in ANTHROPIC.keys if key.name == "tool_choice"]
    laid = _laid(ASKED)
    for value in key.equal_to_absent:
        assert _names(laid, {"tool_choice": value}) == _names(laid)
    assert key.equal_to_absent


def test_all_of_a_prompt_is_keyed_by_some_parameters() -> None:
    """OpenAI's effort stands before everything; it has two places, one an API."""
    laid = _laid(ASKED, rule=OPENAI)
    plain = _names(laid, rule=OPENAI)
    for options in ({"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}):
        assert set(plain[1:]).isdisjoint(_names(laid, options, rule=OPENAI))


def test_another_route_is_another_cache() -> None:
    """Fields of the body that choose a server; headers are not seen."""
    (field, *_) = [one for one in OPENAI.routing_fields if one.startswith("/")]
    laid = _laid(ASKED, rule=OPENAI)
    names = [
        _names(laid, {field[1:]: value} if value else {}, rule=OPENAI) for value in ("", "a", "b")
    ]
    assert len({name for one in names for name in one[1:]}) == 3 * len(laid.pieces)


def test_options_that_are_no_json_are_refused() -> None:
    """As they would be when the body is made."""
    with pytest.raises(UsageError, match="which is no JSON"):
        _names(_laid(ASKED), {"stop": {1}})


def test_numbers_and_texts_of_any_kind_have_names() -> None:
    """Large integers, and characters beyond the first plane."""
    odd = Message("assistant", (Text("\U0001f600"),))
    assert len(_names(_laid(ASKED, odd), {"seed": 2**200, "tool_choice": {"n": 2**200}})) == 6
    assert (
        _names(_laid(ASKED, odd))[-1]
        != _names(_laid(ASKED, replace(odd, parts=(Text("\U0001f601"),))))[-1]
    )
