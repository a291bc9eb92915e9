"""A request against its parent, on prompts by hand."""

import json
from typing import Any

import pytest

from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.trace.divergence.prompts import prompt, tool

SYSTEM = "You are a support assistant, patient and brief."
CHAT = [
    ("user", "Where is the order that I made on the second of May?"),
    ("assistant", "It left our house this morning and will be there tomorrow."),
    ("user", "And can its address still be changed to my office?"),
    ("assistant", "That is possible until it is handed to the last carrier."),
    ("user", "Then please do so, the office is in the next street."),
]
TOOLS = [
    tool(name, f"What {name} does.", input_schema={"type": "object", "required": ["a", "b"]})
    for name in ("search", "order", "mail", "refund")
]


def sizes(*texts: str) -> int:
    """Bytes of some texts."""
    return sum(len(text.encode()) for text in texts)


def only(parent: Prompt, child: Prompt) -> Change:
    """The one change."""
    (change,) = compare(parent, child).changes
    return change


def place(change: Change) -> tuple[ChangeKind, str, int | None]:
    """Kind, pointer and character."""
    return change.kind, change.pointer, change.char


def test_the_same_request_again_has_no_change() -> None:
    """All of it is prefix."""
    one = prompt([SYSTEM], CHAT, TOOLS)
    found = compare(one, prompt([SYSTEM], CHAT, TOOLS))
    assert found.changes == ()
    assert found.prefix_bytes == found.shared_bytes == found.parent_bytes == found.child_bytes
    assert found.aligned == tuple(range(10))


def test_what_is_appended_is_no_change() -> None:
    """It is behind all that the parent has, and not shared."""
    found = compare(prompt([SYSTEM], CHAT[:3]), prompt([SYSTEM], CHAT))
    assert found.changes == ()
    assert found.prefix_bytes == found.shared_bytes == found.parent_bytes < found.child_bytes
    assert found.aligned == (0, 1, 2, 3, -1, -1)


def test_nothing_compares_with_nothing() -> None:
    """And an empty parent is the beginning of every request."""
    assert compare(prompt(), prompt()).changes == ()
    found = compare(prompt(), prompt([SYSTEM], CHAT))
    assert (found.changes, found.prefix_bytes, found.shared_bytes) == ((), 0, 0)


def test_a_clock_in_the_system_prompt_is_an_edit_of_its_string() -> None:
    """With the whole time, and all behind it shared."""
    old, new = f"It is 10:31:02 now. {SYSTEM}", f"It is 10:31:45 now. {SYSTEM}"
    change = only(prompt([old], CHAT[:1]), prompt([new], CHAT[:3]))
    assert place(change) == (ChangeKind.EDITED, "/system/0/text", 12)
    assert (change.old, change.new) == ("10:31:02", "10:31:45")
    assert (change.shared_before, change.shared_behind) == (12, sizes(old, CHAT[0][1]) - 14)
    assert (change.before_index, change.after_index) == (0, 0)
    assert [span.text for span in (*change.before, *change.after)] == [old, new]


def test_two_edits_of_one_text_are_two_changes() -> None:
    """Each with what is shared before and behind it."""
    body = "\n".join(f"Line {i} of the guide says {i * i}." for i in range(400))
    old, new = (f"At {a}.\n{body}\nFiles: {b}.\n{body}" for a, b in (("10:31", 3), ("10:32", 9)))
    found = compare(prompt([old], CHAT[:1]), prompt([new], CHAT[:1]))
    first, second = found.changes
    assert (first.pointer, first.old, first.new) == ("/system/0/text", "10:31", "10:32")
    assert (second.old, second.new) == ("3", "9")
    assert first.shared_before == found.prefix_bytes == 7
    # The digit that changed in the clock is not shared.
    assert second.char == len(f"At 10:31.\n{body}\nFiles: ") == second.shared_before + 1
    assert first.shared_before + first.shared_behind == found.shared_bytes
    assert second.shared_before + second.shared_behind == found.shared_bytes


def test_a_longer_system_prompt_is_extended() -> None:
    """What it had is the beginning of what is there now."""
    change = only(prompt([SYSTEM], CHAT[:1]), prompt([f"{SYSTEM}\nThe user likes tea."], CHAT[:1]))
    assert place(change) == (ChangeKind.EXTENDED, "/system/0/text", len(SYSTEM))
    assert (change.old, change.new) == ("", "\nThe user likes tea.")
    assert change.shared_behind == sizes(CHAT[0][1])


