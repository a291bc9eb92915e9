"""`place`: every kind of rule, what it says when it cannot know, and why marks are not there."""

from dataclasses import replace
from math import inf
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.forecasts import AlwaysAlive, Poisson
from stemcache.prompt.marks.ground import Ground, ground_of, windows
from stemcache.prompt.marks.path import best_marks
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Held, Placed
from stemcache.prompt.marks.terms import Terms, terms_of
from stemcache.prompt.stability import Stability
from stemcache.provider.book import load_book
from stemcache.provider.price import Price
from stemcache.provider.rule import Range, Rule, Ttl
from stemcache.wire.section import Section
from tests.prompt.placing import Case, Table, laid_of, marker_rule, piece, placements, random_case

BOOK = load_book()
SONNET = BOOK.price("anthropic", "claude-sonnet-5-5")
ANTHROPIC = BOOK.rule("anthropic", "claude-sonnet-5-5")
OPENAI = BOOK.rule("openai-5.6", "gpt-6.1-sol")
GPT = BOOK.price("openai", "gpt-6.1-sol")
STATIC, REFERENCE, SESSION, TURN = Stability
CHAT = laid_of(
    piece(2_000, section=Section.TOOLS),
    piece(3_000),
    piece(4_000, REFERENCE),
    piece(500, history=True),
    piece(300, history=True, speaker="assistant"),
    piece(200, history=True),
    piece(50, TURN),
)
BUSY = {STATIC: 1.0, REFERENCE: 0.002, SESSION: 0.001}
QUICK = {STATIC: 1.0, REFERENCE: 0.002, SESSION: 0.002}


def _why(placement: object) -> str:
    return "\n".join(placement.why)  # type: ignore[attr-defined]


def test_marks_stand_where_sharing_changes() -> None:
    """Behind what is static, behind the documents and at the end of the history."""
    placement = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=Poisson(CHAT, BUSY))
    assert [one.boundary for one in placement.marks] == [2, 3, 6]
    assert placement.why == ()
    assert placement.expected_usd is not None
    assert placement.expected_read_tokens + placement.expected_written_tokens == pytest.approx(
        10_000
    )


def test_a_slow_conversation_gets_the_longer_lifetime() -> None:
    """Turns twenty minutes apart: an hour pays for the history, and so for what is before it."""
    slow = Poisson(CHAT, {STATIC: 1.0, REFERENCE: 0.05, SESSION: 1 / 1200})
    placement = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=slow)
    assert placement.marks[-1] == Placed(6, "1h")
    assert {one.ttl for one in placement.marks} == {"1h"}
    quick = Poisson(CHAT, {STATIC: 1.0, REFERENCE: 0.05, SESSION: 1 / 30})
    placement = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=quick)
    assert placement.marks[-1] == Placed(6, None)


def test_fewer_marks_are_kept_to() -> None:
    """`most` below the rule's number, and what could not be marked says so."""
    forecast = Poisson(CHAT, BUSY)
    for most in range(4):
        placement = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=forecast, most=most)
        assert len(placement.marks) == most
    placement = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=forecast, most=2)
    assert "all 2 marks earn more elsewhere" in _why(placement)
    with pytest.raises(UsageError, match="most is -1 marks; give at least 0"):
        place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=forecast, most=-1)


def test_what_is_below_the_minimum_is_not_marked_and_says_so() -> None:
    """A short prompt has no marks: they would keep nothing."""
    laid = laid_of(piece(400), piece(50, TURN))
    placement = place(laid, rule=ANTHROPIC, price=SONNET, forecast=AlwaysAlive(laid))
    assert placement.marks == ()
    assert _why(placement) == (
        "no mark at boundary 1 (system): 400 tokens are before it, and rule anthropic keeps "
        "nothing below 512"
    )
    rule = BOOK.rule("anthropic", "claude-unheard-of")
    placement = place(laid, rule=rule, price=SONNET, forecast=AlwaysAlive(laid))
    assert "below 1,024 (sources differ)" in _why(placement)


