import json
import re
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.lint.explain.drawing import around_place, masked
from stemcache.lint.explain.explain import explain
from stemcache.lint.explain.request import BodyText, Request
from tests.lint.explain.requests import HOW, changed, explained, request
from tests.lint.logs import anthropic, prose

SYSTEM = f"Now: 2026-11-30T05:14:01Z\nYou help.\n{prose(3_000, 7)}"
LATER = SYSTEM.replace("14:01", "14:31")


def test_line_and_column_are_those_of_the_file() -> None:
    """Of a body that is laid out over many lines, the exact character."""
    told = explained(anthropic(3, system=SYSTEM), anthropic(3, system=LATER))
    view, old = told.differences[0].new, told.differences[0].old
    body = request(anthropic(3, system=LATER), "b.json")
    assert body.text is not None
    assert old is not None
    assert view.line is not None
    assert view.column is not None
    line = body.text.text.splitlines()[view.line - 1]
    assert line[view.column - 1 :].startswith("31Z\\nYou help.")
    assert (view.file, old.file, old.line, old.column) == (
        "b.json",
        "a.json",
        view.line,
        view.column,
    )


def test_the_exact_characters_are_known() -> None:
    """Within the word or number that they are in."""
    told = explained(anthropic(3, system=SYSTEM), anthropic(3, system=LATER))
    excerpt = told.differences[0].new.excerpt
    assert excerpt is not None
    assert excerpt.before + excerpt.text + excerpt.after == "Now: 2026-11-30T05:14:31Z"
    assert excerpt.text[excerpt.exact_start : excerpt.exact_end] == "3"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(max_examples=60)
@given(TEXTS, TEXTS, st.sampled_from([None, 0, 1, 4]), st.booleans())
def test_the_place_in_the_file_is_that_of_the_character(
    head: str,
    tail: str,
    indent: int | None,
    escaped: bool,  # noqa: FBT001  # drawn
) -> None:
    """In any layout and behind any escapes."""

    def made(middle: str, name: str) -> Request:
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": f"{head}{middle}{tail}"}],
            "model": "gpt-5.5",
        }
        text = json.dumps(body, indent=indent, ensure_ascii=escaped)
        whole = request(body, name)
        return replace(whole, text=BodyText(text=text, first_line=5))

    old, new = made("<one>", "a.json"), made("<two>", "b.json")
    told = explain(old, new, how=HOW)
    view = (*told.differences, *told.uncosted)[-1].new
    assert new.text is not None
    assert view.line is not None
    assert view.column is not None
    assert view.char is not None
    assert f"{head}<two>{tail}"[view.char] == "t"
    line = new.text.text.split("\n")[view.line - 5]
    assert line[view.column - 1 :].startswith("two>")


def test_what_was_removed_stands_where_the_rest_went_on() -> None:
    """The first request's place is shown, and the second has nothing there."""
    old = anthropic(4)
    new = {**anthropic(5), "messages": anthropic(5)["messages"][2:]}
    one = explained(old, new).differences[0]
    assert one.kind == "history-truncated"
    assert one.old is not None
    assert one.old.pointer == "/messages/0/content/0"
    assert one.old.line is not None
    assert one.new.pointer == "/messages/0"


def test_a_string_and_a_block_of_the_same_text_have_each_their_own_place() -> None:
    """Where one side wraps it and it differs, too."""
    old = {"model": "gpt-5.5", "messages": [{"role": "user", "content": f"a {prose(900)} one"}]}
    block = [{"type": "text", "text": f"a {prose(900)} two"}]
    new = changed(old, "messages", 0, "content", to=block)
    told = explained(old, new)
    one = (*told.differences, *told.uncosted)[0]
    assert one.old is not None
    assert (one.old.pointer, one.new.pointer) == (
        "/messages/0/content",
        "/messages/0/content/0/text",
    )
    assert one.old.char == one.new.char


def test_behind_a_first_change_of_a_string_the_old_character_is_not_guessed() -> None:
    """Both sides no longer count alike."""
    text = prose(2_000)
    old = changed(anthropic(2), "system", 0, "text", to=f"one {text} six {text}")
    new = changed(anthropic(2), "system", 0, "text", to=f"three {text} seven {text}")
    told = explained(old, new)
    first, second = (*told.differences, *told.uncosted)[:2]
    assert first.old is not None
    assert second.old is not None
    assert (first.old.char, second.old.char) == (0, None)
    assert second.new.char == len(f"three {text} s")


def test_without_the_text_of_a_body_there_is_no_line() -> None:
    """Nothing is made up."""
    bare = replace(request(anthropic(2, system=SYSTEM)), text=None)
    told = explain(bare, request(anthropic(2, system=LATER), "b.json"), how=HOW)
    one = told.differences[0]
    assert one.old is not None
    assert (one.old.line, one.old.column, one.old.char) == (None, None, 22)
    assert one.new.line is not None


WORDS = st.lists(st.sampled_from(["de", "livered", " ", "a", "10:31", "\n", "é"]), max_size=12)


@settings(max_examples=150)
@given(WORDS, WORDS, WORDS, WORDS)
def test_position_drawing_and_text_agree(
    head: list[str], old: list[str], new: list[str], tail: list[str]
) -> None:
    """What is drawn before the difference is as long as the place says, on both sides.

    Also where a text repeats itself, so that the differing words stand in it more than once.
    """
    texts = ["".join(part) for part in (head + old + tail, head + new + tail)]
    bodies = [
        {"model": "gpt-5.5", "messages": [{"role": "user", "content": text + " end"}]}
        for text in texts
    ]
    told = explained(*bodies)
    for one in (*told.differences, *told.uncosted)[:1]:
        for view, text in ((one.old, texts[0] + " end"), (one.new, texts[1] + " end")):
            if view is None or view.excerpt is None:
                continue
            found = view.excerpt
            start, end = found.before_chars, len(text) - found.after_chars
            assert found.text == text[start:end]
            assert text[:start].endswith(found.before) and text[end:].startswith(found.after)
            assert view.char == start + found.exact_start == one.new.char
            drawn = masked(view)
            whole = _count(drawn.before) + _count(view.shape) + _count(drawn.after)
            assert whole == len(text)
            assert _count(drawn.before) in {view.char, start}
            beside = around_place(view)
            if not beside:
                assert _count(drawn.before) == view.char
            else:
                assert beside.endswith(f" from char {_count(drawn.before)} on")


def _count(shape: str) -> int:
    number = re.search(r"([\d,]+) chars?\b", shape)
    return int(number[1].replace(",", "")) if number else 0


def test_a_cut_suffix_is_drawn_where_it_was_cut() -> None:
    """Though the words around the cut stand in the text more than once."""
    text = "It will be delivered. It will be delivered, thank you. " + prose(50, 3)
    messages = [{"role": "user", "content": text}]
    cut = [{"role": "user", "content": text[:24]}, {"role": "assistant", "content": "Yes."}]
    told = explained(
        {"model": "gpt-5.5", "messages": messages},
        {"model": "gpt-5.5", "messages": [*cut, {"role": "user", "content": "And?"}]},
    )
    one = next(one for one in (*told.differences, *told.uncosted) if one.content)
    assert one.old is not None
    assert one.old.excerpt is not None
    assert one.new.char == 24
    assert masked(one.new).before == "[24 chars] "
    assert masked(one.old).before == "[24 chars] "
    quoted = one.old.excerpt
    assert text[quoted.before_chars :].startswith(quoted.text)
    assert quoted.before_chars + quoted.exact_start == 24