def test_an_extended_last_message_is_told_though_nothing_is_behind_it() -> None:
    """The block is another one for a cache that ends at blocks; it continues the parent's."""
    longer = [*CHAT[:2], ("user", CHAT[2][1] + " Or to my neighbour?")]
    found = compare(prompt([SYSTEM], CHAT[:3]), prompt([SYSTEM], longer))
    (change,) = found.changes
    assert place(change) == (ChangeKind.EXTENDED, "/messages/2/content/0/text", len(CHAT[2][1]))
    assert change.shared_behind == 0
    assert found.aligned == (0, 1, 2, 3)
    assert found.prefix_bytes == found.parent_bytes


def test_another_last_question_leaves_nothing_shared_behind_it() -> None:
    """Even where both end with the same sign."""
    one = prompt([SYSTEM], [("user", "Why is the sky blue at noon?")])
    other = prompt([SYSTEM], [("user", "How many legs does a spider have?")])
    change = only(one, other)
    assert place(change) == (ChangeKind.REPLACED, "/messages/0/content/0/text", 0)
    assert (change.shared_before, change.shared_behind) == (len(SYSTEM), 0)


def test_messages_dropped_from_the_front_are_removed() -> None:
    """Pointed at: the message that now stands there."""
    found = compare(prompt([SYSTEM], CHAT), prompt([SYSTEM], [*CHAT[2:], ("assistant", "Done.")]))
    (change,) = found.changes
    assert place(change) == (ChangeKind.REMOVED, "/messages/0", None)
    assert [span.text for span in change.before] == [CHAT[0][1], CHAT[1][1]]
    assert change.after == ()
    assert (change.before_index, change.after_index) == (1, 1)
    assert change.shared_before == len(SYSTEM)
    assert change.shared_behind == sizes(*(text for _, text in CHAT[2:]))
    assert found.aligned == (0, 3, 4, 5, -1)


def test_a_request_that_is_a_beginning_of_its_parent_has_messages_removed() -> None:
    """Behind its last; nothing is lost by it."""
    change = only(prompt([SYSTEM], CHAT), prompt([SYSTEM], CHAT[:3]))
    assert place(change) == (ChangeKind.REMOVED, "/messages/3", None)
    assert change.shared_behind == 0


def test_a_message_put_before_others_is_inserted() -> None:
    """The whole message is pointed at."""
    change = only(prompt([SYSTEM], CHAT), prompt([SYSTEM], [("user", "Note: tea."), *CHAT]))
    assert place(change) == (ChangeKind.INSERTED, "/messages/0", None)
    assert (change.old, change.new) == ("", "Note: tea.")
    assert change.shared_behind == sizes(*(text for _, text in CHAT))


def test_an_edited_message_in_the_history_is_told_alone() -> None:
    """Case 25: one letter of the first question."""
    edited = [("user", CHAT[0][1].replace("Where", "where")), *CHAT[1:]]
    change = only(prompt([SYSTEM], CHAT), prompt([SYSTEM], edited))
    assert place(change) == (ChangeKind.EDITED, "/messages/0/content/0/text", 0)
    assert (change.old, change.new) == ("Where", "where")
    assert change.shared_behind == sizes(*(text for _, text in CHAT)) - 1


def test_a_history_put_into_a_summary_is_one_change() -> None:
    """Of many messages for few, with the kept ones shared behind it."""
    summary = [("user", "Summary: an order of May, on its way, is to go to an office.")]
    change = only(prompt([SYSTEM], CHAT), prompt([SYSTEM], [*summary, *CHAT[3:]]))
    assert change.kind is ChangeKind.EDITED
    assert [len(change.before), len(change.after)] == [3, 1]
    assert change.shared_behind == sizes(CHAT[3][1], CHAT[4][1])


def test_another_conversation_under_the_same_system_prompt_is_replaced() -> None:
    """Though both say yes in it."""
    one = [*CHAT[:2], ("user", "yes"), ("assistant", "Thank you for that, and have a good day.")]
    other = [
        ("user", "My invoice of April has a wrong number on its third page."),
        ("assistant", "Which one would be right, if I may ask you that?"),
        ("user", "yes"),
        ("assistant", "I see. We are going to send you another one by letter."),
        ("user", "Thanks."),
    ]
    change = only(prompt([SYSTEM], one), prompt([SYSTEM], other))
    assert change.kind is ChangeKind.REPLACED
    assert change.shared_behind == 0
    assert [len(change.before), len(change.after)] == [4, 5]


