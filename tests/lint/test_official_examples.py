"""The ways to cache that vendors' own guides show, as logs: none of them is a fault.

Shapes are those of the guides for Anthropic's, OpenAI's, Bedrock's, Gemini's and DeepSeek's caches;
the texts are made up.
"""

import copy
from typing import Any

import pytest

from tests.lint.logs import call, kinds, lint, prose, tool

EPHEMERAL = {"type": "ephemeral"}
BOOK = prose(6_000, 11)
T0 = 1_800_000_000.0

Body = dict[str, Any]


def _log(bodies: list[Body], *, gap_s: float = 20.0, **others: Any) -> list[Any]:
    return [
        call(body, line, time_s=T0 + gap_s * line, answered_s=T0 + gap_s * line + 3, **others)
        for line, body in enumerate(bodies, start=1)
    ]


def _claude(**parts: Any) -> Body:
    return {"model": "claude-opus-5", "max_tokens": 1_024, **parts}


def anthropic_large_context() -> list[Body]:
    """A book in the system prompt, marked at its end; another question each time."""
    system = [
        {"type": "text", "text": "You analyse books."},
        {"type": "text", "text": BOOK, "cache_control": EPHEMERAL},
    ]
    questions = [prose(12, seed) for seed in range(8)]
    return [
        _claude(system=system, messages=[{"role": "user", "content": question}])
        for question in questions
    ]


def anthropic_tools() -> list[Body]:
    """A marker on the last tool keeps all of them."""
    tools = [tool(f"tool_{i}", i) for i in range(20)]
    tools[-1]["cache_control"] = EPHEMERAL
    return [
        _claude(tools=tools, messages=[{"role": "user", "content": prose(12, seed)}])
        for seed in range(8)
    ]


def anthropic_conversation() -> list[Body]:
    """A marker behind the system prompt and one on the newest message, taken along."""
    system = [{"type": "text", "text": BOOK, "cache_control": EPHEMERAL}]
    history: list[Body] = []
    bodies = []
    for turn in range(10):
        block: Body = {"type": "text", "text": prose(30, turn)}
        marked = [{"role": "user", "content": [{**block, "cache_control": EPHEMERAL}]}]
        bodies.append(_claude(system=system, messages=[*copy.deepcopy(history), *marked]))
        history += [
            {"role": "user", "content": [block]},
            {"role": "assistant", "content": prose(80, turn + 99)},
        ]
    return bodies


def anthropic_automatic() -> list[Body]:
    """One marker on the request, which the provider moves along by itself."""
    bodies = []
    messages: list[Body] = []
    for turn in range(8):
        messages = [*messages, {"role": "user", "content": prose(60, turn)}]
        bodies.append(_claude(cache_control=EPHEMERAL, system=BOOK, messages=messages))
        messages = [*messages, {"role": "assistant", "content": prose(60, turn + 70)}]
    return bodies


