"""The four loads that prefix caching is for, each a function that asks a server and gives timings.

Texts are turns of airline customer service (tau-bench), so that tokens are those of real prose.
"""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from benchmarks.serve.server import Timed, ask

__all__ = ["LOADS", "Dialogue", "Load"]

Dialogue = list[dict[str, Any]]
Load = Callable[[str, list[Dialogue], Random], Coroutine[Any, Any, list[Timed]]]

ANSWER_TOKENS = 16


def _text(message: dict[str, Any]) -> str:
    text = message.get("content") or ""
    for call in message.get("tool_calls") or ():
        text += f"\n{call['function']['name']}({call['function']['arguments']})"
    return str(text)


def _role(message: dict[str, Any]) -> str:
    return "user" if message["role"] == "tool" else str(message["role"])


async def chatbot(url: str, dialogues: list[Dialogue], random: Random) -> list[Timed]:
    """Six users of one assistant with a long system prompt, four at a time."""
    system = _text(dialogues[0][0])
    questions = [_text(each[1]) for each in random.sample(dialogues, 6)]
    limit = asyncio.Semaphore(4)

    async def one(question: str) -> Timed:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        async with limit:
            return await ask(url, max_tokens=ANSWER_TOKENS, messages=messages)

    return list(await asyncio.gather(*map(one, questions)))


async def conversation(url: str, dialogues: list[Dialogue], random: Random) -> list[Timed]:
    """One conversation of six turns, sent whole on every turn."""
    users = [_text(m) for m in random.choice(dialogues) if m["role"] == "user"]
    users += [_text(m) for m in random.choice(dialogues) if m["role"] == "user"]
    messages = [{"role": "system", "content": "You are a helpful assistant of an airline."}]
    timings = []
    for turn in range(6):
        messages.append({"role": "user", "content": users[turn % len(users)]})
        timings.append(await ask(url, max_tokens=3 * ANSWER_TOKENS, messages=messages))
        messages.append({"role": "assistant", "content": timings[-1].text})
    return timings


async def document(url: str, dialogues: list[Dialogue], random: Random) -> list[Timed]:
    """Four questions over one document of about 3,000 tokens, one after another."""
    pages = "\n".join(_text(m) for each in random.sample(dialogues, 6) for m in each[1:])[:11_000]
    questions = [_text(each[1]) for each in random.sample(dialogues, 4)]
    timings = []
    for question in questions:
        content = f"Document:\n{pages}\n\nQuestion: {question}"
        messages = [{"role": "user", "content": content}]
        timings.append(await ask(url, max_tokens=ANSWER_TOKENS, messages=messages))
    return timings


async def agent(url: str, dialogues: list[Dialogue], random: Random) -> list[Timed]:
    """An agent's log that grows by a call and its result a step, its recorded steps replayed."""
    log = max(random.sample(dialogues, 10), key=len)
    messages: Dialogue = []
    timings: list[Timed] = []
    size = 0
    for message in log:
        if message["role"] == "assistant" and len(timings) < 5:
            timings.append(await ask(url, max_tokens=ANSWER_TOKENS, messages=list(messages)))
        size += len(_text(message))
        if size > 16_000:  # keep within the model's context
            break
        messages.append({"role": _role(message), "content": _text(message)})
    return timings


LOADS: dict[str, Load] = {
    "chatbot with a long system prompt": chatbot,
    "conversation of many turns": conversation,
    "many questions over one document": document,
    "agent loop": agent,
}
