from typing import Any

from stemcache.lab.report.parts import Table
from stemcache.lab.report.tables import results_table, row_name, tenants_table
from tests.lab.answers import answer, regret, result, tenant


def named(table: Table, row: int) -> dict[str, str]:
    """A row's cells by column."""
    assert len(table.columns) == len(table.rows[row])
    return {
        column.name: cell.text for column, cell in zip(table.columns, table.rows[row], strict=True)
    }


def with_tenants(tenants: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer that tells tenants apart."""
    ideal = {"block_hit_rate": 0.36, "token_hit_rate": 0.375, "tenants": tenants}
    return answer(ideal=ideal, results=rows)


def test_every_number_of_a_row_is_in_the_table() -> None:
    """Formatted as in the terminal."""
    given = answer(results=[result("lru", 1000, 0.25, regret=regret(0.134, 1.19))])

    assert named(results_table(given), 0) == {
        "policy": "lru",
        "blocks": "1,000",
        "tokens": "512,000",
        "hit rate": "25.0%",
        "of ideal": "66.7%",
        "block hit rate": "24.0%",
        "below optimum": "13.4 points",
        "computed / optimum": "1.19\N{MULTIPLICATION SIGN}",
        "cached blocks": "1,234",
        "cached tokens": "631,808",
        "computed tokens": "7,654,321",
    }


def test_columns_appear_with_the_rows_that_fill_them() -> None:
    """And are blank in rows that do not."""
    second = {"capacity_blocks": 4321, "block_hit_rate": 0.0777}
    kept = {"most_a_prompt": 3, "requests": 77, "cached_tokens_read": 88_999}
    rows = [
        result("lru", 500, 0.2, second_tier=second),
        result("lru", None, 0.2, ttl_s=60.0, keep_alive=kept),
        result("arc", None, 0.2),
    ]

    table = results_table(answer(results=rows))

    tiered, timed, plain = (named(table, number) for number in range(3))
    assert ("4,321", "7.8%") == (tiered["second tier, blocks"], tiered["of it second tier"])
    assert ("no bound", "") == (tiered["time to live"], tiered["keep-alive requests"])
    assert ("no bound", "") == (timed["blocks"], timed["tokens"])
    assert ("1 min", "77") == (timed["time to live"], timed["keep-alive requests"])
    assert "88,999" == timed["cached tokens they read"]
    assert ("", "") == (plain["second tier, blocks"], plain["cached tokens they read"])
    assert ["Keep-alive: at most 3 requests after the last use of a prompt."] == table.notes


def test_hundreds_of_rows_are_all_there() -> None:
    """In the answer's order."""
    rows = [result("lru", number, 0.2) for number in range(1, 701)]

    table = results_table(answer(results=rows))

    assert [f"{number:,}" for number in range(1, 701)] == [row[1].text for row in table.rows]


def test_lives_that_nothing_renews_are_noted() -> None:
    """They mean something else."""
    rows = [result("lru", None, 0.2, ttl_s=60.0, refresh=False)]

    notes = results_table(answer(results=rows)).notes

    assert ["Lives count from when a block was computed; no use renews them."] == notes


def test_an_unknown_rate_has_no_bar() -> None:
    """A bar of no length would say zero."""
    table = results_table(answer(results=[result("lru", 1000, None), result("lru", 1000, 0.0)]))

    unknown, zero = table.rows
    assert ("unknown", None) == (unknown[3].text, unknown[3].share)
    assert ("0.0%", 0.0) == (zero[3].text, zero[3].share)
    assert "" == unknown[4].text


def test_a_row_has_a_name_of_a_few_words() -> None:
    """Policy, capacity, time to live."""
    assert "lru, 1,000 blocks" == row_name(result())
    assert "arc, no bound" == row_name(result("arc", None))
    assert "lru, no bound, 5 min" == row_name(result("lru", None, ttl_s=300.0))


def test_no_tenants_no_table() -> None:
    """A trace that names none has nothing to tell apart."""
    assert tenants_table(answer()) is None


def test_tenants_stand_largest_first_beside_every_cache() -> None:
    """By prompt tokens; a tenant without a name is called so."""
    rows = [
        result("lru", 10, 0.1, tenants={"ann": tenant(1, 5, 0.12), "": tenant(9, 70, None)}),
        result("lru", 20, 0.1, tenants={"ann": tenant(1, 5, 0.13)}),
        result("min", 10, 0.1),
    ]

    table = tenants_table(with_tenants({"ann": tenant(1, 5, 0.5), "": tenant(9, 70, 0.4)}, rows))

    assert table is not None
    assert named(table, 0) == {
        "tenant": "(none)",
        "requests": "9",
        "prompt tokens": "70",
        "ideal": "40.0%",
        "lru, 10 blocks": "unknown",
        "lru, 20 blocks": "",
    }
    assert "12.0%" == named(table, 1)["lru, 10 blocks"]
    assert "13.0%" == named(table, 1)["lru, 20 blocks"]


def test_of_thousands_of_tenants_the_largest_fifty_are_shown_and_the_rest_counted() -> None:
    """With what they sent together."""
    tenants = {f"t{number}": tenant(2, number, 0.1) for number in range(1, 3001)}

    table = tenants_table(with_tenants(tenants, [result()]))

    assert table is not None
    assert [f"t{number}" for number in range(3000, 2950, -1)] == [row[0].text for row in table.rows]
    assert table.notes[1] == (
        "And 2,950 smaller tenants with 5,900 requests and 4,352,725 prompt tokens: "
        "--output-format json has them."
    )


def test_of_many_caches_the_tenants_see_the_first_few() -> None:
    """And read where the others are."""
    tenants = {"ann": tenant(1, 5, 0.5)}
    rows = [result("lru", number, 0.1, tenants=tenants) for number in range(1, 21)]

    table = tenants_table(with_tenants(tenants, rows))

    assert table is not None
    assert 4 + 8 == len(table.columns)
    assert "The first 8 of 20 caches are shown: --output-format json has all." == table.notes[-1]


def test_equally_large_tenants_stand_in_order_of_their_names() -> None:
    """So that equal answers give equal pages."""
    tenants = {name: tenant(1, 5, 0.5) for name in ("cy", "ann", "bob")}

    table = tenants_table(with_tenants(tenants, []))

    assert table is not None
    assert ["ann", "bob", "cy"] == [row[0].text for row in table.rows]
