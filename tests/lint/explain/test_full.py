"""The page for people, and that no text of a prompt is on it unless asked for."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from stemcache.lint.explain.as_json import as_json, render
from stemcache.lint.explain.explain import explain
from stemcache.lint.explain.request import Request
from tests.lint.explain.requests import HOW, changed, explained, request, shown
from tests.lint.logs import anthropic, prose, tool

SYSTEM = f"Now: 2026-11-30T05:14:01Z\nYou help.\n{prose(3_000, 7)}"
LATER = SYSTEM.replace("14:01", "14:31")
TOLD = explained(anthropic(3, system=SYSTEM), anthropic(4, system=LATER))


def test_the_first_difference_is_shown_like_a_compilers() -> None:
    """Place, both lines masked, the class underlined, and what is lost."""
    lines = shown(TOLD, width=100).splitlines()
    at = lines.index(
        "STM101 clock-in-prefix: an ISO time with seconds differs in the system prompt"
    )
    assert lines[at + 1].startswith("  --> b.json:")
    assert lines[at + 1].endswith("  /system/0/text char 22, in the ISO time from char 5 on")
    assert lines[at + 2].startswith("  was a.json:")
    rest = len(SYSTEM) - 25
    assert lines[at + 3 : at + 8] == [
        "   |",
        f" A | [5 chars] [ISO time, 20 chars] [{rest:,} chars]",
        "   |           ^^^^^^^^^^^^^^^^^^^^",
        f" B | [5 chars] [ISO time, 20 chars] [{rest:,} chars]",
        "   |           ^^^^^^^^^^^^^^^^^^^^",
    ]
    assert lines[at + 8].startswith("   = lost to it: about ")
    assert "(tools " in lines[at + 8]


def test_with_the_text_the_exact_characters_are_underlined() -> None:
    """On the line that they stand on, in words as wide as they are."""
    lines = shown(TOLD, show_text=True).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(" A |"))
    assert lines[at : at + 4] == [
        " A | Now: 2026-11-30T05:14:01Z…",
        "   |                       ^",
        " B | Now: 2026-11-30T05:14:31Z…",
        "   |                       ^",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "carets"),
    [
        ("日本 x=a end", "日本 x=b end", " B | 日本 x=b end", "   |      ^^^"),
        ("a\tb one", "a\tb two", " B | a\\tb two", "   |      ^^^"),
        ("say \x1b[31m", "say \x1b[32m", " B | say \\x1b[32m", None),
        ("x", "x and more", " B | x and more", None),
    ],
)
def test_wide_and_unseen_characters_keep_carets_in_place(
    old: str, new: str, line: str, carets: str | None
) -> None:
    """Controls are written as escapes."""
    body = {"model": "claude-opus-5", "max_tokens": 1, "system": prose(3_000)}
    one = {**body, "messages": [{"role": "user", "content": old}, {"role": "user", "content": "?"}]}
    other = changed(one, "messages", 0, "content", to=new)
    lines = shown(explained(one, other), show_text=True).splitlines()
    at = lines.index(line)
    below = lines[at + 1]
    assert "\x1b" not in "".join(lines)
    assert "^" in below
    assert cell_len(below) <= cell_len(line)
    if carets is not None:
        assert below.strip().strip("| ") in carets


def test_a_fault_of_markers_does_not_hide_where_texts_differ() -> None:
    """Both are shown with their places."""
    body = {"model": "claude-opus-5", "max_tokens": 1, "system": prose(3_000)}
    one = {**body, "messages": [{"role": "user", "content": "What is it?"}]}
    page = shown(explained(one, changed(one, "messages", 0, "content", to="Where is it?")))
    assert page.index("STM403 no-marker") < page.index("What differs first, and costs nothing more")
    assert " A | [2 chars] [text, 2 chars] [7 chars]" in page


def test_colour_marks_both_sides_and_moves_nothing() -> None:
    """What is painted is the text that is there without."""
    plain = shown(TOLD)
    painted = shown(TOLD, paint=lambda text, style: f"<{style}>{text}</>")
    assert "<red>[ISO time, 20 chars]</>" in painted
    assert "<green>[ISO time, 20 chars]</>" in painted
    for style in ("red", "green", "yellow", "bold"):
        painted = painted.replace(f"<{style}>", "")
    assert painted.replace("</>", "") == plain


def test_help_is_given_for_each_rule_once() -> None:
    """That of the first without its name."""
    new = changed(anthropic(4, system=LATER), "tool_choice", to={"type": "any"})
    told = explained(anthropic(3, system=SYSTEM), new)
    page = shown(told, width=300)
    assert [one.code for one in told.differences] == ["STM101", "STM501"]
    assert "\nhelp: Move the ISO time" in page
    assert "\nhelp for STM501: Keep tool_choice as it is" in page
    assert "STM501 parameter: tool_choice has another value" in page


def test_a_huge_line_is_cut_on_both_sides() -> None:
    """To the width of the page, with the difference in view."""
    text = "y" * 400_000 + " alpha " + "z" * 400_000
    one = {
        "model": "claude-opus-5",
        "max_tokens": 1,
        "system": text,
        "messages": [{"role": "user", "content": "?"}],
    }
    told = explained(one, changed(one, "system", to=text.replace("alpha", "beta")))
    page = shown(told, show_text=True, width=80)
    shown_lines = [line for line in page.splitlines() if line.startswith((" A |", " B |"))]
    assert all(cell_len(line) <= 80 for line in shown_lines)
    assert "alpha" in shown_lines[0]
    assert "beta" in shown_lines[1]
    assert shown_lines[0].count("…") == 2


def test_equal_requests_say_so_and_what_should_be_read() -> None:
    """With the reasons that remain."""
    page = shown(explained(anthropic(3), anthropic(4)))
    assert "Nothing differs that the provider sees: B goes on where A ends, with 2 blocks" in page
    assert "read: by the rule B reads about" in page
    assert "marker at /messages/6/content/0 looks back over 20 blocks: found" in page


def test_what_costs_nothing_is_shown_as_that() -> None:
    """The difference is at the end of what is shared."""
    one = {
        "model": "gpt-5.5",
        "messages": [
            {"role": "system", "content": prose(3_000)},
            {"role": "user", "content": "What is it?"},
        ],
    }
    page = shown(explained(one, changed(one, "messages", 1, "content", to="Where is it?")))
    assert "Nothing that differs costs anything. What differs first:" in page


def test_spelling_is_listed_apart() -> None:
    """Under a heading that says that nobody sees it."""
    body = anthropic(2)
    told = explained(body, dict(reversed(body.items())))
    page = shown(told, width=200)
    assert "differs in spelling only: no provider sees it" in page
    assert (
        "order of keys: A model, max_tokens, tools, system, messages; "
        "B messages, system, tools, max_tokens, model"
    ) in page


def test_names_cannot_move_the_cursor() -> None:
    """Of files, models, keys."""
    old, new = (
        request(anthropic(2), "a\x1b[2J"),
        request(anthropic(2), "b\n\u202e.json", model="\x07"),
    )
    page = shown(explain(old, new, how=HOW))
    assert not set(page) & set("\x1b\x07\u202e")
    assert "a\\x1b[2J" in page


PROSE = prose(700)
SECRETS = st.text(
    st.sampled_from('qzjxvk QZJXVK\n\té漢/\\"{}[]:,'), min_size=12, max_size=60
).filter(lambda text: len(set(text.strip())) > 5)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Two bodies with texts anywhere, and those texts."""
    texts = draw(st.lists(SECRETS, min_size=4, max_size=10))
    drawn = st.sampled_from(texts)

    def body() -> dict[str, Any]:
        blocks = [{"type": "text", "text": draw(drawn)} for _ in range(draw(st.integers(1, 3)))]
        use = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"q": draw(drawn)}}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": draw(drawn)}
        described = {**tool("find"), "description": draw(drawn)}
        return {
            "model": "claude-opus-5",
            "max_tokens": 5,
            "tools": [described, tool("other")][: draw(st.integers(1, 2))],
            "system": draw(drawn) + PROSE + draw(drawn),
            "messages": [
                {"role": "user", "content": draw(st.sampled_from([blocks, blocks[::-1]]))},
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result]},
                {"role": "user", "content": draw(drawn)},
            ][draw(st.integers(0, 1)) :],
        }

    return body(), body(), texts


