from typing import Any

import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from tests.trace.spans.rows import labels, rows


def read(contents: object, **body: Any) -> Prompt:
    """A request of these contents."""
    return prompt_of({"contents": contents, **body}, Api.GENERATE)


def test_tools_system_instruction_and_contents() -> None:
    """Each declared function is a tool; what a request reads is a parameter."""
    prompt = read(
        [
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "model", "parts": [{"text": "c"}]},
        ],
        systemInstruction={"parts": [{"text": "Be kind."}]},
        tools=[{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}],
        cachedContent="cachedContents/1",
        generationConfig={"temperature": 0},
    )
    assert rows(prompt) == [
        ("t", "/tools/0/functionDeclarations/0", "", "tool", '{"name":"f"}'),
        ("t", "/tools/0/functionDeclarations/1", "", "tool", '{"name":"g"}'),
        ("t.", "/tools/1/googleSearch", "", "tool", "{}"),
        ("s.", "/systemInstruction/parts/0", "/text", "system text", "Be kind."),
        ("m0", "/contents/0/parts/0", "/text", "user text", "a"),
        ("m0.", "/contents/0/parts/1", "/text", "user text", "b"),
        ("m1.", "/contents/1/parts/0", "/text", "assistant text", "c"),
    ]
    assert labels(prompt) == {"/tools/1/googleSearch": "googleSearch"}
    assert prompt.parameters == {
        "/cachedContent": "cachedContents/1",
        "/generationConfig": {"temperature": 0},
        "/generationConfig/temperature": 0,
    }


@pytest.mark.parametrize(
    ("name", "call", "answer", "data"),
    [
        ("systemInstruction", "functionCall", "functionResponse", "inlineData"),
        ("system_instruction", "function_call", "function_response", "inline_data"),
    ],
)
def test_both_spellings_are_read(name: str, call: str, answer: str, data: str) -> None:
    """Camel case as the API has it, snake case as SDKs write it."""
    image = {"mimeType" if "D" in data else "mime_type": "image/png", "data": "iVBO"}
    prompt = read(
        [
            {"role": "model", "parts": [{call: {"name": "f", "args": {"b": 1, "a": 2}}}]},
            {"role": "function", "parts": [{answer: {"name": "f"}}]},
            {"role": "user", "parts": [{data: image}]},
        ],
        **{name: {"parts": [{"text": "s"}]}},
    )
    called = f'{{"{call}":{{"name":"f","args":{{"b":1,"a":2}}}}}}'
    assert rows(prompt) == [
        ("s.", f"/{name}/parts/0", "/text", "system text", "s"),
        ("m0.", "/contents/0/parts/0", "", "assistant tool_use", called),
        ("m1.", "/contents/1/parts/0", "", "tool tool_result", f'{{"{answer}":{{"name":"f"}}}}'),
        ("m2.", "/contents/2/parts/0", f"/{data}/data", "user image", "iVBO"),
    ]
    assert labels(prompt) == {"/contents/2/parts/0": "image/png"}


def test_thoughts_files_and_other_parts() -> None:
    """A thought is told by its flag; its seal is the label."""
    prompt = read(
        [
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "Eq"},
                    {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a"}},
                    {"fileData": {"fileUri": "gs://a"}, "videoMetadata": {}},
                    {"executableCode": {"code": "1"}},
                    {"hologram": 1},
                    7,
                ],
            }
        ]
    )
    assert [row[2:] for row in rows(prompt)] == [
        ("/text", "assistant thinking", "hm"),
        ("/fileData/fileUri", "assistant document", "gs://a"),
        ("", "assistant document", '{"fileData":{"fileUri":"gs://a"},"videoMetadata":{}}'),
        ("", "assistant tool_use", '{"executableCode":{"code":"1"}}'),
        ("", "assistant other", '{"hologram":1}'),
        ("", "assistant other", "7"),
    ]
    assert labels(prompt) == {
        "/contents/0/parts/0": "Eq",
        "/contents/0/parts/1": "application/pdf",
    }


def test_contents_in_the_short_forms_of_sdks() -> None:
    """A text, a content, texts and parts in a list; an empty one is still there."""
    assert rows(read("a")) == [("m0.", "/contents", "", "user text", "a")]
    assert rows(read({"parts": {"text": "a"}})) == [
        ("m0.", "/contents/parts", "/text", "user text", "a")
    ]
    assert rows(read(["a", {"text": "b"}, {"parts": "c"}, {"parts": []}, None])) == [
        ("m0.", "/contents/0", "", "user text", "a"),
        ("m1.", "/contents/1", "/text", "user text", "b"),
        ("m2.", "/contents/2", "/parts", "user text", "c"),
        ("m3.", "/contents/3", "", "user text", ""),
        ("m4.", "/contents/4", "", "user text", ""),
    ]
    assert rows(read([], systemInstruction="s")) == [
        ("s.", "/systemInstruction", "", "system text", "s")
    ]


def test_the_system_role_is_kept_whatever_an_instruction_says() -> None:
    """Clients write `user` or `system` there, which the API ignores."""
    (span,) = read([], systemInstruction={"role": "system", "parts": [{"text": "s"}]}).spans
    assert span.role == "system"
    (span,) = read([], systemInstruction={"role": "user", "parts": [{"text": "s"}]}).spans
    assert span.role == "system"


def test_tools_that_are_no_object_are_other() -> None:
    """And declarations that are no list are a tool by themselves."""
    prompt = read([], tools=["x", {"functionDeclarations": {"name": "f"}}])
    assert rows(prompt) == [
        ("t", "/tools/0", "", "other", '"x"'),
        ("t.", "/tools/1/functionDeclarations", "", "tool", '{"name":"f"}'),
    ]


def test_a_body_without_contents_is_refused() -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        read(7)
    assert caught.value.reason == "contents is neither a list nor a text"
