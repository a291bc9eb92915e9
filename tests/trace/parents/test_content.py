"""What a request has, each unit once."""

import numpy as np

from stemcache.trace.parents.content import Content, End, Ordered, content_of
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api
from tests.trace.parents.sketches import of_units


def content(*texts: str, scope: str = "", lines: bool = True) -> Content:
    """Of a conversation with these messages."""
    messages = [{"role": "user", "content": text} for text in texts]
    prompt = prompt_of({"messages": messages}, Api.CHAT)
    return content_of(sketch(prompt), scope, prompt if lines else None).content


def test_a_unit_that_repeats_is_there_once_with_all_its_bytes() -> None:
    """Units rise, and their bytes are summed."""
    found = content_of(of_units([5, 9, 5]), "", None).content
    assert len(found.units) == 2
    assert bool(found.units[0] < found.units[1])
    assert sorted(found.unit_bytes.tolist()) == [100, 200]
    assert found.content_bytes == 300


def test_shared_bytes_count_a_repeated_unit_as_often_as_both_have_it() -> None:
    """Twice here and once there is once."""
    one = content_of(of_units([1, 1, 2, 3]), "", None).content
    other = content_of(of_units([1, 3, 3, 4]), "", None).content
    assert one.shared_bytes(other) == other.shared_bytes(one) == 200


def test_an_empty_request_shares_nothing() -> None:
    """Neither with a full one nor with another empty one."""
    empty = content_of(of_units([]), "", None).content
    assert (empty.content_bytes, empty.end) == (0, End())
    assert empty.shared_bytes(empty) == 0
    assert empty.shared_bytes(content_of(of_units([1]), "", None).content) == 0


def test_scopes_have_no_unit_in_common() -> None:
    """The same text under two keys is not shared."""
    assert content("hello", scope="a").shared_bytes(content("hello", scope="a")) == 5
    assert content("hello", scope="a").shared_bytes(content("hello", scope="b")) == 0


def test_a_clock_in_the_first_line_leaves_the_rest_of_a_short_text_shared() -> None:
    """And one in the last line what is before it."""
    first = content("Now 10:31\nI need help"), content("Now 10:32\nI need help")
    assert first[0].shared_bytes(first[1]) == len("\nI need help")
    last = content("I need\nhelp now\nTime 1"), content("I need\nhelp now\nTime 2")
    assert last[0].shared_bytes(last[1]) == len("I need\nhelp now\n")


def test_lines_are_left_alone_without_the_prompt() -> None:
    """A short text is then one unit, as in the sketch."""
    one, other = content("Now 1\nhelp", lines=False), content("Now 2\nhelp", lines=False)
    assert one.shared_bytes(other) == 0


def test_lines_add_up_to_the_text() -> None:
    """However many breaks there are, and wherever, in characters of any length."""
    for text in ("\n", "\n\n", "a\n", "\na", "a\nb\n", "é\nß\nü", "a\n\n\nb", "\r\n\r\n"):
        assert content(text).content_bytes == len(text.encode())


def test_the_last_span_is_not_among_the_earlier_units() -> None:
    """Also where lines of an earlier text have made more units of it."""
    messages = [{"role": "user", "content": text} for text in ("a\nb", "c", "d\ne")]
    prompt = prompt_of({"messages": messages}, Api.CHAT)
    found = content_of(sketch(prompt), "", prompt)
    assert len(found.earlier) == 4
    assert len(found.content.units) == 6
    assert found.content.end.last not in found.earlier.tolist()


def test_half_a_surrogate_pair_is_content_like_any_other() -> None:
    """Some decoders let it through."""
    assert content("\ud800\nx").shared_bytes(content("\ud800\ny")) == 3 + 1


def test_a_prompt_that_is_not_the_sketched_one_is_not_looked_into() -> None:
    """Its number of spans tells."""
    prompt = prompt_of({"messages": [{"role": "user", "content": "a\nb"}]}, Api.CHAT)
    found = content_of(of_units([1, 2]), "", prompt)
    assert np.array_equal(found.earlier, content_of(of_units([1, 2]), "", None).earlier)
    assert len(found.content.units) == 2


def goes_on(parent: list[int], child: list[int], unit_bytes: int = 100) -> bool:
    """Whether the child is seen to go on from the parent."""
    end = content_of(of_units(parent, unit_bytes), "", None).content.end
    return content_of(of_units(child, unit_bytes), "", None).goes_on(end)


def test_a_request_goes_on_from_one_whose_end_stands_inside_of_it() -> None:
    """Before its own last span."""
    assert goes_on([1, 2, 3], [1, 2, 3, 4, 5])
    assert goes_on([1, 2, 3], [9, 3, 5])
    assert not goes_on([1, 2, 3], [7, 3])
    assert not goes_on([1, 2, 3], [7, 4, 3])
    assert not goes_on([], [1, 2])


def test_a_short_end_counts_behind_what_was_before_it_only() -> None:
    """Many conversations have a yes in them."""
    assert goes_on([1, 2, 3], [7, 2, 3, 4], unit_bytes=4)
    assert not goes_on([1, 2, 3], [1, 7, 3, 4], unit_bytes=4)
    assert not goes_on([1, 2, 3], [3, 4], unit_bytes=4)


def test_a_hint_behind_the_end_that_is_not_sent_again_hides_nothing() -> None:
    """The text before it is known by its first line."""

    def ordered(*texts: str) -> Ordered:
        messages = [{"role": "user", "content": text} for text in texts]
        prompt = prompt_of({"messages": messages}, Api.CHAT)
        return content_of(sketch(prompt), "", prompt)

    end = ordered("Where is the order of May?\nTime: 10:31").content.end
    assert ordered("Where is the order of May?", "It left.", "Ah.\nTime: 10:35").goes_on(end)
    assert not ordered("Where is the order of June?", "It left.", "Ah.").goes_on(end)


def test_a_block_behind_the_end_that_is_not_sent_again_hides_nothing() -> None:
    """The block before it is known, however short."""

    def ordered(*contents: list[str]) -> Ordered:
        messages = [
            {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
            for texts in contents
        ]
        prompt = prompt_of({"messages": messages}, Api.MESSAGES)
        return content_of(sketch(prompt), "", prompt)

    for result in ("12.50", "A result that is long enough to be known by itself."):
        end = ordered(["Add them up."], [result, "It is 10:31 now, in London."]).content.end
        assert ordered(["Add them up."], [result], ["Thanks."], ["Bye."]).goes_on(end)
        assert not ordered(["Add them up."], [result]).goes_on(end)
    assert not ordered(["Another."], ["12.50"], ["Thanks."]).goes_on(
        ordered(["Add them up."], ["12.50", "It is 10:31 now."]).content.end
    )


def test_a_line_is_the_same_unit_as_a_text_that_is_only_that_line() -> None:
    """So that a text to which a line was added is still known."""
    assert content("I need help").shared_bytes(content("Now 10:31\nI need help")) == 11
    assert content("I need help").shared_bytes(content("I need help\nNow 10:31")) == 11