def test_what_is_asked_for_too_seldom_is_not_marked_and_says_so() -> None:
    """Nor what nobody asks for again, nor where an API takes no mark."""
    laid = laid_of(piece(4_000))
    seldom = Poisson(laid, {STATIC: 1 / 36_000})
    placement = place(laid, rule=ANTHROPIC, price=SONNET, forecast=seldom)
    assert placement.marks == ()
    assert placement.expected_usd == pytest.approx(4_000 * 2.0 / 1e6)
    assert "found by 10% of the requests that share it" in _why(placement)
    never = Poisson(laid, {})
    assert "nobody is expected to ask" in _why(
        place(laid, rule=ANTHROPIC, price=SONNET, forecast=never)
    )
    laid = laid_of(piece(4_000, markable=False))
    assert "the API lets no mark stand there" in _why(
        place(laid, rule=ANTHROPIC, price=SONNET, forecast=AlwaysAlive(laid))
    )
    assert "the mark behind it is found as often" in _why(
        place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=AlwaysAlive(CHAT))
    )


def test_without_a_price_tokens_decide() -> None:
    """The rule's factors place the same marks, and no money is made up."""
    forecast = Poisson(CHAT, BUSY)
    placement = place(CHAT, rule=ANTHROPIC, price=None, forecast=forecast)
    priced = place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=forecast)
    assert placement.marks == priced.marks
    assert placement.expected_usd is None
    assert "its factors decided, in input tokens" in _why(placement)


def test_a_lifetime_without_a_price_is_not_chosen() -> None:
    """Qwen's hour: what writing for it costs is stated nowhere."""
    rule = BOOK.rule("qwen-explicit", "qwen-max")
    slow = Poisson(CHAT, {STATIC: 1.0, REFERENCE: 0.05, SESSION: 1 / 1200})
    placement = place(CHAT, rule=rule, price=None, forecast=slow)
    assert {one.ttl for one in placement.marks} == {None}
    assert "what a write for 1h costs is not known" in _why(placement)
    unknown = marker_rule(write_factor={})
    placement = place(CHAT, rule=unknown, price=None, forecast=slow)
    assert placement.marks == ()
    assert "what a write costs under rule made-up is not known" in _why(placement)


def test_a_rule_without_lifetimes_says_that_it_counts_on_them() -> None:
    """MiniMax's or any rule that states none."""
    rule = marker_rule(ttls=(), write_factor={"": 1.25})
    forecast = Table({inf: (1.0,) * 7 + (0.0,)})
    placement = place(CHAT, rule=rule, price=None, forecast=forecast)
    assert [one.boundary for one in placement.marks] == [6]
    assert "states no lifetime" in _why(placement)


def test_long_prompts_cost_what_long_prompts_cost() -> None:
    """Beyond the length where prices double, so does what is expected."""
    price = BOOK.price("anthropic", "claude-sonnet-4-5")
    rule = BOOK.rule("anthropic", "claude-sonnet-4-5")
    laid = laid_of(piece(300_000))
    placement = place(laid, rule=rule, price=price, forecast=AlwaysAlive(laid))
    assert placement.expected_usd == pytest.approx(300_000 * 0.6 / 1e6)


def test_openai_marks_what_its_own_breakpoints_do_not() -> None:
    """The end of the history is the provider's; documents get an explicit one, for longer."""
    laid = laid_of(*CHAT.pieces[:-1])
    placement = place(laid, rule=OPENAI, price=GPT, forecast=Poisson(laid, QUICK))
    assert placement.implicit
    assert placement.marks == (Placed(3, "12h"),)


def test_openai_own_breakpoints_go_where_the_end_is_volatile() -> None:
    """A large turn piece would be written each time for nobody: explicit ones are cheaper."""
    laid = laid_of(*CHAT.pieces[:-1], piece(5_000, TURN))
    held = [Held(4, 1.0)]
    placement = place(laid, rule=OPENAI, price=GPT, forecast=Poisson(laid, QUICK), held=held)
    assert not placement.implicit
    assert {4, 6} <= {one.boundary for one in placement.marks}
    assert "own breakpoints are off" in _why(placement)
    assert placement.expected_read_tokens >= 9_500


def test_openai_reads_an_earlier_ending_without_a_mark() -> None:
    """What the request before ended with is looked up; an answer's end is not."""
    laid = laid_of(*CHAT.pieces[:-1])
    forecast = Poisson(laid, QUICK)
    placement = place(laid, rule=OPENAI, price=GPT, forecast=forecast, held=[Held(4, 1.0)])
    assert placement.expected_read_tokens == pytest.approx(9_500)
    assert 4 not in {one.boundary for one in placement.marks}
    placement = place(laid, rule=OPENAI, price=GPT, forecast=forecast, held=[Held(5, 1.0)])
    assert 5 not in {one.boundary for one in placement.marks}
    assert "9,800 tokens held at boundary 5 (messages) are not read" in _why(placement)
    assert "no mark can stand there" in _why(placement)


