"""One support conversation with tools, as an Anthropic body and as an OpenAI one.

```
six tools │ system, 26 kB │ u  a(thinking, tool_use)  u(tool_result)  a │ … │ u
                            ▲               one exchange                      ▲    markers
```
Always the same for the same arguments. The tools are in the order of their names, so that no tool
that asks for this order has a reason to complain.
"""

import random
from typing import Any

__all__ = ["Body", "anthropic", "chat", "marked", "prose", "text"]

Body = dict[str, Any]

_WORDS = (  # noqa: SIM905  # a list of words reads better as a text
    "account adapter amount answer balance branch cable carrier claim contract credit customer "
    "delivery device discount document estimate exchange field firmware invoice label launch "
    "limit manager market module network notice offer order panel payment policy price product "
    "quality receipt record refund region release report return router schedule season section"
).split()
_TOOLS = ("create_ticket", "get_order", "lookup_account", "search_docs", "send_mail", "track_item")
_SYSTEM = "You are a support assistant of a shop for network equipment.\n"


def prose(words: int, seed: int) -> str:
    """So many words in lines."""
    chance = random.Random(seed)
    chosen = [chance.choice(_WORDS) for _ in range(words)]
    return "\n".join(" ".join(chosen[i : i + 12]) for i in range(0, words, 12))


def text(words: str) -> Body:
    """A text block."""
    return {"type": "text", "text": words}


def marked(block: Body, ttl: str | None = None) -> Body:
    """The block with a marker on it."""
    marker = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    return {**block, "cache_control": marker}


def _schema(name: str) -> Body:
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": f"What {name} is asked"},
            "limit": {"type": "integer", "description": "Most rows"},
            "region": {"type": "string", "enum": ["eu", "us", "apac"]},
        },
        "required": ["query"],
    }


def _description(name: str) -> str:
    return f"{name}: {prose(60, len(name) * 31 + ord(name[0]))}"


def _question(turn: int) -> str:
    return f"question {turn}: {prose(60, 1_000 + turn)}"


def anthropic(exchanges: int, *, model: str = "claude-opus-5") -> Body:
    """A Messages body that asks one more question after so many exchanges."""
    messages: list[Body] = []
    for turn in range(exchanges):
        use = f"toolu_{turn:04}"
        thinking = {
            "type": "thinking",
            "thinking": prose(50, 2_000 + turn),
            "signature": f"c2lnbmF0dXJl{turn:08}",
        }
        query = {"query": prose(4, 3_000 + turn), "limit": 10}
        call = {"type": "tool_use", "id": use, "name": "search_docs", "input": query}
        result = {
            "type": "tool_result",
            "tool_use_id": use,
            "content": [text(prose(130, 4_000 + turn))],
        }
        messages += [
            {"role": "user", "content": [text(_question(turn))]},
            {"role": "assistant", "content": [thinking, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [text(f"answer {turn}: {prose(90, 5_000 + turn)}")]},
        ]
    messages.append({"role": "user", "content": [marked(text(_question(exchanges)))]})
    return {
        "model": model,
        "max_tokens": 1_024,
        "tools": [
            {"name": name, "description": _description(name), "input_schema": _schema(name)}
            for name in _TOOLS
        ],
        "system": [marked(text(_SYSTEM + prose(3_600, 7)))],
        "messages": messages,
    }


def chat(exchanges: int, *, model: str = "gpt-5.5") -> Body:
    """The same conversation as a Chat Completions body."""
    messages: list[Body] = [{"role": "system", "content": _SYSTEM + prose(3_600, 7)}]
    for turn in range(exchanges):
        call = f"call_{turn:04}"
        arguments = f'{{"query": "{prose(4, 3_000 + turn)}", "limit": 10}}'
        function = {"name": "search_docs", "arguments": arguments}
        messages += [
            {"role": "user", "content": _question(turn)},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call, "content": prose(130, 4_000 + turn)},
            {"role": "assistant", "content": f"answer {turn}: {prose(90, 5_000 + turn)}"},
        ]
    messages.append({"role": "user", "content": _question(exchanges)})
    functions = [
        {"name": name, "description": _description(name), "parameters": _schema(name)}
        for name in _TOOLS
    ]
    return {
        "model": model,
        "messages": messages,
        "tools": [{"type": "function", "function": function} for function in functions],
    }
