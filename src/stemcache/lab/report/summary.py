"""The one sentence that matters, and the facts of the trace."""

from typing import Any

from stemcache.lab.report.parts import Piece
from stemcache.lab.report.wording import count, lasting, percent, points

__all__ = ["facts", "lead", "nothing_found"]


def lead(answer: dict[str, Any]) -> list[Piece]:
    """What is attainable, what LRU gets, what capacity it takes, how far the optimum is."""
    ideal, unit = answer["ideal"]["token_hit_rate"], answer["unit"]
    if ideal is None:
        return [Piece(f"The trace has no prompt {unit}, so there is no hit rate to tell.")]
    if not ideal:
        return [Piece(nothing_found(answer))]
    said = [Piece("A cache without a bound finds "), Piece(percent(ideal), strong=True)]
    said.append(Piece(f" of the {unit}, the ideal"))
    clauses = [*_of_lru(answer), *_needed(answer)]
    for number, (before, figure, after) in enumerate(clauses):
        opening = "; lru " if number == 0 else " and " if number == len(clauses) - 1 else ", "
        said += [Piece(opening + before), Piece(figure, strong=True), Piece(after)]
    return [*said, *_below_optimum(answer), Piece(".")]


def nothing_found(answer: dict[str, Any]) -> str:
    """Why the ideal is zero."""
    if not answer["blocks"]:
        size = f"{answer['block_size']} {answer['unit']}"
        return f"No prompt is as long as a block of {size}: try smaller blocks."
    if answer["distinct_blocks"] == answer["blocks"]:
        return "No prompt begins as an earlier one does: no cache of prefixes will help."
    return "Prompts share beginnings, but none of those that count found one."


def facts(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values, in the order in which people ask for them."""
    unit, ideal, late = answer["unit"], answer["ideal"], answer["out_of_order"]
    said = [
        ("requests", count(answer["requests"])),
        ("span", lasting(answer["span_s"]) if answer["span_s"] else "none: all at one moment"),
        (f"prompt {unit}", count(answer["prompt_tokens"])),
        ("blocks", f"{count(answer['blocks'])} of {count(answer['block_size'])} {unit}"),
        ("distinct blocks", count(answer["distinct_blocks"])),
        ("ideal hit rate", f"{percent(ideal['token_hit_rate'])} of {unit}"),
        ("ideal block hit rate", f"{percent(ideal['block_hit_rate'])} of blocks"),
    ]
    if answer["caches"] != "one":
        said.append(
            ("caches", "one a session, as times count from the start of each: nothing is shared")
        )
    if late["requests"]:
        told = (
            f"{count(late['requests'])} requests stand behind later ones in the file, up to "
            f"{lasting(late['furthest_back_s'])}; they were taken in the file's order"
        )
        said.append(("out of order", told))
    return said


def _of_lru(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    bounded = [
        row
        for row in answer["results"]
        if row["policy"] == "lru"
        and row["ttl_s"] is None
        and row["capacity_blocks"] is not None
        and "second_tier" not in row
    ]
    if not bounded:
        return []
    row = max(bounded, key=lambda each: each["capacity_blocks"])
    return [("finds ", percent(row["token_hit_rate"]), f" with {_size(answer, row)}")]


def _needed(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    said: list[tuple[str, str, str]] = []
    for need in answer["lru_needs"]:
        if need["capacity_blocks"] is not None:
            verb = "reaches " if not said else ""
            size = _size(answer, need)
            said.append((f"{verb}{need['share_of_ideal']:.0%} of the ideal with ", size, ""))
    return said


def _below_optimum(answer: dict[str, Any]) -> list[Piece]:
    known = [
        row
        for row in answer["results"]
        if row["policy"] == "lru" and (row.get("regret") or {}).get("block_hit_rate") is not None
    ]
    if not known:
        return []
    worst = max(known, key=lambda row: row["regret"]["block_hit_rate"])
    lost = worst["regret"]["block_hit_rate"]
    if lost <= 0:
        return [Piece("; the optimum has "), Piece("no higher", strong=True), Piece(" hit rate")]
    return [
        Piece("; the optimum's block hit rate is up to "),
        Piece(points(lost), strong=True),
        Piece(f" higher, with {_size(answer, worst)}"),
    ]


def _size(answer: dict[str, Any], row: dict[str, Any]) -> str:
    blocks = row["capacity_blocks"]
    noun = "block" if blocks == 1 else "blocks"
    each = "" if answer["caches"] == "one" else " a session"
    held = f"{count(blocks * answer['block_size'])} {answer['unit']}"
    return f"{count(blocks)} {noun} ({held}){each}"