def test_an_answer_bears_no_breakpoint() -> None:
    """A history that ends with one: the part before it is marked, which every account takes."""
    ends = laid_of(*CHAT.pieces[:5], piece(50, TURN))
    assert ends.pieces[4].markable
    placement = place(ends, rule=OPENAI, price=GPT, forecast=Poisson(ends, QUICK))
    assert not placement.implicit
    assert [one.boundary for one in placement.marks][-1] == 4
    claude = place(ends, rule=ANTHROPIC, price=SONNET, forecast=Poisson(ends, QUICK))
    assert [one.boundary for one in claude.marks][-1] == 5


def test_units_need_no_marks() -> None:
    """What is shared is read as far as it is shared, in whole units and never the last token."""
    rule = BOOK.rule("openai-pre-5.6", "gpt-5")
    price = BOOK.price("openai", "gpt-5")
    laid = laid_of(*CHAT.pieces[:-1])
    placement = place(laid, rule=rule, price=price, forecast=AlwaysAlive(laid))
    assert placement.marks == ()
    assert placement.expected_read_tokens == 9_999 - 9_999 % 128
    assert "without marks" in _why(placement)
    short = laid_of(piece(500))
    placement = place(short, rule=rule, price=price, forecast=AlwaysAlive(short))
    assert placement.expected_read_tokens == placement.expected_written_tokens == 0
    assert "nothing is kept below 1,024" in _why(placement)


def test_units_read_what_is_held_and_what_others_share() -> None:
    """The conversation's own entry in part, else what everybody has."""
    rule = replace(BOOK.rule("openai-pre-5.6", "gpt-5"), unit_tokens=1)
    laid = laid_of(*CHAT.pieces[:-1])
    forecast = Table({300.0: (1.0, 1.0, 1.0, 0.5, 0.4, 0.4, 0.4)})
    placement = place(laid, rule=rule, price=None, forecast=forecast, held=[Held(5, 0.25)])
    chances = [1.0, 1.0, 0.5, 0.25, 0.25, 0.0]
    tokens = [2_000, 3_000, 4_000, 500, 300, 200]
    meant = sum(p * t for p, t in zip(chances, tokens, strict=True))
    assert placement.expected_read_tokens == pytest.approx(meant)


def test_persisted_units_are_read_whole() -> None:
    """DeepSeek: a read ends where prompts part, or at what was held."""
    rule = BOOK.rule("deepseek", "deepseek-chat")
    laid = laid_of(*CHAT.pieces[:-1])
    lasts_s = rule.ttls[0].low_s
    forecast = Table({lasts_s: (1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0)})
    placement = place(laid, rule=rule, price=None, forecast=forecast)
    assert placement.expected_read_tokens == 0.5 * (5_000 - 5_000 % 64) + 0.5 * (9_000 - 9_000 % 64)
    assert "promises no reads" not in _why(placement) or not rule.guaranteed
    placement = place(laid, rule=rule, price=None, forecast=forecast, held=[Held(4, 1.0)])
    assert placement.expected_read_tokens == 9_500 - 9_500 % 64


def test_what_a_turn_costs_where_whole_units_are_stored_is_said() -> None:
    """The unit ends with the turn, so that the next request cannot read it."""
    rule = BOOK.rule("deepseek", "deepseek-chat")
    said = "a unit is stored up to the prompt's end, the turn with it, so the next request reads"
    for laid, is_said in (
        (CHAT, True),
        (laid_of(*CHAT.pieces[:-1]), False),  # no turn
        (laid_of(piece(3_000, TURN)), False),  # nothing that would be sent again
        (laid_of(piece(20), piece(20, TURN)), False),  # nothing is kept
    ):
        placement = place(laid, rule=rule, price=None, forecast=AlwaysAlive(laid))
        assert (said in _why(placement)) is is_said
    units = BOOK.rule("openai-pre-5.6", "gpt-5")
    assert said not in _why(place(CHAT, rule=units, price=None, forecast=AlwaysAlive(CHAT)))


def test_what_promises_nothing_says_so() -> None:
    """Gemini's implicit cache: nothing is expected, since nothing is promised."""
    rule = BOOK.rule("gemini", "gemini-3-pro")
    placement = place(CHAT, rule=rule, price=None, forecast=AlwaysAlive(CHAT))
    assert placement.expected_read_tokens == 0
    assert "promises no reads" in _why(placement)