def test_a_history_that_grew_may_end_like_its_parent_by_chance() -> None:
    """The same answer of a tool came twice; the first is the parent's."""
    error = ("user", "Error: the balance of the gift card is not enough, try another.")
    edited = [("user", CHAT[0][1].replace("May", "June")), *CHAT[1:4]]
    parent = prompt([SYSTEM], [*CHAT[:4], error])
    grown = prompt([SYSTEM], [*edited, error, ("assistant", "Again."), error])
    found = compare(parent, grown)
    assert place(found.changes[0])[0] is ChangeKind.EDITED
    assert len(found.changes) == 1
    assert found.aligned == (0, -1, 2, 3, 4, 5, -1, -1)
    shorter = compare(grown, prompt([SYSTEM], [*CHAT[:4], error]))
    assert [change.pointer for change in shorter.changes[1:]] == ["/messages/5"]


def test_tools_in_another_order_are_reordered() -> None:
    """At the first that is not where it was; mending it gives back all behind."""
    shuffled = [TOOLS[0], TOOLS[3], TOOLS[1], TOOLS[2]]
    found = compare(prompt([SYSTEM], CHAT, TOOLS), prompt([SYSTEM], CHAT, shuffled))
    (change,) = found.changes
    assert place(change) == (ChangeKind.REORDERED, "/tools/1", None)
    assert (change.section, change.old, change.new) == (Section.TOOLS, "order", "refund")
    assert [len(change.before), len(change.after)] == [3, 3]
    assert found.shared_bytes == found.child_bytes
    assert found.aligned == (0, -1, 1, 2, 4, 5, 6, 7, 8, 9)


def test_a_tool_that_came_is_inserted_and_one_that_went_is_removed() -> None:
    """At the end of the tools too, which is not the end of the prompt."""
    few, many = prompt([SYSTEM], CHAT, TOOLS[:3]), prompt([SYSTEM], CHAT, TOOLS)
    came, went = only(few, many), only(many, few)
    assert place(came) == (ChangeKind.INSERTED, "/tools/3", None)
    assert place(went) == (ChangeKind.REMOVED, "/tools/3", None)
    assert came.shared_behind == went.shared_behind == sizes(SYSTEM, *(text for _, text in CHAT))


def test_a_tool_in_the_place_of_another_is_one_that_went_and_one_that_came() -> None:
    """At the same place."""
    found = compare(
        prompt([SYSTEM], CHAT, TOOLS[:3]), prompt([SYSTEM], CHAT, [TOOLS[0], TOOLS[3], TOOLS[2]])
    )
    assert [place(change) for change in found.changes] == [
        (ChangeKind.REMOVED, "/tools/1", None),
        (ChangeKind.INSERTED, "/tools/1", None),
    ]
    assert [change.before_index for change in found.changes] == [1, 2]


def test_all_tools_gone_are_pointed_at_where_they_were() -> None:
    """Nothing stands there any more."""
    change = only(prompt([SYSTEM], CHAT, TOOLS), prompt([SYSTEM], CHAT))
    assert place(change) == (ChangeKind.REMOVED, "/tools/0", None)
    assert change.section is Section.TOOLS


def test_keys_of_a_schema_in_another_order_are_told_at_their_object() -> None:
    """Markers and white space are no part of it."""
    turned = json.loads(json.dumps(TOOLS))
    turned[1]["input_schema"] = {"required": ["a", "b"], "type": "object"}
    turned[2]["cache_control"] = {"type": "ephemeral"}
    found = compare(prompt([SYSTEM], CHAT, TOOLS), prompt([SYSTEM], CHAT, turned))
    (change,) = found.changes
    assert place(change) == (ChangeKind.KEY_ORDER, "/tools/1/input_schema", None)
    assert (change.old, change.new) == ("type, required", "required, type")
    assert found.shared_bytes == found.child_bytes


def test_an_edited_description_is_told_at_its_string() -> None:
    """In the tool of that name."""
    edited = [TOOLS[0], tool("order", "What order did.", **_rest(TOOLS[1])), *TOOLS[2:]]
    change = only(prompt([SYSTEM], CHAT, TOOLS), prompt([SYSTEM], CHAT, edited))
    assert place(change) == (ChangeKind.EDITED, "/tools/1/description", 12)
    assert (change.old, change.new) == ("does", "did")


