"""A log of chats with tools that grow side by side, of any size, always the same for a seed.

```
sessions at once   A ──u──u──u──u──…       ┐  one call after another, whichever session comes next;
                   B ────u──u──u──…        ├─ a session ends after some turns, another begins
                   C ──u────u──u──…        ┘
each call          tools │ system of its application │ the turns so far │ a question
```
Prompts are of 5 to 100 kB. Half of the sessions speak Anthropic's form with markers, half OpenAI's.
Every call has a time, a status and usage as its provider's rule says, of which some are misses;
some sessions have a fault: a clock in the system prompt, tools in another order, an edited or
dropped turn.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Record", "records"]

Record = dict[str, Any]

_WORDS = (  # noqa: SIM905  # a list of words reads better as a text
    "account adapter amount answer balance branch cable carrier claim contract credit customer "
    "delivery device discount document estimate exchange field firmware invoice label launch "
    "limit manager market module network notice offer order panel payment policy price product "
    "quality receipt record refund region release report return router schedule season section"
).split()
_FAULTS = ("none",) * 14 + ("clock", "tool-order", "edited", "dropped", "no-marker", "id")
_AT_ONCE = 40
_MOST_BYTES = 100_000


def _prose(chance: random.Random, size: int) -> str:
    """About so many characters, in lines."""
    words = chance.choices(_WORDS, k=max(1, size // 8))
    words[len(words) // 2] = f"{words[0]}-{chance.getrandbits(40):x}"
    return "\n".join(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))


def _schema(chance: random.Random) -> Record:
    names = chance.sample(_WORDS, 4)
    properties: Record = {
        name: {"type": "string", "description": _prose(chance, 60)} for name in names
    }
    return {"type": "object", "properties": properties, "required": names[:2]}


@dataclass
class _Application:
    """What all sessions of one application share."""

    system: str
    tools: list[Record]

    @classmethod
    def made(cls, chance: random.Random) -> "_Application":
        tools = [
            {
                "name": f"{chance.choice(_WORDS)}_{number}",
                "description": _prose(chance, 300),
                "parameters": _schema(chance),
            }
            for number in range(chance.randint(3, 14))
        ]
        return cls(_prose(chance, chance.randint(2_500, 20_000)), tools)


@dataclass
class _Session:
    """One conversation."""

    application: _Application
    claude: bool
    fault: str
    number: int
    turns: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Question, arguments of a call, its result, answer."""
    size: int = 0
    calls: int = 0

    def grow(self, chance: random.Random) -> None:
        turn = (
            _prose(chance, chance.randint(60, 800)),
            _prose(chance, 40).replace("\n", " "),
            _prose(chance, int(chance.lognormvariate(7.3, 0.9))),
            _prose(chance, chance.randint(100, 2_000)),
        )
        self.turns.append(turn)
        self.size += sum(map(len, turn))

    def body(self, chance: random.Random, at_s: float) -> Record:
        """The next request."""
        system, tools, turns = self.application.system, self.application.tools, self.turns
        if self.fault == "clock":
            system = f"The time is {int(at_s)} seconds.\n{system}"
        elif self.fault == "id":
            system = f"{system}\nRequest {chance.getrandbits(128):032x}"
        elif self.fault == "tool-order":
            tools = chance.sample(tools, len(tools))
        elif self.fault == "edited" and len(turns) > 3 and self.calls % 5 == 4:
            at = chance.randrange(len(turns) - 2)
            asked, arguments, result, answer = turns[at]
            turns[at] = (asked, arguments, f"{result[:60]} [shortened]", answer)
        elif self.fault == "dropped" and len(turns) > 6:
            del turns[:2]
        self.calls += 1
        return (_claude if self.claude else _chat)(system, tools, turns, self.fault)


def _claude(system: str, tools: list[Record], turns: list[Any], fault: str) -> Record:
    mark: Record = {} if fault == "no-marker" else {"cache_control": {"type": "ephemeral"}}
    messages: list[Record] = []
    for number, (asked, arguments, result, answer) in enumerate(turns[:-1]):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": tools[0]["name"]}
        done = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
        messages += [
            {"role": "user", "content": [{"type": "text", "text": asked}]},
            {"role": "assistant", "content": [{**use, "input": {"query": arguments}}]},
            {"role": "user", "content": [done]},
            {"role": "assistant", "content": [{"type": "text", "text": answer}]},
        ]
    messages.append({"role": "user", "content": [{"type": "text", "text": turns[-1][0], **mark}]})
    return {
        "model": "claude-opus-5",
        "max_tokens": 1_024,
        "tools": [
            {key if key != "parameters" else "input_schema": value for key, value in tool.items()}
            for tool in tools
        ],
        "system": [{"type": "text", "text": system, **mark}],
        "messages": messages,
    }


def _chat(system: str, tools: list[Record], turns: list[Any], _fault: str) -> Record:
    messages: list[Record] = [{"role": "system", "content": system}]
    for number, (asked, arguments, result, answer) in enumerate(turns[:-1]):
        function = {"name": tools[0]["name"], "arguments": f'{{"query": "{arguments}"}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
            {"role": "assistant", "content": answer},
        ]
    messages.append({"role": "user", "content": turns[-1][0]})
    functions = [{"type": "function", "function": tool} for tool in tools]
    return {"model": "gpt-5.5", "messages": messages, "tools": functions}


def _usage(session: _Session, chance: random.Random, prompt: int, before: int) -> Record:
    """As if all but the newest turn had been read, now and then nothing."""
    faulty = session.fault in {"clock", "tool-order", "no-marker"}
    read = 0 if faulty or chance.random() < 0.03 else before
    if session.fault in {"edited", "dropped"}:
        read = min(read, len(session.application.system) // 4)
    if session.claude:
        written = 0 if session.fault == "no-marker" else prompt - read
        return {
            "input_tokens": prompt - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 150,
        }
    return {
        "prompt_tokens": prompt,
        "completion_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": read // 128 * 128},
    }


def records(seed: int, *, forms: tuple[str, ...] = ("anthropic", "openai")) -> Iterator[Record]:
    """Calls without end, in the form that `stemcache lint` reads; the caller takes what it needs.

    `forms` restricts whose they are; the conversations stay the same kind.
    """
    chance = random.Random(seed)
    applications = [_Application.made(chance) for _ in range(12)]
    live: list[tuple[_Session, int]] = []
    at_s, sessions, number = 1_790_000_000.0, 0, 0
    while True:
        while len(live) < _AT_ONCE:
            claude = chance.choice(forms) == "anthropic"
            fault = chance.choice(_FAULTS)
            live.append((_Session(chance.choice(applications), claude, fault, sessions), 0))
            sessions += 1
        at = chance.randrange(len(live))
        session, before = live[at]
        session.grow(chance)
        at_s += chance.expovariate(1.0)
        body = session.body(chance, at_s)
        prompt = (len(session.application.system) + session.size) // 4 + 800
        usage = _usage(session, chance, prompt, before)
        kind = "msg" if session.claude else "chatcmpl"
        yield {
            "time": round(at_s, 3),
            "status": 200,
            "session": f"s{session.number}",
            "request": body,
            "response": {"id": f"{kind}-{number:08}", "usage": usage},
        }
        number += 1
        live[at] = (session, prompt)
        if len(session.application.system) + session.size > _MOST_BYTES or chance.random() < 0.02:
            live.pop(at)