def test_an_object_is_made_where_tokens_pay_for_it() -> None:
    """Gemini explicit: the end of what is shared often enough; that storage is left out is said."""
    rule = BOOK.rule("gemini-explicit", "gemini-3-pro")
    price = Price(
        provider="gemini",
        model="m",
        input_usd_per_mtok=2.0,
        read_usd_per_mtok=0.2,
        write_usd_per_mtok={"": 2.0},
    )
    forecast = Poisson(CHAT, {STATIC: 1.0, REFERENCE: 0.001, SESSION: 0.0})
    placement = place(CHAT, rule=rule, price=price, forecast=forecast)
    assert placement.marks == (Placed(3, None),)
    found = 3.6 / 4.6  # 3.6 requests in the hour after the one that made it, none of them a refresh
    assert placement.expected_written_tokens == pytest.approx((1 - found) * 9_000)
    assert placement.expected_read_tokens == 9_000
    assert placement.expected_usd == pytest.approx(
        (9_000 * 0.2 + (1 - found) * 9_000 * 2.0 + 1_050 * 2.0) / 1e6
    )
    assert "storage is billed" in _why(placement)
    assert place(CHAT, rule=rule, price=price, forecast=forecast, most=0).marks == ()


def test_an_object_that_does_not_pay_is_not_made() -> None:
    """Nobody comes again: making it would cost the read on top."""
    rule = BOOK.rule("gemini-explicit", "gemini-3-pro")
    placement = place(CHAT, rule=rule, price=None, forecast=Poisson(CHAT, {}))
    assert placement.marks == ()
    assert "no object pays" in _why(placement)


def test_a_rule_that_says_nothing_is_passed_on() -> None:
    """`usage-only`: no marks, no money, no reads made up."""
    rule = BOOK.rule("mistral", "mistral-large")
    placement = place(CHAT, rule=rule, price=None, forecast=AlwaysAlive(CHAT))
    assert placement.marks == ()
    assert placement.expected_usd is None
    assert "does not say what is read" in _why(placement)


def test_chances_and_boundaries_that_cannot_be_are_refused() -> None:
    """A forecast above 1, entries beyond the prompt, chances of entries that are none."""
    forecast = AlwaysAlive(CHAT)
    row: tuple[float, ...] = (1.0,) * 3 + (1.5,) * 5
    rows = dict.fromkeys((300.0, 3600.0), row)
    with pytest.raises(UsageError, match=r"the forecast for boundary 3 and 3600 s is 1\.5"):
        place(CHAT, rule=marker_rule(), price=None, forecast=Table(rows))
    for held in (Held(0, 1.0), Held(8, 1.0), Held(2, 1.5)):
        with pytest.raises(UsageError, match="boundaries go from 1 to 7 here"):
            place(CHAT, rule=ANTHROPIC, price=SONNET, forecast=forecast, held=[held])


@pytest.mark.parametrize("held", [(), (Held(4, 1.0),), (Held(3, 0.4),)])
@pytest.mark.parametrize("name", sorted(BOOK.rules))
def test_where_nothing_expires_nobody_pays_for_a_longer_lifetime(
    name: str, held: tuple[Held, ...]
) -> None:
    """All lifetimes are worth the same, so the cheapest write is taken: that of the default."""
    rule = BOOK.rule(name)
    for laid in (CHAT, laid_of(*CHAT.pieces[:-1]), laid_of(*CHAT.pieces[:-1], piece(5_000, TURN))):
        marks = place(laid, rule=rule, price=None, forecast=AlwaysAlive(laid), held=held).marks
        assert {mark.ttl for mark in marks} <= {None}
        assert (
            marks or rule.kind not in {"markers", "objects"} or rule.minimum_tokens.likely > 9_000
        )


def test_nothing_laid_is_nothing_placed() -> None:
    """An empty prompt costs nothing under every kind of rule."""
    laid = laid_of()
    for name, rule in BOOK.rules.items():
        placement = place(laid, rule=rule, price=None, forecast=AlwaysAlive(laid))
        assert placement.marks == (), name
        assert placement.expected_read_tokens == 0


@pytest.mark.parametrize("name", sorted(BOOK.rules))
def test_every_rule_of_the_book_places(name: str) -> None:
    """Marks are no more than the rule takes, rise, and longer lifetimes stand first."""
    rule = BOOK.rule(name)
    lasts_s = {one.name: one.low_s for one in rule.ttls}
    for known in ((), (Held(3, 0.9),)):
        placement = place(CHAT, rule=rule, price=None, forecast=Poisson(CHAT, BUSY), held=known)
        places = [one.boundary for one in placement.marks]
        assert places == sorted(set(places))
        assert len(places) <= (rule.most_markers or 1)
        assert all(one.ttl is None or one.ttl in lasts_s for one in placement.marks)
        assert (rule.kind in {"markers", "breakpoints", "objects"}) or not placement.marks