def _rest(definition: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in definition.items() if key == "input_schema"}


def chat(arguments: str, *more: dict[str, Any]) -> Prompt:
    """A conversation of Chat in which a tool was called."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "It is done, and went well."},
    ]
    return prompt_of({"messages": [*messages, *more]}, Api.CHAT)


def test_arguments_written_anew_are_told_at_their_string() -> None:
    """Providers render the raw text."""
    change = only(chat('{"a": 1, "b": 2}'), chat('{"b": 2, "a": 1}'))
    pointer = "/messages/2/tool_calls/0/function/arguments"
    assert place(change) == (ChangeKind.KEY_ORDER, pointer, 2)


def test_dropped_messages_of_chat_are_counted_behind_the_system_message() -> None:
    """Case 06: the message that stands there now is number 1."""
    turns = [{"role": role, "content": text} for role, text in CHAT]
    head = {"role": "system", "content": SYSTEM}
    parent = prompt_of({"messages": [head, *turns]}, Api.CHAT)
    child = prompt_of({"messages": [head, *turns[2:]]}, Api.CHAT)
    assert place(only(parent, child)) == (ChangeKind.REMOVED, "/messages/1", None)


def messages(*blocks: dict[str, Any], results: tuple[str, ...] = ("one", "two")) -> Prompt:
    """A conversation of Messages whose assistant turn has these blocks."""
    answers = [
        {"type": "tool_result", "tool_use_id": f"t{i}", "content": f"Result {text}."}
        for i, text in enumerate(results)
    ]
    turns = [
        {"role": "user", "content": "Go on with both of them, please."},
        {"role": "assistant", "content": list(blocks)},
        {"role": "user", "content": answers},
    ]
    return prompt_of({"system": SYSTEM, "messages": turns}, Api.MESSAGES)


THOUGHT = {"type": "thinking", "thinking": "Two calls are needed.", "signature": "abc"}
TEXT = {"type": "text", "text": "I am going to look at both."}
CALLS: list[dict[str, Any]] = [
    {"type": "tool_use", "id": "t0", "name": "f", "input": {"a": 1, "b": [2]}},
    {"type": "tool_use", "id": "t1", "name": "g", "input": {}},
]


def test_a_dropped_thought_is_removed() -> None:
    """From the front of its message."""
    change = only(messages(THOUGHT, TEXT, *CALLS), messages(TEXT, *CALLS))
    assert place(change) == (ChangeKind.REMOVED, "/messages/1", None)
    assert [span.kind for span in change.before] == [SpanKind.THINKING]


def test_another_seal_on_the_same_thought_is_an_edit() -> None:
    """Of the block, since the seal is no part of its text."""
    change = only(messages(THOUGHT, TEXT), messages({**THOUGHT, "signature": "xyz"}, TEXT))
    assert place(change) == (ChangeKind.EDITED, "/messages/1/content/0", None)
    assert (change.old, change.new) == ("abc", "xyz")


def test_keys_of_a_calls_input_in_another_order_are_told_at_the_input() -> None:
    """Its pointer is the object's."""
    turned = {**CALLS[0], "input": {"b": [2], "a": 1}}
    change = only(messages(TEXT, *CALLS), messages(TEXT, turned, CALLS[1]))
    assert place(change) == (ChangeKind.KEY_ORDER, "/messages/1/content/1/input", None)


def test_parallel_calls_in_another_order_are_reordered() -> None:
    """Nothing else of the message moved."""
    change = only(messages(TEXT, *CALLS), messages(TEXT, CALLS[1], CALLS[0]))
    assert place(change) == (ChangeKind.REORDERED, "/messages/1/content/1", None)


def test_a_block_inside_of_a_message_is_pointed_at_itself() -> None:
    """It does not begin one."""
    more = {"type": "text", "text": "One moment."}
    change = only(messages(TEXT, *CALLS), messages(TEXT, more, *CALLS))
    assert place(change) == (ChangeKind.INSERTED, "/messages/1/content/1", None)


def test_a_shortened_result_is_an_edit_of_its_text() -> None:
    """What follows it is shared."""
    old = messages(TEXT, *CALLS, results=("one " * 200, "two"))
    new = messages(TEXT, *CALLS, results=("cleared", "two"))
    change = only(old, new)
    assert (change.kind, change.pointer) == (ChangeKind.EDITED, "/messages/2/content/0/content")
    assert change.shared_behind >= len("Result two.")