def anthropic_four_markers() -> list[Body]:
    """Tools, instructions, documents and the conversation, each with a marker of its own."""
    tools = [tool(f"tool_{i}", i) for i in range(6)]
    tools[-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    system = [
        {
            "type": "text",
            "text": prose(900, 1),
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
        {"type": "text", "text": BOOK, "cache_control": EPHEMERAL},
    ]
    history: list[Body] = []
    bodies = []
    for turn in range(6):
        block: Body = {"type": "text", "text": prose(30, turn)}
        last = {"role": "user", "content": [{**block, "cache_control": EPHEMERAL}]}
        bodies.append(_claude(tools=tools, system=system, messages=[*history, last]))
        history = [
            *history,
            {"role": "user", "content": [block]},
            {"role": "assistant", "content": prose(80, turn + 99)},
        ]
    return bodies


def anthropic_tool_loop() -> list[Body]:
    """An agent whose marker sits on the newest result; parallel calls are one run."""
    system = [{"type": "text", "text": BOOK, "cache_control": EPHEMERAL}]
    history: list[Body] = [{"role": "user", "content": prose(30, 1)}]
    bodies = []
    for step in range(6):
        calls = [
            {"type": "tool_use", "id": f"t{step}_{i}", "name": "tool_0", "input": {"query": str(i)}}
            for i in range(5)
        ]
        results: list[Body] = [
            {"type": "tool_result", "tool_use_id": f"t{step}_{i}", "content": prose(30, step + i)}
            for i in range(5)
        ]
        history = [*history, {"role": "assistant", "content": calls}]
        last = [*results[:-1], {**results[-1], "cache_control": EPHEMERAL}]
        bodies.append(
            _claude(
                tools=[tool("tool_0")],
                system=system,
                messages=[*history, {"role": "user", "content": last}],
            )
        )
        history = [*history, {"role": "user", "content": results}]
    return bodies


def openai_static_first() -> list[Body]:
    """Instructions and examples first, what differs last, one key for all."""
    return [
        {
            "model": "gpt-5.5",
            "prompt_cache_key": "support",
            "messages": [
                {"role": "system", "content": BOOK},
                {"role": "user", "content": prose(15, seed)},
            ],
        }
        for seed in range(8)
    ]


def openai_conversation() -> list[Body]:
    """A chat that is sent whole on every turn."""
    messages: list[Body] = [{"role": "developer", "content": BOOK}]
    bodies = []
    for turn in range(8):
        messages = [*messages, {"role": "user", "content": prose(40, turn)}]
        bodies.append({"model": "gpt-6.1-sol", "messages": messages})
        messages = [*messages, {"role": "assistant", "content": prose(70, turn + 60)}]
    return bodies


def openai_explicit_breakpoints() -> list[Body]:
    """From 5.6: a breakpoint behind the shared document, a question behind it."""
    bodies = []
    for seed in range(8):
        document = {
            "type": "input_text",
            "text": BOOK,
            "prompt_cache_breakpoint": {"mode": "explicit"},
        }
        question = {"type": "input_text", "text": prose(15, seed)}
        bodies.append(
            {
                "model": "gpt-6.1-sol",
                "instructions": "You answer from the document.",
                "input": [{"role": "user", "content": [document, question]}],
            }
        )
    return bodies


def openai_responses_items() -> list[Body]:
    """Responses: items are appended, reasoning and calls among them."""
    items: list[Body] = [{"role": "user", "content": prose(40, 0)}]
    bodies = []
    for step in range(6):
        bodies.append({"model": "gpt-5.5", "instructions": BOOK, "input": [*items]})
        items += [
            {"type": "reasoning", "id": f"rs_{step}", "summary": [], "encrypted_content": "eA=="},
            {"type": "function_call", "call_id": f"c{step}", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{step}", "output": prose(40, step)},
        ]
    return bodies


def bedrock_converse() -> list[Body]:
    """Cache points behind tools, system prompt and the newest message."""
    point = {"cachePoint": {"type": "default"}}
    history: list[Body] = []
    bodies = []
    for turn in range(6):
        last = {"role": "user", "content": [{"text": prose(40, turn)}, point]}
        bodies.append(
            {
                "modelId": "us.anthropic.claude-opus-5",
                "system": [{"text": BOOK}, point],
                "messages": [*history, last],
                "inferenceConfig": {"maxTokens": 512},
            }
        )
        history = [
            *history,
            {"role": "user", "content": [{"text": prose(40, turn)}]},
            {"role": "assistant", "content": [{"text": prose(70, turn + 60)}]},
        ]
    return bodies


def gemini_common_first() -> list[Body]:
    """What is common stands at the beginning."""
    return [
        {
            "model": "gemini-3.8-flash",
            "systemInstruction": {"parts": [{"text": BOOK}]},
            "contents": [{"role": "user", "parts": [{"text": prose(15, seed)}]}],
        }
        for seed in range(8)
    ]


def deepseek_few_shot() -> list[Body]:
    """A long prefix of examples, found to be common, and a question."""
    return [
        {
            "model": "deepseek-chat",
            "messages": [
                {"role": "system", "content": BOOK},
                {"role": "user", "content": prose(15, seed)},
            ],
        }
        for seed in range(8)
    ]


def vllm_shared_prefix() -> list[Body]:
    """A long document, questions behind it, to a server of one's own."""
    return [
        {
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "messages": [
                {"role": "system", "content": BOOK},
                {"role": "user", "content": prose(15, seed)},
            ],
        }
        for seed in range(8)
    ]


@pytest.mark.parametrize(
    "example",
    [
        anthropic_large_context,
        anthropic_tools,
        anthropic_conversation,
        anthropic_automatic,
        anthropic_four_markers,
        anthropic_tool_loop,
        openai_static_first,
        openai_conversation,
        openai_explicit_breakpoints,
        openai_responses_items,
        bedrock_converse,
        gemini_common_first,
        deepseek_few_shot,
        vllm_shared_prefix,
    ],
)
def test_documented_way_to_cache_is_no_fault(example: Any) -> None:
    """Neither with times nor without is there anything to say."""
    bodies = example()
    provider = "vllm" if example is vllm_shared_prefix else None
    assert kinds(lint(bodies, provider=provider)) == []
    report = lint(_log(bodies), provider=provider)
    assert kinds(report) == []
    assert [(one.kind, one.message) for one in report.findings] == []
    assert report.total.hit_rate is not None
    assert report.total.hit_rate > 0.6
