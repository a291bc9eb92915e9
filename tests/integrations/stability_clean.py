"""Builders that look like those with a fault, and have none."""

import argparse
import json
import math
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, uuid4, uuid5

from stemcache.prompt.layout import Layout
from stemcache.prompt.segment import static, turn
from stemcache.prompt.tool import Tool
from stemcache.trace.spans.prompt import ORDER

__all__ = ["CLEAN"]

Builder = TypeVar("Builder", bound=Callable[..., object])

TOOLS = {"search", "fetch", "write", "read", "list"}
SIZES = {"a": 0.1, "b": 0.2, "c": 0.3}
USER = {"name": "Ann", "plan": "gold", "city": "Rome"}
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

CLEAN: list[tuple[Any, tuple[Any, ...]]] = []


def clean(*args: Any) -> Callable[[Builder], Builder]:
    """Put a builder into the list."""

    def listed(builder: Builder) -> Builder:
        CLEAN.append((builder, args))
        return builder

    return listed


def _messages(system: str, ask: str = "Where is order 7?") -> dict[str, Any]:
    blocks = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 99,
        "system": blocks,
        "messages": [{"role": "user", "content": ask}],
    }


def _chat(system: str, ask: str = "Where is order 7?") -> dict[str, Any]:
    system_message = {"role": "system", "content": system}
    return {"model": "gpt-5", "messages": [system_message, {"role": "user", "content": ask}]}


@clean(NOON)
def clock_given(now: datetime) -> dict[str, Any]:
    return _messages(f"Now: {now.isoformat()}. Be brief.")


@clean()
def clock_behind_the_marker() -> dict[str, Any]:
    return _messages("You are an agent.", f"Now: {datetime.now(UTC).isoformat()}")


@clean()
def unix_time_in_the_last_message() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": f"It is {time.time()}."},
    ]


@clean()
def clock_behind_a_marked_message() -> dict[str, Any]:
    marked = {"type": "text", "text": "Read this.", "cache_control": {"type": "ephemeral"}}
    free = {"type": "text", "text": f"It is {time.ctime()}."}
    body = _messages("You are an agent.")
    return {**body, "messages": [{"role": "user", "content": [marked, free]}]}


@clean()
def clock_measured_and_dropped() -> str:
    began = time.perf_counter()
    deadline = time.monotonic() + 0.02
    while time.monotonic() < deadline:
        time.sleep(0.005)
    assert time.perf_counter() > began
    return "You are an agent."


@clean()
def named_uuid() -> dict[str, Any]:
    return _messages(f"Handbook {uuid5(NAMESPACE_URL, 'https://example.org/handbook')}.")


@clean()
def id_for_routing_only() -> dict[str, Any]:
    return {**_messages("You are an agent."), "metadata": {"user_id": str(uuid4())}}


@clean()
def seeded_examples() -> dict[str, Any]:
    examples = [f"Example {letter}: yes" for letter in "ABCDEF"]
    random.Random(7).shuffle(examples)
    return _chat("\n".join(examples))


@clean()
def sorted_set() -> dict[str, Any]:
    return _messages("You may use: " + ", ".join(sorted(TOOLS)))


@clean()
def sorted_tools() -> dict[str, Any]:
    tools = [{"name": name, "description": "", "input_schema": {}} for name in sorted(TOOLS)]
    return {**_messages("You are an agent."), "tools": tools}


@clean(["a", "b", "a"])
def order_kept_without_a_set(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


@clean(USER)
def sorted_items(user: dict[str, str]) -> dict[str, Any]:
    return _chat("; ".join(f"{key} {value}" for key, value in sorted(user.items())))


@clean(USER)
def sorted_json(user: dict[str, str]) -> dict[str, Any]:
    return _messages(json.dumps(user, sort_keys=True))


@clean(SIZES)
def exact_sum(sizes: dict[str, float]) -> str:
    return f"The sizes add up to {math.fsum(sizes.values())!r}."


@clean("FOLDER")
def sorted_directory(folder: str) -> dict[str, Any]:
    return _chat("\n".join(path.name for path in sorted(Path(folder).iterdir())))


@clean()
def number_without_a_locale() -> dict[str, Any]:
    return _chat(f"There are {1_234_567:,} products at {9.5:.2f} each.")


@clean()
def written_repr() -> dict[str, Any]:
    class Agent:
        def __repr__(self) -> str:
            return "Agent('support')"

    return _messages(f"You are {Agent()!r}.")


@clean()
def host_in_a_header() -> dict[str, Any]:
    return {**_messages("You are an agent."), "extra_headers": {"x-host": os.uname().nodename}}


@clean("RULES")
def named_encoding(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


@clean()
def file_beside_the_module() -> str:
    return Path(__file__).read_text(encoding="utf-8").partition("\n")[0]


@clean()
def file_of_the_working_directory() -> bool | str:
    with open("pyproject.toml", encoding="utf-8") as file:  # noqa: PTH123 - a relative path
        return file.readline()


@clean()
def python_without_its_fixes() -> str:
    assert sys.version_info >= (3, 11), "code that branches by it goes the same way"
    assert platform.python_version_tuple()[:2] == tuple(map(str, sys.version_info[:2]))
    return "You write code for Python {}.{}.".format(*sys.version_info)


@clean()
def processes_that_are_used_only() -> str:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return " ".join(pool.map(str, range(9)))


@clean()
def fixed_width() -> str:
    parser = argparse.ArgumentParser(
        prog="search",
        description="A word. " * 40,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80),
    )
    return parser.format_help()


@clean()
def variable_that_chooses_a_server() -> dict[str, Any]:
    assert isinstance(os.environ.get("BASE_URL_OF_THE_TEST", "https://example.org"), str)
    return _messages("You are an agent.")


@clean()
def variable_that_must_be_a_number() -> dict[str, Any]:
    kept = os.environ.get("KEPT_OF_THE_TEST", "five")
    assert kept == "five", "another value is refused"
    return _messages("You are an agent.")


@cache
def _rules() -> str:
    return "Be kind."


@clean()
def cached_text() -> dict[str, Any]:
    return _messages(_rules())


@clean()
def history_of_its_own() -> dict[str, Any]:
    history: list[str] = []
    history.append("- be kind\n")
    return _messages("".join(history))


@clean([{"role": "user", "content": "Hello"}])
def appends_to_its_argument(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages.append({"role": "user", "content": "Where is order 7?"})
    return messages


@clean()
async def coroutine() -> dict[str, Any]:
    return _messages("You are an agent.", f"It is {time.time()}.")


@clean()
def threads_in_order() -> str:
    with ThreadPoolExecutor(4) as pool:
        return " ".join(pool.map(str, range(20)))


@clean()
def layout() -> Layout:
    schema = {"type": "object", "properties": {name: {} for name in TOOLS}}
    return Layout(
        [static("rules", "Be kind.")],
        [Tool(name=name, description="", schema=schema) for name in TOOLS],
    )


@clean()
def laid_out_with_a_turn() -> Any:
    made = Layout([static("rules", "Be kind.")])
    return made.lay(ORDER, (), [turn("now", f"It is {time.ctime()}.")])