def test_a_string_equals_the_same_text_as_one_block() -> None:
    """Markers do not count either."""
    plain = {"system": "S", "messages": [{"role": "user", "content": "hi"}]}
    marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    blocks = {
        "system": [{"type": "text", "text": "S"}],
        "messages": [{"role": "user", "content": [marked]}],
    }
    one, other = prompt_of(plain, Api.MESSAGES), prompt_of(blocks, Api.MESSAGES)
    assert compare(one, other).changes == compare(other, one).changes == ()


def test_an_image_that_became_text_is_an_edit_of_its_block() -> None:
    """No character, since it is no string that changed."""
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 500}
    look = {"type": "text", "text": "What is on this picture?"}

    def asked(block: dict[str, Any]) -> Prompt:
        turns = [{"role": "user", "content": [block, look]}, {"role": "assistant", "content": "A."}]
        return prompt_of({"messages": turns}, Api.MESSAGES)

    old = asked({"type": "image", "source": source})
    change = only(old, asked({"type": "text", "text": "[image removed]"}))
    assert place(change) == (ChangeKind.EDITED, "/messages/0", None)
    assert [change.before[0].kind, change.after[0].kind] == [SpanKind.IMAGE, SpanKind.TEXT]
    other = asked({"type": "image", "source": {**source, "data": "QUJE" * 500}})
    assert place(only(old, other)) == (
        ChangeKind.EDITED,
        "/messages/0/content/0/source/data",
        3,
    )


def test_token_ids_differ_at_a_token() -> None:
    """Its number is in the pointer."""
    old = prompt_of({"prompt": [1, 22, 333, 4, 5]}, Api.COMPLETIONS)
    new = prompt_of({"prompt": [1, 22, 339, 4, 5, 6]}, Api.COMPLETIONS)
    change = only(old, new)
    assert (change.pointer, change.char, change.old, change.new) == (
        "/prompt/2",
        None,
        "333",
        "339",
    )
    assert change.shared_before == len("1 22 ")


def test_more_token_ids_behind_the_same_ones_extend_them() -> None:
    """A longer number in the last place does not."""
    old = prompt_of({"prompt": [1, 22]}, Api.COMPLETIONS)
    longer = only(old, prompt_of({"prompt": [1, 22, 7, 8]}, Api.COMPLETIONS))
    assert place(longer) == (ChangeKind.EXTENDED, "/prompt/2", None)
    assert (longer.old, longer.new) == ("", "7 8")
    other = only(old, prompt_of({"prompt": [1, 227]}, Api.COMPLETIONS))
    assert place(other) == (ChangeKind.EDITED, "/prompt/1", None)
    assert (other.old, other.new) == ("22", "227")


def test_bytes_are_those_of_utf_8() -> None:
    """Characters count in the string, bytes in what is shared; half a pair is three of them."""
    change = only(prompt(["äöü \ud800 1 ß"], CHAT[:1]), prompt(["äöü \ud800 2 ß"], CHAT[:1]))
    assert change.char == 6
    assert change.shared_before == 6 + 1 + 3 + 1
    assert change.shared_behind == 1 + 2 + sizes(CHAT[0][1])


def test_a_provider_that_reads_in_another_order_has_its_changes_in_that_order() -> None:
    """The child's, whatever the parent's was."""
    order = (Section.SYSTEM, Section.TOOLS, Section.MESSAGES)
    child = prompt(["Another one."], CHAT, TOOLS[:3], order=order)
    for parent in (prompt([SYSTEM], CHAT, TOOLS, order=order), prompt([SYSTEM], CHAT, TOOLS)):
        found = compare(parent, child)
        sections = [change.section for change in found.changes]
        assert sections == [Section.SYSTEM, Section.TOOLS]
        assert (
            found.aligned[1:4]
            == tuple(
                parent.spans.index(span) for span in parent.spans if span.section is Section.TOOLS
            )[:3]
        )


@pytest.mark.parametrize("words", [400_000])
def test_windows_are_never_long(words: int) -> None:
    """Whatever was added, removed or changed."""
    long = "word " * words
    for old, new in (("", long), (long, ""), (long, "other"), ("a", f"b{long}")):
        for change in compare(prompt([old, SYSTEM], CHAT), prompt([new, SYSTEM], CHAT)).changes:
            assert len(change.old) <= 4096
            assert len(change.new) <= 4096
