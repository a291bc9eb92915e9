"""Names and schemas of tools, by what each API takes."""

from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt import Conversation, Document, Image, Layout, Text, ToolResult, static
from stemcache.prompt.render.tools import check_name, schema_of
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api


def tool(name: str = "find", **schema: Any) -> Tool:
    """One that is called so."""
    return Tool(name=name, description="Finds.", schema=schema)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("find", set()),
        ("find_it-2", set()),
        ("my tool!", {Api.CONVERSE, Api.GENERATE, Api.MESSAGES, Api.RESPONSES}),
        ("files.find", {Api.CONVERSE, Api.MESSAGES, Api.RESPONSES}),
        ("2find", {Api.GENERATE}),
        ("f" * 65, {Api.CONVERSE}),
        ("f" * 128, {Api.CONVERSE}),
        ("f" * 129, {Api.CONVERSE, Api.GENERATE, Api.MESSAGES}),
        ("find\n", {Api.CONVERSE, Api.GENERATE, Api.MESSAGES, Api.RESPONSES}),
    ],
)
def test_names_are_what_the_api_takes(name: str, refused: set[Api]) -> None:
    """Servers of chats take what they like, and Responses states no length."""
    for api in set(Api) - {Api.COMPLETIONS}:
        if api in refused:
            with pytest.raises(UsageError, match=f"which {api} does not take; use letters"):
                check_name(tool(name), api)
        else:
            check_name(tool(name), api)


@pytest.mark.parametrize(
    ("api", "ends"),
    [(Api.CONVERSE, ", 64 at most"), (Api.MESSAGES, ", 128 at most"), (Api.RESPONSES, "and '-'")],
)
def test_a_name_that_is_refused_is_shown_whole_with_what_is_taken(api: Api, ends: str) -> None:
    """Each API's own number; only what nobody would read to its end is cut, and counted."""
    name = "a name of " + "f" * 125
    with pytest.raises(UsageError) as caught:
        check_name(tool(name), api)
    assert f"a tool is called {name!r}, which" in str(caught.value)
    assert str(caught.value).endswith(ends)
    with pytest.raises(UsageError, match=r"'a{160}'… \(1,000 characters\), which messages does"):
        check_name(tool("a" * 1_000), Api.MESSAGES)


def test_a_name_of_a_call_has_the_bounds_of_the_service_model() -> None:
    """What boto3's own model of Converse says of ToolName."""
    loaders = pytest.importorskip("botocore.loaders")
    model = loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    shape = model["shapes"]["ToolName"]
    assert (shape["min"], shape["max"], shape["pattern"]) == (1, 64, "[a-zA-Z0-9_-]+")


def test_a_request_with_a_name_that_is_refused_is_not_made() -> None:
    """Told before it is sent, with the name."""
    conversation = Conversation()
    conversation.user("q")
    layout = Layout([], [tool("my tool!")])
    with pytest.raises(UsageError, match="a tool is called 'my tool!', which messages does not"):
        layout.request("anthropic", "claude", conversation, options={"max_tokens": 5})


def test_a_schema_of_nothing_is_that_of_an_object() -> None:
    """Anthropic asks for the type, OpenAI for properties too; keys stay in their order."""
    assert schema_of(tool(), Api.MESSAGES) == {"type": "object"}
    assert schema_of(tool(), Api.CONVERSE) == {"type": "object"}
    assert schema_of(tool(), Api.GENERATE) == {}
    for api in (Api.CHAT, Api.RESPONSES):
        assert schema_of(tool(), api) == {"properties": {}, "type": "object"}
    made = schema_of(tool(required=["b", "a"], properties={"b": {}, "a": {}}), Api.MESSAGES)
    assert list(made) == ["properties", "required", "type"]
    assert schema_of(tool(type="object"), Api.CHAT) == {"type": "object"}


@pytest.mark.parametrize("kind", ["string", "array", ["object", "null"], None])
@pytest.mark.parametrize("api", list(Api))
def test_a_schema_of_something_else_is_refused(kind: Any, api: Api) -> None:
    """Arguments are an object everywhere."""
    with pytest.raises(
        UsageError, match=r"the schema of tool 'find' has the type .* are an object"
    ):
        schema_of(tool(type=kind), api)


@pytest.mark.parametrize("bad", ["!!!", "AAA", "AA==AA", "AA AA"])
def test_bytes_that_are_no_base64_are_told_where_they_come_in(bad: str) -> None:
    """Of segments, of users and of tools."""
    image = Image(media_type="image/png", base64=bad)
    with pytest.raises(UsageError, match="the Image of segment 'logo' is no base64; encode"):
        Layout([static("logo", image)])
    conversation = Conversation()
    with pytest.raises(UsageError, match="the Image of the user's message is no base64"):
        conversation.user("what is it?", image)
    conversation.user("q")
    call = {"type": "tool_use", "id": "c", "name": "find", "input": {}}
    conversation.answer({"content": [call]}, Api.MESSAGES)
    with pytest.raises(UsageError, match="the Image of a result is no base64"):
        conversation.results(ToolResult(call_id="c", parts=(Text("x"), image)))
    assert len(conversation) == 2


def test_a_file_without_bytes_and_address_is_told_where_it_comes_in() -> None:
    """As is one with both."""
    for file in (
        Document(media_type="text/plain"),
        Document(media_type="text/plain", base64="AAAA", url="https://example.com"),
    ):
        with pytest.raises(UsageError, match="the Document of the user's message has both bytes"):
            Conversation().user(file)
