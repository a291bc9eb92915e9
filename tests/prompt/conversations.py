"""Random conversations, held through the answers of one API; equal for equal seeds in any process.

What a person writes by hand, a dictionary's members in whatever order, comes in the order that
`Order` says: it must not matter. What a model wrote comes as it is: the order of a call's
arguments is a part of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.layout import Layout
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Text, ToolCall, ToolResult
from stemcache.prompt.render import chat as render_chat
from stemcache.prompt.render import converse as render_converse
from stemcache.prompt.render import generate as render_generate
from stemcache.prompt.render import messages as render_messages
from stemcache.prompt.render import responses as render_responses
from stemcache.prompt.segment import static
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from stemcache.wire.section import Section

APIS = (Api.MESSAGES, Api.CHAT, Api.RESPONSES, Api.GENERATE, Api.CONVERSE)
LISTS = {
    Api.MESSAGES: "messages",
    Api.CHAT: "messages",
    Api.RESPONSES: "input",
    Api.GENERATE: "contents",
    Api.CONVERSE: "messages",
}
"""The member of a body that holds the messages."""

_WORDS = (
    *(
        "order",
        "naïve",
        "İstanbul",
        "\u0131I",
        "ß",
        "日本語",
        "שלום",
        "🧵🏽",
        "e\u0301",
        "a\u2028b",
    ),
    *('"quoted"', "back\\slash", "tab\there", "new\nline", "\r\n", "<|eot|>", "1e5", "null", "ﬀ"),
    *("\x00", "\x7f", " ", "  ", "{}", "[1, 2]", "</thinking>", "μ", "Å", "\ufeff", "zz" * 40),
)
Of = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Puts members in an order."""

_NAMES = ("search", "fetch", "run_code", "read_file")
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
)


@dataclass(frozen=True)
class Order:
    """How the members of dictionaries made by hand are ordered; 0 is as written."""

    seed: int = 0

    def of(self, members: Mapping[str, Any]) -> dict[str, Any]:
        if self.seed == 0:
            return dict(members)
        names = list(members)
        Random(f"{self.seed} {names}").shuffle(names)
        return {name: members[name] for name in names}


def words(rng: Random, most: int = 12) -> str:
    """A text that is never blank, which some APIs would not take."""
    return "w " + " ".join(rng.choices(_WORDS, k=rng.randrange(most)))


def value(rng: Random, depth: int = 2) -> Any:
    """Any JSON."""
    kind = rng.randrange(8 if depth else 6)
    if kind < 2:
        return words(rng, 4)
    if kind == 2:
        return rng.choice((0, -1, 2**53 + 1, 10**20, True, False, None))
    if kind == 3:
        return rng.choice((0.1, 1e-9, 1e22, 2.5, -0.0))
    if kind < 6:
        return rng.randrange(1000)
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return arguments(rng, depth - 1)


def arguments(rng: Random, depth: int = 2) -> dict[str, Any]:
    """A call's, in an order that the model chose."""
    names = rng.sample(("z", "query", "b", "Ä", "page", "a"), k=rng.randrange(4))
    return {name: value(rng, depth) for name in names}


def answer(rng: Random, api: Api, order: Order = Order()) -> dict[str, Any]:
    """What a model might answer: a thought, a text and up to three calls, at least one of them."""
    thought = rng.random() < 0.4
    calls = rng.choice((0, 0, 1, 2, 3))
    text = words(rng) if calls == 0 or rng.random() < 0.5 else None
    return _ANSWERS[api](rng, order.of, thought=thought, text=text, calls=calls)


def _messages(
    rng: Random, of: Of, *, thought: bool, text: str | None, calls: int
) -> dict[str, Any]:
    content = []
    if thought:
        sealed = {"type": "thinking", "thinking": words(rng), "signature": name(rng, "sig+/")}
        hidden = {"type": "redacted_thinking", "data": name(rng, "data")}
        content.append(of(sealed if rng.random() < 0.7 else hidden))
    if text is not None:
        cited = {
            "type": "char_location",
            "cited_text": "é",
            "document_index": 0,
            "document_title": None,
            "start_char_index": 0,
            "end_char_index": 1,
            "file_id": None,
        }
        citations = [cited] if rng.random() < 0.2 else None
        content.append(of({"type": "text", "text": text, "citations": citations}))
    for _ in range(calls):
        call = {"type": "tool_use", "id": name(rng, "toolu_"), "name": rng.choice(_NAMES)}
        caller = {"type": "direct"} if rng.random() < 0.5 else None
        content.append(of({**call, "input": arguments(rng), "caller": caller}))
    return of({"id": "msg_1", "type": "message", "role": "assistant", "content": content})