@pytest.mark.parametrize("seed", range(10))
def test_random_cases_are_told_in_full(seed: int) -> None:
    """What is read and written is no more than the prompt; equal input gives equal output."""
    chance = Random(seed)
    for _ in range(10):
        case = random_case(chance, count=chance.randint(1, 9))
        placed = [
            place(
                case.laid,
                rule=case.rule,
                price=case.price,
                forecast=case.forecast,
                held=case.held,
                most=case.most,
            )
            for _ in range(2)
        ]
        assert placed[0] == placed[1]
        total = case.laid.tokens()[-1]
        assert placed[0].expected_read_tokens + placed[0].expected_written_tokens <= total + 1e-6
        assert (placed[0].expected_usd is None) == (case.price is None)
        marks = [one.boundary for one in placed[0].marks]
        minimum = case.rule.minimum_tokens.likely
        assert all(case.laid.tokens()[at] >= minimum for at in marks)
        assert all(case.laid.pieces[at - 1].stability is not TURN for at in marks)


def test_lifetimes_are_those_that_the_provider_promises() -> None:
    """A lifetime of half an hour to a day counts as half an hour."""
    rule = marker_rule(ttls=(Ttl("30m", 1800, 86_400),), write_factor={"30m": 1.25})
    forecast = Table({1800.0: (1.0,) * 7 + (0.0,)})
    assert place(CHAT, rule=rule, price=None, forecast=forecast).marks == (Placed(6, None),)


def test_a_minimum_that_sources_contest_is_taken_as_likely() -> None:
    """Between the low and the likely figure nothing is marked."""
    contested = Range(low=1_000, high=8_000, likely=6_000, sources=())
    rule = marker_rule(minimum_tokens=contested)
    placement = place(CHAT, rule=rule, price=None, forecast=Poisson(CHAT, BUSY))
    assert [one.boundary for one in placement.marks] == [3, 6]
    assert "below 6,000 (sources differ)" in _why(placement)


def test_marks_well_inside_a_look_back_are_no_dearer() -> None:
    """Beside all placements; and what one mark more could make sure of is sure."""
    chance = Random(2_000)
    surer = 0
    for _ in range(1_000):
        case = random_case(chance, count=chance.randint(3, 7), known=True)
        rule = case.rule
        if rule.kind != "markers" or rule.look_back is None:
            continue
        placed = _placed(case, rule)
        terms = terms_of(rule, case.price, prompt_tokens=case.laid.tokens()[-1])
        assert terms is not None
        ground = _ground(case, rule, terms)
        most = min(one for one in (rule.most_markers, case.most, 7) if one is not None)
        score = expected(ground, terms, placed).score
        allowed = [at for at in range(1, ground.last + 1) if ground.allowed[at]]
        least = min(
            expected(ground, terms, [Set(*one) for one in marks]).score
            for marks in placements(allowed, most, len(terms.lifetimes))
        )
        assert score <= least + 3e-9 * terms.input * ground.tokens[-1]
        if len(placed) == most or not all(ground.allowed[one.boundary] for one in ground.found):
            continue
        # With a mark to spare nothing hangs on the last position, nor on what a run counts.
        edge = max(rule.look_back - 1, 1)
        narrow = _ground(case, replace(rule, look_back=edge, runs_collapse=False), terms)
        assert expected(narrow, terms, placed).score == pytest.approx(score)
        surer += len(placed) > len(best_marks(ground, terms, most))
    assert surer > 5  # have a mark that is set for this alone


def _ground(case: Case, rule: Rule, terms: Terms) -> Ground:
    return ground_of(
        case.laid,
        rule=rule,
        terms=terms,
        forecast=case.forecast,
        held=case.held,
        last=windows(case.laid, rule),
    )


def _placed(case: Case, rule: Rule) -> list[Set]:
    placement = place(
        case.laid,
        rule=rule,
        price=case.price,
        forecast=case.forecast,
        held=case.held,
        most=case.most,
    )
    terms = terms_of(rule, case.price, prompt_tokens=case.laid.tokens()[-1])
    assert terms is not None
    names = [one.name for one in terms.lifetimes]
    return [Set(mark.boundary, names.index(mark.ttl)) for mark in placement.marks]
