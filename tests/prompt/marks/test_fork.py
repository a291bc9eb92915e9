"""A mark behind results that a user's words follow, where one is to spare and costs nothing."""

from random import Random

import pytest

from stemcache.prompt import Conversation, Layout, Text, ToolResult, static, turn
from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.forecasts import AlwaysAlive, Poisson
from stemcache.prompt.marks.fork import with_fork
from stemcache.prompt.marks.ground import ground_of, windows
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.terms import terms_of
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.book import load_book
from stemcache.wire.api import Api
from tests.prompt.placing import laid_of, piece

BOOK = load_book()
RULE = BOOK.rule("anthropic", "claude-sonnet-5")
PRICE = BOOK.price("anthropic", "claude-sonnet-5")
BUSY = {Stability.STATIC: 1.0, Stability.SESSION: 1 / 60}


def history(results: int, *, follows: int = 1, turns: int = 0) -> Laid:
    """A question, a call for each result, and so many texts behind them."""
    return laid_of(
        piece(3_000),
        piece(500, history=True),
        *[piece(20, history=True, speaker="assistant", run="tool_use")] * results,
        *[piece(200, history=True, run="tool_result")] * results,
        *[piece(50, history=True)] * follows,
        *[piece(9, Stability.TURN)] * turns,
    )


def marks(laid: Laid, most: int | None = None) -> list[int]:
    """Where `place` sets them."""
    made = place(laid, rule=RULE, price=PRICE, forecast=Poisson(laid, BUSY), most=most)
    return [one.boundary for one in made.marks]


@pytest.mark.parametrize("results", [1, 8, 60])
@pytest.mark.parametrize("turns", [0, 1])
def test_results_that_words_follow_are_marked_at_their_end(results: int, turns: int) -> None:
    """And the words at theirs: either may be where the next request goes on."""
    end = 2 + 2 * results
    assert marks(history(results, turns=turns)) == [1, end, end + 1]


def test_results_at_the_end_have_their_mark_already() -> None:
    """Nothing but a turn follows them."""
    for turns in (0, 1):
        assert marks(history(8, follows=0, turns=turns)) == [1, 18]


def test_results_that_were_answered_get_no_mark() -> None:
    """The request that asked for the answer marked their end, and a fork begins behind it."""
    answer = piece(60, history=True, speaker="assistant")
    laid = laid_of(*history(8, follows=0).pieces, answer, piece(50, history=True))
    assert marks(laid) == [1, len(laid.pieces)]


def test_without_results_no_mark_is_added() -> None:
    """Words alone end where they end."""
    assert marks(history(0, follows=3)) == [1, 5]


def test_no_mark_is_taken_for_it_from_where_it_earns() -> None:
    """Two marks are for the rules and for the end."""
    laid = history(8)
    assert marks(laid, most=2) == [1, 19]
    assert marks(laid, most=1) == [19]
    assert marks(laid, most=0) == []


def test_it_costs_nothing_by_the_forecast_and_lasts_as_the_mark_behind_it() -> None:
    """Of random histories, and never more marks than may be set."""
    random = Random(20261130)
    added = 0
    for _ in range(1_000):
        laid = history(random.randrange(30), follows=random.randrange(3), turns=random.randrange(2))
        terms = terms_of(RULE, PRICE, prompt_tokens=laid.tokens()[-1])
        assert terms is not None
        forecast: Forecast = AlwaysAlive(laid) if random.random() < 0.5 else Poisson(laid, BUSY)
        ground = ground_of(
            laid,
            rule=RULE,
            terms=terms,
            forecast=forecast,
            held=(),
            last=windows(laid, RULE),
        )
        before = sorted(
            Set(at, 0)
            for at in random.sample(range(1, ground.last + 1), min(ground.last, 3))
            if ground.allowed[at]
        )
        most = random.choice([None, 2, 4])
        if most is not None:
            before = before[:most]
        after = with_fork(laid, ground, terms, before, most)
        assert set(before) <= set(after)
        assert list(after) == sorted(after)
        assert most is None or len(after) <= most
        assert (
            expected(ground, terms, after).score
            <= expected(ground, terms, before).score + 1e-9 * terms.input * ground.tokens[-1]
        )
        added += len(after) > len(before)
    assert added > 20


@pytest.mark.parametrize(
    ("provider", "model", "api"),
    [
        ("anthropic", "claude-sonnet-5", Api.MESSAGES),
        ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", Api.CONVERSE),
        ("openai", "gpt-5.6", Api.CHAT),
        ("openai", "gpt-5.6", Api.RESPONSES),
    ],
)
def test_a_fork_marks_where_its_trunk_goes_on(provider: str, model: str, api: Api) -> None:
    """The trunk's next prompt ends, but for the turn, at a mark of the fork's request."""
    layout = Layout([static("rules", "Be kind, and never promise a refund. " * 200)])
    talk = Conversation()
    talk.user("How many bicycles are free?")
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "free", "arguments": "{}"}}
        for at in range(8)
    ]
    talk.answer({"role": "assistant", "content": None, "tool_calls": calls}, Api.CHAT)
    talk.results(*(ToolResult(call_id=f"c{at}", parts=(Text("two " * 40),)) for at in range(8)))
    branch = talk.fork()
    branch.user("Explain the first.")
    now = [turn("now", "It is 10:07:31.")]
    forked = layout.plan(provider, model, branch, now, api=api)
    trunk = layout.plan(provider, model, talk, now, api=api)
    end = max(one.boundary for one in trunk.placement.marks)
    assert end in [one.boundary for one in forked.placement.marks]
    assert forked.laid.pieces[end - 1].run == "tool_result"
