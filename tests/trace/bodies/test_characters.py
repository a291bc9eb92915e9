from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.core.tokens import common_prefix
from stemcache.trace.bodies.characters import CharacterPrompts, rendered
from stemcache.trace.bodies.prompt import Conversation, TextPrompt
from stemcache.trace.problem import BadLineError


def chat(*messages: dict[str, Any], system: Any = None, tools: tuple[Any, ...] = ()) -> str:
    """The characters of a conversation."""
    return rendered(Conversation(tools, system, messages))


def user(content: Any, **more: Any) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": content, **more}


def test_the_order_is_tools_system_messages() -> None:
    """Each behind a mark, with its strings as they are."""
    text = chat(user("a\nb"), system="be brief", tools=({"name": "f", "strict": True, "n": [1.5]},))
    assert text == "\x1d{name:f,strict:true,n:[1.5,],}\x1esystem\x1fbe brief\x1euser\x1fa\nb"


def test_a_system_prompt_is_the_same_in_both_styles() -> None:
    """Apart, or as the first message."""
    assert chat(user("a"), system="s") == chat({"role": "system", "content": "s"}, user("a"))


def test_text_in_parts_is_the_same_as_text() -> None:
    """However many parts it has, and by whatever name their kind goes."""
    whole = chat(user("hello"))
    for kind in ("text", "input_text", "output_text"):
        parts = [{"type": kind, "text": "hel"}, {"type": kind, "text": "lo"}]
        assert chat(user(parts)) == whole
    assert chat(user(["hello"])) == whole
    assert chat(user("hello", type="message")) == whole


def test_marks_for_caching_change_nothing() -> None:
    """They move from turn to turn, and are not content."""
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    tool = {"name": "f", "cache_control": {"type": "ephemeral"}}
    assert chat(user([marked]), system=[marked], tools=(tool,)) == chat(
        user("a"), system="a", tools=({"name": "f"},)
    )


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_what_is_shared_ends_where_the_content_differs(stem: str, left: str, right: str) -> None:
    """Not one character before, not one behind."""
    one, other = (
        CharacterPrompts().tokens(Conversation((), "s", [user(stem + end)]))
        for end in (left, right)
    )
    head = len("\x1esystem\x1fs\x1euser\x1f")
    texts = (stem + left, stem + right)
    expected = next(
        (i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b),
        min(map(len, texts)),
    )
    assert common_prefix(one, other) == head + expected


def test_calls_and_results_are_content() -> None:
    """Of tools, in both styles; nulls are not."""
    openai = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}], "refusal": None}
    assert chat(openai) == "\x1eassistant\x1f{tool_calls:[{id:1,},],}"
    anthropic = user([{"type": "tool_result", "tool_use_id": "1", "content": "r"}])
    assert chat(anthropic) == "\x1euser\x1f{type:tool_result,tool_use_id:1,content:r,}"
    item = {"type": "function_call_output", "call_id": "1", "output": "r"}
    assert chat(item) == "\x1efunction_call_output\x1f{call_id:1,output:r,}"


def test_media_stand_as_a_mark() -> None:
    """A few characters, the same for the same picture, wherever it is and however it is cached."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "B" * 10**6}}
    one, again, different = (
        chat(user([part])) for part in (picture, picture | {"cache_control": {}}, other)
    )
    assert one == again != different
    assert len(one) < 50
    nested = {"type": "tool_result", "content": [picture]}
    assert one.split("\x1f")[1] in chat(user([nested]))


def test_code_points_are_counted() -> None:
    """Not bytes, not halves of surrogate pairs."""
    tokens = CharacterPrompts().tokens(TextPrompt("aé😀\ud800"))
    assert tokens.tolist() == [97, 233, 0x1F600, 0xD800]
    assert CharacterPrompts().unit == "characters"


def test_what_is_no_message_is_told() -> None:
    """By its place."""
    with pytest.raises(BadLineError) as caught:
        rendered(Conversation((), None, [user("a"), "secret"]))
    assert caught.value.reason == "messages[1] is no object"


def test_nesting_without_end_is_told() -> None:
    """In content, in tools, and in media."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    for conversation in (
        Conversation((), None, [user(deep)]),
        Conversation((deep,), None, []),
        Conversation((), None, [user([{"type": "image", "source": deep}])]),
    ):
        with pytest.raises(BadLineError) as caught:
            rendered(conversation)
        assert caught.value.reason == "the body nests too deep"
