"""Requests of made-up programs, good and bad, as their clients take them."""

from typing import Any

from tests.lint.logs import prose

__all__ = ["CLOCKS", "KEY", "RULES", "chat", "messages"]

KEY = "sk-secret-0123456789-abcdefghij"
RULES = f"You are an assistant.\n{prose(3_000)}"
CLOCKS = [f"2026-11-30T09:{minute:02}:07Z" for minute in range(60)]


def chat(number: int, *, clock: bool = False, model: str = "gpt-5.5", **more: Any) -> Any:
    """Keywords for Chat Completions: one question behind the rules, or behind a clock."""
    system = f"It is {CLOCKS[number]}. {RULES}" if clock else RULES
    question = f"Question {number}: {prose(20, number)}"
    return {
        "model": model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ],
        **more,
    }


def messages(number: int, *, clock: bool = False, model: str = "claude-opus-5") -> Any:
    """Keywords for Messages, with a mark behind the rules."""
    system = f"It is {CLOCKS[number]}. {RULES}" if clock else RULES
    marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    question = f"Question {number}: {prose(20, number)}"
    return {
        "model": model,
        "max_tokens": 64,
        "system": [marked],
        "messages": [{"role": "user", "content": question}],
    }