@settings(max_examples=30)
@given(pairs())
def test_masked_output_never_holds_a_text(
    pair: tuple[dict[str, Any], dict[str, Any], list[str]],
) -> None:
    """Neither the page nor the JSON: not a whole one, and not six characters in a row."""
    old, new, texts = pair
    told = explained(old, new)
    out = shown(told, width=400) + "\n" + "\n".join(render(told))
    for text in texts:
        for start in range(len(text) - 5):
            piece = text[start : start + 6]
            if (piece.strip() and not piece.isascii()) or any(c in "qzjxvkQZJXVK" for c in piece):
                assert piece not in out
                assert json.dumps(piece)[1:-1] not in out


@given(pairs())
@settings(max_examples=30)
def test_with_the_text_every_line_can_be_printed(
    pair: tuple[dict[str, Any], dict[str, Any], list[str]],
) -> None:
    """No control character is left, and the JSON can be read back."""
    old, new, _ = pair
    told = explained(old, new)
    page = shown(told, show_text=True)
    assert all(char.isprintable() or char == "\n" for char in page)
    assert json.loads("\n".join(render(told, show_text=True)))["version"] == 1


def test_the_json_has_its_documented_names() -> None:
    """And null for what is not known."""
    told = as_json(TOLD)
    assert list(told) == [
        "version",
        "costs",
        "lost_tokens",
        "prompt_tokens",
        "a",
        "b",
        "differences",
        "uncosted",
        "more_differences",
        "unkeyed_parameters",
        "refusals",
        "cache",
        "reading",
        "diagnosis",
        "spelling_only",
        "remarks",
    ]
    assert told["costs"] is True
    assert told["diagnosis"] is None
    assert told["reading"]["reported_tokens"] is None
    (one,) = told["differences"]
    assert list(one) == [
        "code",
        "name",
        "kind",
        "message",
        "lost_tokens",
        "by_section",
        "joint",
        "needed",
        "a",
        "b",
        "help",
    ]
    assert one["b"]["pointer"] == "/system/0/text"
    assert one["b"]["char"] == 22
    assert "text" not in one["b"]
    assert as_json(TOLD, show_text=True)["differences"][0]["b"]["before"].startswith("Now: ")


def test_unknown_spelling_is_null_in_json() -> None:
    """Not an empty list, which says that there is none."""
    bare = Request(name="a", call=request(anthropic(2)).call)
    assert as_json(explain(bare, bare, how=HOW))["spelling_only"] is None
    assert as_json(explained(anthropic(2), anthropic(2)))["spelling_only"] == []


def test_half_a_surrogate_pair_is_shown_as_an_escape() -> None:
    """Some decoders let it pass."""
    one = anthropic(2, system="bad \ud800 one. " + prose(2_000))
    other = anthropic(2, system="bad \ud801 one. " + prose(2_000))
    told = explained(one, other)
    shown(told, show_text=True).encode()
    "\n".join(render(told, show_text=True)).encode()
