"""The parent of a request."""

from random import Random

import pytest

from stemcache.trace.parents.content import Content, content_of
from stemcache.trace.parents.index import Parent, ParentIndex
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api
from tests.trace.parents.sketches import of_units


def index_of(*calls: list[int], **options: float) -> ParentIndex:
    """An index with these calls, all answered, in one scope."""
    index = ParentIndex(most_calls=1000, most_units=2**14, **options)  # type: ignore[arg-type]
    for units in calls:
        index.add(of_units(units), scope="", answered_s=None)
    return index


def parent(index: ParentIndex, *units: int, previous: int | None = None) -> int | None:
    """Number of the parent of a request with these units."""
    found = index.find(of_units(units), scope="", now_s=None, previous=previous)
    return None if found is None else found.number


def test_an_index_without_calls_finds_nothing() -> None:
    """Nor does a request without content."""
    assert parent(ParentIndex(), 1, 2, 3) is None
    assert (
        parent(
            index_of([1, 2]),
        )
        is None
    )


def test_calls_are_numbered_over_all_scopes() -> None:
    """From 0, by one."""
    index = ParentIndex()
    numbers = [index.add(of_units([1]), scope=name, answered_s=None) for name in "aba"]
    assert numbers == [0, 1, 2]


def test_the_parent_shares_most_content_wherever_it_stands() -> None:
    """A first unit that differs hides nothing, and neither does another order."""
    index = index_of([1, 2, 3, 4], [50, 60, 70])
    assert parent(index, 9, 2, 3, 4, 5) == 0
    assert parent(index, 4, 3, 9) == 0
    assert parent(index, 60, 70, 80) == 1


def test_what_is_shared_is_told() -> None:
    """In bytes, and as a share of the smaller one of both."""
    index = index_of([1, 2, 3, 4])
    found = index.find(of_units([9, 2, 3, 4, 5, 6]), scope="", now_s=None)
    assert found == Parent(0, 300, 0.75)


