"""Logs in memory for tests: calls made from bodies, and bodies that are like real ones."""

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from stemcache.lint.analyse import analyse
from stemcache.lint.finding import Finding, Report
from stemcache.lint.log import Row
from stemcache.lint.options import Options
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.wire.api import api_of

__all__ = ["TODAY", "MemoryLog", "anthropic", "call", "chat", "kinds", "lint", "prose", "rows"]

TODAY = date(2026, 11, 30)

_WORDS = (  # noqa: SIM905  # a list of words reads better as a text
    "account adapter amount answer balance branch cable carrier claim contract credit customer "
    "delivery device discount document estimate exchange field firmware invoice label launch "
    "limit manager market module network notice order panel payment policy price product quality "
    "receipt record refund region release report return router schedule season section sensor"
).split()


def prose(words: int, seed: int = 0) -> str:
    """So many words, in lines, always the same for a seed."""
    chance = random.Random(seed)
    chosen = [chance.choice(_WORDS) for _ in range(words)]
    return "\n".join(" ".join(chosen[i : i + 12]) for i in range(0, words, 12))


def tool(name: str, seed: int = 0) -> dict[str, Any]:
    """An Anthropic tool definition."""
    return {
        "name": name,
        "description": prose(60, seed + 100),
        "input_schema": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["query"],
        },
    }


def anthropic(turns: int, *, system: str | None = None, tools: int = 3) -> dict[str, Any]:
    """A Messages body of a chat, with a marker behind the system prompt and one that moves."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": [_text(f"question {turn}: {prose(60, turn)}")]})
        if turn < turns - 1:
            answer = f"answer {turn}: {prose(120, turn + 50)}"
            messages.append({"role": "assistant", "content": [_text(answer)]})
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {
        "model": "claude-opus-5",
        "max_tokens": 512,
        "tools": [tool(f"tool_{i}", i) for i in range(tools)],
        "system": [
            {
                "type": "text",
                "text": system or f"You are a support assistant.\n{prose(3_000, 7)}",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "messages": messages,
    }


def chat(turns: int, *, system: str | None = None, model: str = "gpt-5.5") -> dict[str, Any]:
    """A Chat body of the same chat."""
    messages: list[dict[str, Any]] = [
        {
            "role": "system",
            "content": system or f"You are a support assistant.\n{prose(3_000, 7)}",
        }
    ]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn}: {prose(60, turn)}"})
        if turn < turns - 1:
            answer = f"answer {turn}: {prose(120, turn + 50)}"
            messages.append({"role": "assistant", "content": answer})
    return {"model": model, "messages": messages}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(body: Mapping[str, Any], line: int, **others: Any) -> Call:
    """A call with that body, as recorded on the wire."""
    given = {
        "place": Place("log.jsonl", line),
        "api": api_of(body),
        "body": copy.deepcopy(dict(body)),
        "fidelity": Fidelity.WIRE,
        "size_bytes": len(str(body)),
        "model": body.get("model"),
    }
    return Call(**{**given, **others})


@dataclass
class MemoryLog:
    """Calls that are in memory, with what `analyse` asks of a log."""

    calls: Sequence[Call]
    repeated: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def again(self, place: Place) -> Mapping[str, Any] | None:
        return next((one.body for one in self.calls if one.place == place), None)


def lint(calls: Sequence[Call | Mapping[str, Any]], **options: Any) -> Report:
    """The report on calls, or on bare bodies in order."""
    return analyse(MemoryLog([*_calls(calls)]), options=Options(today=TODAY, **options))


def rows(calls: Sequence[Call | Mapping[str, Any]], **options: Any) -> list[Row]:
    """What is said of each call."""
    found: list[Row] = []
    analyse(
        MemoryLog([*_calls(calls)]), options=Options(today=TODAY, **options), on_row=found.append
    )
    return found


def _calls(calls: Sequence[Call | Mapping[str, Any]]) -> Iterator[Call]:
    for line, one in enumerate(calls, start=1):
        yield one if isinstance(one, Call) else call(one, line)


def kinds(report: Report) -> list[tuple[str, str, int | None]]:
    """Kind, pointer and character of all findings but notes."""
    return [_known(finding) for finding in report.findings if finding.severity != "note"]


def _known(finding: Finding) -> tuple[str, str, int | None]:
    return finding.kind, finding.location.pointer, finding.location.char
