from typing import Any

from stemcache.lab.report.glossary import glossary
from stemcache.lab.report.summary import facts, lead
from tests.lab.answers import answer, regret, result, tenant


def said(given: dict[str, Any]) -> str:
    """The sentence."""
    return "".join(piece.text for piece in lead(given))


def strong(given: dict[str, Any]) -> list[str]:
    """What stands out of it."""
    return [piece.text for piece in lead(given) if piece.strong]


def test_one_sentence_says_what_is_attainable_and_what_it_takes() -> None:
    """Ideal, the largest lru asked about, the capacities for half and nearly all, the optimum."""
    assert said(answer()) == (
        "A cache without a bound finds 37.5% of the tokens, the ideal; "
        "lru finds 21.0% with 10,000 blocks (5,120,000 tokens), "
        "reaches 50% of the ideal with 9,000 blocks (4,608,000 tokens), "
        "90% of the ideal with 32,000 blocks (16,384,000 tokens) "
        "and 95% of the ideal with 39,000 blocks (19,968,000 tokens); "
        "the optimum's block hit rate is up to 15.4 points higher, "
        "with 10,000 blocks (5,120,000 tokens)."
    )


def test_what_a_reader_takes_away_is_strong() -> None:
    """The figures, not the words around them."""
    assert strong(answer()) == [
        "37.5%",
        "21.0%",
        "9,000 blocks (4,608,000 tokens)",
        "32,000 blocks (16,384,000 tokens)",
        "39,000 blocks (19,968,000 tokens)",
        "15.4 points",
    ]


def test_without_the_optimum_nothing_is_said_of_it() -> None:
    """What was not asked is not made up."""
    given = answer(results=[result("lru", 1, 0.1)])

    assert "optimum" not in said(given)
    assert "lru finds 10.0% with 1 block (512 tokens)" in said(given)


def test_an_optimum_that_is_no_better_is_said_to_be_so() -> None:
    """No regret is worth knowing."""
    given = answer(results=[result("lru", 1000, 0.375, regret=regret(0.0, 1.0))])

    assert said(given).endswith("; the optimum has no higher hit rate.")


def test_only_plain_lru_speaks_for_lru() -> None:
    """Not one with a time to live, without a bound, or with a second tier."""
    second = {"capacity_blocks": 9, "block_hit_rate": 0.1}
    rows = [
        result("lru", 9000, 0.1, ttl_s=60.0),
        result("lru", None, 0.375),
        result("lru", 9000, 0.3, second_tier=second),
        result("arc", 9000, 0.3),
    ]

    assert "lru finds" not in said(answer(results=rows))
    assert "; lru reaches 50% of the ideal" in said(answer(results=rows))


def test_a_share_that_is_never_reached_is_not_quoted() -> None:
    """Half may be reached where 95% is not."""
    needs = [
        {"share_of_ideal": 0.5, "capacity_blocks": 8},
        {"share_of_ideal": 0.95, "capacity_blocks": None},
    ]

    sentence = said(answer(lru_needs=needs, results=[]))

    assert "; lru reaches 50% of the ideal with 8 blocks (4,096 tokens)." in sentence
    assert "95%" not in sentence


def test_capacities_are_a_sessions_where_sessions_stand_apart() -> None:
    """A reader must not take one session's cache for all."""
    assert "10,000 blocks (5,120,000 tokens) a session" in said(answer(caches="one a session"))


def test_no_sharing_and_no_tokens_have_sentences_of_their_own() -> None:
    """There is no capacity to recommend."""
    zero = {"block_hit_rate": 0.0, "token_hit_rate": 0.0, "tenants": {}}
    unknown: dict[str, Any] = {"block_hit_rate": None, "token_hit_rate": None, "tenants": {}}

    alone = answer(ideal=zero, blocks=9, distinct_blocks=9)
    assert said(alone).startswith("No prompt begins as an earlier one does")
    short = answer(ideal=zero, blocks=0, distinct_blocks=0)
    assert said(short) == "No prompt is as long as a block of 512 tokens: try smaller blocks."
    assert said(answer(ideal=zero)) == (
        "Prompts share beginnings, but none of those that count found one."
    )
    assert said(answer(ideal=unknown)).startswith("The trace has no prompt tokens")


def test_the_facts_of_a_trace() -> None:
    """As the terminal has them."""
    assert facts(answer()) == [
        ("requests", "12,031"),
        ("span", "58.9 min"),
        ("prompt tokens", "144,793,823"),
        ("blocks", "288,500 of 512 tokens"),
        ("distinct blocks", "182,790"),
        ("ideal hit rate", "37.5% of tokens"),
        ("ideal block hit rate", "36.0% of blocks"),
    ]


def test_what_is_odd_about_a_trace_is_among_its_facts() -> None:
    """Sessions without a common clock, requests out of order, no times at all."""
    late = {"requests": 17, "furthest_back_s": 2.5}

    told = dict(facts(answer(caches="one a session", out_of_order=late, span_s=0.0)))

    assert told["caches"].startswith("one a session")
    assert told["out of order"] == (
        "17 requests stand behind later ones in the file, up to 2.5 s; "
        "they were taken in the file's order"
    )
    assert "none: all at one moment" == told["span"]


def test_the_glossary_has_the_words_of_the_page_and_no_others() -> None:
    """A word that the page does not use is left out."""
    plain = dict(glossary(answer(results=[result()])))
    kept = {"most_a_prompt": 1, "requests": 1, "cached_tokens_read": 1}
    second = {"capacity_blocks": 9, "block_hit_rate": 0.1}
    ideal = {"block_hit_rate": 0.3, "token_hit_rate": 0.3, "tenants": {"ann": tenant(1, 1, 0.3)}}
    rows = [
        result("min"),
        result("min-bypass"),
        result(ttl_s=60.0, keep_alive=kept),
        result(second_tier=second),
    ]

    full = dict(glossary(answer(ideal=ideal, results=rows)))

    assert set(full) - set(plain) == {
        "optimum",
        "below optimum",
        "computed / optimum",
        "min-bypass",
        "time to live",
        "keep-alive",
        "second tier",
        "tenant",
    }
    assert list(full) == sorted(full)


def test_the_glossary_follows_what_is_counted() -> None:
    """Lives from the write are other lives, and characters are not tokens."""
    renewed = dict(glossary(answer(results=[result(ttl_s=60.0)])))
    written = dict(glossary(answer(results=[result(ttl_s=60.0, refresh=False)])))
    characters = dict(glossary(answer(unit="characters")))

    assert renewed["time to live"].endswith("after its last use")
    assert written["time to live"].endswith("after it was computed")
    assert characters["hit rate"].startswith("cached characters over prompt characters")