def test_a_chat_goes_on_from_its_latest_request() -> None:
    """Each has all that the ones before it have."""
    index = index_of([1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [1, 20])
    assert parent(index, 1, 2, 3, 4, 5, 6, 7, 8) == 2


def test_a_fork_goes_on_from_the_request_that_it_left() -> None:
    """Later ones share as much, but have content of their own."""
    index = index_of([1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6])
    assert parent(index, 1, 2, 30, 40) == 0
    assert parent(index, 1, 2, 3, 4, 50, 60) == 1


def test_a_fork_is_found_however_long_the_conversation_went_on() -> None:
    """Though only the latest calls of what all of it has are known."""
    index = index_of(*([1, *range(2, 4 + 2 * turn)] for turn in range(60)))
    assert parent(index, 1, *range(2, 10), 500, 501) == 3


def test_a_history_cut_at_the_front_goes_on_from_the_latest_request() -> None:
    """Though an early one has less that was cut."""
    index = index_of([1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6])
    assert parent(index, 1, 5, 6, 7, 8) == 2


def test_the_same_documents_do_not_make_a_parent_of_another_conversation() -> None:
    """It shares more, but the request does not go on from its end."""
    index = ParentIndex()
    index.add(of_units([1, 2, 3]), scope="", answered_s=None)
    index.add(of_units([1, 20, 30, 40, 50]), scope="", answered_s=None)
    # The same two long answers of a tool, 40 and 50, in a conversation that goes on from the first.
    assert parent(index, 1, 2, 3, 4, 40, 50) == 0


def test_of_two_that_share_as_much_the_named_one_is_the_parent() -> None:
    """A name that shares less, or that nobody knows, changes nothing."""
    index = index_of([1, 2], [1, 2], [1, 2, 3, 4])
    assert parent(index, 1, 2, 9) == 1
    assert parent(index, 1, 2, 9, previous=0) == 0
    assert parent(index, 1, 2, 3, 4, 5, previous=0) == 2
    assert parent(index, 1, 2, 9, previous=77) == 1
    assert parent(index, 1, 2, 9, previous=-5) == 1


def test_the_same_request_again_goes_on_from_the_first_time() -> None:
    """A repeated call has all its content in common with it."""
    assert parent(index_of([1, 2, 3], [1, 20]), 1, 2, 3) == 0


def test_a_call_that_was_not_answered_yet_is_no_parent() -> None:
    """Where one of both times is unknown, the order of the log counts."""
    index = ParentIndex()
    index.add(of_units([1, 2]), scope="", answered_s=10.0)
    index.add(of_units([1, 2, 3]), scope="", answered_s=20.0)
    request = of_units([1, 2, 3, 4])
    numbers = []
    for now_s in (5.0, 15.0, 25.0, None):
        found = index.find(request, scope="", now_s=now_s)
        numbers.append(found and found.number)
    assert numbers == [None, 0, 1, 1]


def test_calls_of_another_scope_are_no_parents() -> None:
    """Not even where the request names one."""
    index = ParentIndex()
    number = index.add(of_units([1, 2, 3]), scope="key-a", answered_s=None)
    request = of_units([1, 2, 3, 4])
    assert index.find(request, scope="key-b", now_s=None, previous=number) is None
    assert index.find(request, scope="key-a", now_s=None) is not None


def chat(system: str, *turns: str) -> dict[str, object]:
    """A body."""
    messages = [{"role": "system", "content": system}]
    messages += [{"role": "user", "content": turn} for turn in turns]
    return {"messages": messages}


def first_and_second(one: dict[str, object], other: dict[str, object]) -> Parent | None:
    """What is found for the second of two requests."""
    index = ParentIndex()
    index.add(sketch(prompt_of(one, Api.CHAT)), scope="", answered_s=None)
    return index.find(sketch(prompt_of(other, Api.CHAT)), scope="", now_s=None)


def test_two_chats_under_one_short_system_prompt_are_strangers() -> None:
    """A quarter of the smaller one has to be shared."""
    system = "You are a helpful assistant."
    one = chat(system, *(f"What about {i} of the first kind, please?" for i in range(6)))
    other = chat(system, *(f"And how do I do {i} of another kind?" for i in range(9)))
    assert first_and_second(one, other) is None


def test_a_question_about_a_long_text_goes_on_from_another_one_about_it() -> None:
    """Though its first line differs, and its question."""
    draw = Random(3)
    corpus = " ".join(f"{draw.getrandbits(64):x}" for _ in range(3000))
    one = chat(f"Request 8f3c\n{corpus}", "Who wrote it?")
    other = chat(f"Request 17aa\n{corpus}", "When was that?")
    found = first_and_second(one, other)
    assert found is not None
    assert found.overlap > 0.95


@pytest.mark.parametrize(("overlap", "number"), [(0.5, 0), (0.51, None)])
def test_the_least_overlap_can_be_set(overlap: float, number: int | None) -> None:
    """It is enough to reach it."""
    assert parent(index_of([1, 2, 3, 4], overlap=overlap), 1, 2, 30, 40) == number


def test_what_was_forgotten_is_not_found() -> None:
    """Memory holds so many calls; the table may know the unit still."""
    index = ParentIndex(most_calls=2, most_units=2**10)
    for units in ([1, 2], [3, 4], [5, 6]):
        index.add(of_units(units), scope="", answered_s=None)
    assert parent(index, 1, 2, 9) is None
    assert parent(index, 5, 6, 9) == 2


def conversations(draw: Random) -> list[list[int]]:
    """Requests of a few chats under two system prompts, some cut at the front, interleaved."""
    chats = [[draw.choice((1, 2)), 1000 * i] for i in range(5)]
    calls = []
    for turn in range(60):
        units = draw.choice(chats)
        calls.append(list(units))
        units += [5000 + 2 * turn, 5001 + 2 * turn]
        if len(units) > 8 and draw.random() < 0.2:
            del units[1:3]
    return calls


def test_nobody_shares_more_than_the_parent_unless_the_request_does_not_go_on_from_it() -> None:
    """Compared with looking through all earlier calls."""
    draw = Random(11)
    for _ in range(5):
        index, earlier = ParentIndex(most_units=2**12), list[list[int]]()
        contents: list[Content] = []
        for units in conversations(draw):
            request = of_units(units)
            content = content_of(request, "", None).content
            shared = [content.shared_bytes(other) for other in contents]
            found = index.find(request, scope="", now_s=None)
            if max(shared, default=0) == 0:
                assert found is None
            elif found is not None:
                going_on = [number for number, call in enumerate(earlier) if call[-1] in units[:-1]]
                pool = [shared[i] for i in going_on if 2 * shared[i] >= max(shared)] or shared
                assert found.shared_bytes == max(pool)
                assert found.shared_bytes == shared[found.number]
            else:
                best = max(range(len(shared)), key=lambda i: shared[i])
                assert shared[best] < 100 * min(len(units), max(map(len, earlier)))
            index.add(request, scope="", answered_s=None)
            earlier.append(units)
            contents.append(content)