def _chat(rng: Random, of: Of, *, thought: bool, text: str | None, calls: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if thought:
        message[rng.choice(("reasoning_content", "reasoning"))] = words(rng)
    if calls:
        message["tool_calls"] = [
            of(
                {
                    "id": name(rng, "call_"),
                    "type": "function",
                    "function": of({"name": rng.choice(_NAMES), "arguments": loose_json(rng)}),
                }
            )
            for _ in range(calls)
        ]
    return of({"id": "chatcmpl-1", "choices": [of({"index": 0, "message": of(message)})]})


def loose_json(rng: Random) -> str:
    """Arguments as models write them: blanks anywhere, and not always JSON."""
    return rng.choice(
        ('{"a": 1,  "b":2.50}', '{"b":1e2}', "{}", "", '{"cut": "o', '{ "é":"\\u00e9"}')
    )


def _responses(
    rng: Random, of: Of, *, thought: bool, text: str | None, calls: int
) -> dict[str, Any]:
    output = []
    if thought:
        summary = [{"type": "summary_text", "text": words(rng)}]
        sealed = {"encrypted_content": name(rng, "gAAAA"), "status": None}
        output.append(
            of({"type": "reasoning", "id": name(rng, "rs_"), "summary": summary, **sealed})
        )
    if text is not None:
        part: dict[str, Any] = {
            "type": "output_text",
            "text": text,
            "annotations": [],
            "logprobs": None,
        }
        said = {"type": "message", "id": name(rng, "msg_"), "role": "assistant"}
        phase = rng.choice((None, "commentary", "final_answer"))
        output.append(of({**said, "status": "completed", "phase": phase, "content": [of(part)]}))
    for _ in range(calls):
        call = {"type": "function_call", "id": name(rng, "fc_"), "call_id": name(rng, "call_")}
        made = {**call, "name": rng.choice(_NAMES), "arguments": loose_json(rng)}
        output.append(of({**made, "status": "completed"}))
    return of({"id": "resp_1", "object": "response", "output": output})


def _generate(
    rng: Random, of: Of, *, thought: bool, text: str | None, calls: int
) -> dict[str, Any]:
    parts = []
    if thought:
        parts.append(of({"text": words(rng), "thought": True}))
    if text is not None:
        seal = {"thoughtSignature": name(rng, "sig+/")} if rng.random() < 0.3 else {}
        parts.append(of({"text": text, **seal}))
    for i in range(calls):
        call = {"name": rng.choice(_NAMES), "args": arguments(rng)}
        if rng.random() < 0.5:
            call["id"] = name(rng, "")
        seal = {"thoughtSignature": name(rng, "sig")} if i == 0 else {}
        parts.append(of({"functionCall": of(call), **seal}))
    content = of({"role": "model", "parts": parts})
    return of({"candidates": [of({"content": content, "finishReason": "STOP"})]})


def _converse(
    rng: Random, of: Of, *, thought: bool, text: str | None, calls: int
) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if thought:
        sealed = of({"text": words(rng), "signature": name(rng, "sig")})
        hidden: dict[str, Any] = {"redactedContent": rng.randbytes(9)}
        plain = rng.random() < 0.7
        shown: dict[str, Any] = {"reasoningText": sealed}
        content.append({"reasoningContent": shown if plain else hidden})
    if text is not None:
        content.append({"text": text})
    for _ in range(calls):
        call: dict[str, Any] = {"toolUseId": name(rng, "tooluse_"), "name": rng.choice(_NAMES)}
        content.append({"toolUse": of({**call, "input": arguments(rng)})})
    return of({"output": {"message": of({"role": "assistant", "content": content})}})


_ANSWERS: dict[Api, Callable[..., dict[str, Any]]] = {
    Api.MESSAGES: _messages,
    Api.CHAT: _chat,
    Api.RESPONSES: _responses,
    Api.GENERATE: _generate,
    Api.CONVERSE: _converse,
}


def name(rng: Random, head: str) -> str:
    """An id."""
    return f"{head}{rng.getrandbits(64):016x}"


def content(rng: Random) -> list[str | Text | Image | Document]:
    """What a user says: a text, at times with a picture or a file."""
    made: list[str | Text | Image | Document] = [words(rng)]
    if rng.random() < 0.15:
        made.insert(rng.randrange(2), Image(media_type="image/png", base64=_PIXEL))
    if rng.random() < 0.1:
        made.append(Document(media_type="application/pdf", name="terms.pdf", base64="JVBERi0x"))
    return made


def results(rng: Random, calls: tuple[ToolCall, ...], api: Api) -> list[ToolResult]:
    """Of parallel calls, as they end: in any order, where ids tell them apart."""
    made = []
    for call in calls:
        texts = tuple(Text(words(rng)) for _ in range(rng.choice((0, 1, 1, 1, 2))))
        failed = rng.random() < 0.1
        made.append(ToolResult(call_id=call.id, name=call.name, parts=texts, failed=failed))
    if api is not Api.GENERATE:
        rng.shuffle(made)
    return made


def step(rng: Random, conversation: Conversation, api: Api, order: Order = Order()) -> None:
    """What comes next: results of calls that wait, an answer to a user, or a user's message."""
    if conversation.pending:
        conversation.results(*results(rng, conversation.pending, api))
    elif len(conversation) and conversation.messages[-1].speaker == "user":
        conversation.answer(answer(rng, api, order), api)
    else:
        conversation.user(*content(rng))


_NO_MARKS = Placement(
    marks=(), expected_usd=None, expected_read_tokens=0.0, expected_written_tokens=0.0
)
_RENDER = {
    Api.MESSAGES: render_messages.render,
    Api.CHAT: render_chat.render,
    Api.RESPONSES: render_responses.render,
    Api.GENERATE: render_generate.render,
    Api.CONVERSE: render_converse.render,
}


def layout(order: Order = Order()) -> Layout:
    """One with a tool and a segment."""
    page = order.of({"type": "integer", "description": "which page"})
    properties = order.of({"query": order.of({"type": "string"}), "page": page})
    schema = {"type": "object", "properties": properties, "required": ["query", "page"]}
    tools = [Tool(name=name, description=f"to {name}", schema=order.of(schema)) for name in _NAMES]
    return Layout([static("rules", "Answer briefly.\nAlways.")], tools)


def body(conversation: Conversation, api: Api, order: Order = Order()) -> dict[str, Any]:
    """A request that asks for what comes next; the conversation ends with a user."""
    laid = layout(order).lay(tuple(Section), conversation.messages, api=api)
    options = order.of({"max_tokens": 1000, "metadata": order.of({"user_id": "u", "b": "c"})})
    given = options if api is Api.MESSAGES else {}
    return _RENDER[api](laid, _NO_MARKS, model="m", options=given)
