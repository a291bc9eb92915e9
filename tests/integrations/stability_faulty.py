"""Builders with a fault each: what they give is not the same when it is built again.

`FAULTS` says of each with what its prefix changes, and what is said of the text that differs.
"""

import argparse
import glob
import json
import locale
import multiprocessing
import os
import platform
import random
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from time import monotonic as uptime_s
from typing import Any, TypeVar
from uuid import uuid4

__all__ = ["FAULTS", "Fault", "uptime_s"]

Builder = TypeVar("Builder", bound=Callable[..., object])

ASK = [{"role": "user", "content": "Where is order 7?"}]
TOOLS = {"search", "fetch", "write", "read", "list"}
SIZES = {"a": 0.1, "b": 0.2, "c": 0.3}
USER = {"name": "Ann", "plan": "gold", "city": "Rome"}


@dataclass(frozen=True)
class Fault:
    """A builder and what has to be found."""

    builder: Any
    causes: frozenset[str]
    """Any of these may be told first. With `start`, it shows when a process starts only."""
    kind: str
    """How what differs is described, in part."""
    args: tuple[Any, ...] = ()


FAULTS: list[Fault] = []


def fault(causes: str, kind: str, *args: Any) -> Callable[[Builder], Builder]:
    """Put a builder into the list."""

    def listed(builder: Builder) -> Builder:
        FAULTS.append(Fault(builder, frozenset(causes.split()), kind, args))
        return builder

    return listed


def _messages(system: str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": blocks, "messages": ASK}


def _chat(system: str) -> dict[str, Any]:
    return {"model": "gpt-5", "messages": [{"role": "system", "content": system}, *ASK]}


@fault("clock", "an ISO time")
def iso_clock() -> dict[str, Any]:
    return _messages(f"You are an agent. Now: {datetime.now(UTC).isoformat()}. Be brief.")


@fault("clock", "a Unix time")
def unix_time() -> dict[str, Any]:
    return _chat(f"You are an agent. Current time: {int(time.time())}. Be brief.")


@fault("clock", "an ISO date")
def date_of_a_zone() -> dict[str, Any]:
    tokyo = timezone(timedelta(hours=9))
    return {
        "model": "gpt-5",
        "instructions": f"Today is {datetime.now(tokyo).date()}.",
        "input": "Hello",
    }


@fault("time-zone", "text")
def local_zone() -> str:
    opened = datetime.fromtimestamp(1_700_000_000, UTC).astimezone()
    return f"The office opened at {opened:%H} o'clock. Be brief."


@fault("clock", "")
def uptime_by_another_name() -> list[dict[str, Any]]:
    return [{"role": "system", "content": f"uptime: {uptime_s():.0f} s"}, *ASK]


@fault("clock", "an ISO date")
def clock_of_a_thread() -> bytes:
    with ThreadPoolExecutor(1) as pool:
        day = pool.submit(lambda: datetime.now(UTC).date().isoformat()).result()
    return json.dumps(_messages(f"Today is {day}.")).encode()


@fault("injected-id", "a UUID")
async def uuid_of_a_coroutine() -> dict[str, Any]:
    return _messages(f"Session {uuid4()}. You are an agent.")


@fault("injected-id", "")
def secret_nonce() -> str:
    return f"nonce={secrets.token_hex(8)}\nYou are an agent."


@fault("random", "the order of lines")
def random_examples() -> dict[str, Any]:
    examples = [f"Example {letter}: yes" for letter in "ABCDEF"]
    random.shuffle(examples)
    return _chat("\n".join(["Examples", *examples]))


@fault("hash-seed", "the order of words")
def set_in_text() -> dict[str, Any]:
    return _messages("You may use: " + ", ".join(TOOLS))


@fault("hash-seed", "the order of tools")
def tools_of_a_set() -> dict[str, Any]:
    tools = [{"name": name, "description": "", "input_schema": {}} for name in TOOLS]
    return {**_messages("You are an agent."), "tools": tools}


@fault("argument-order", "", USER)
def callers_order(user: dict[str, str]) -> dict[str, Any]:
    return _chat("The user: " + "; ".join(f"{key} {value}" for key, value in user.items()))


@fault("argument-order", "the order of keys", USER)
def unsorted_json(user: dict[str, str]) -> dict[str, Any]:
    return _messages(f"The user is {json.dumps(user)}.")


@fault("argument-order", "the last digits of a number", SIZES)
def float_sum(sizes: dict[str, float]) -> str:
    return f"The sizes add up to {sum(sizes.values())!r}."


@fault("directory-order", "the order of lines", "FOLDER")
def directory_order(folder: str) -> dict[str, Any]:
    files = "\n".join(path.name for path in Path(folder).iterdir())
    return {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "systemInstruction": {"parts": [{"text": f"Skills:\n{files}\n"}]},
    }


@fault("directory-order", "the order of words", "FOLDER")
def globbed(folder: str) -> str:
    return " ".join(Path(name).stem for name in glob.glob(f"{folder}/*.md"))  # noqa: PTH207


@fault("locale", "a number, written with other separators")
def local_number() -> dict[str, Any]:
    return _chat(f"There are {locale.format_string('%d', 1_234_567, grouping=True)} products.")


@fault("again address process", "the address of an object")
def default_repr() -> dict[str, Any]:
    class Agent:
        pass

    return _messages(f"You are {Agent()!r}. Be brief.")


@fault("environment", "")
def host_name() -> dict[str, Any]:
    return _messages(f"You run on {socket.gethostname()} ({platform.node()}).")


@fault("environment", "")
def user_and_folder() -> dict[str, Any]:
    return _chat(f"{os.environ.get('USER', 'nobody')} works in {Path.cwd()}.")


@fault("environment process", "")
def process_number() -> str:
    return f"pid: {os.getpid()}"


@fault("environment", "")
def processors() -> str:
    return f"You may start {os.cpu_count()} jobs."


@fault("environment", "")
def processors_of_multiprocessing() -> str:
    return f"You may start {multiprocessing.cpu_count()} jobs."


@fault("environment", "")
def processors_that_it_may_use() -> str:
    if hasattr(os, "process_cpu_count"):
        return f"You may start {os.process_cpu_count()} jobs."
    return f"You may start {len(os.sched_getaffinity(0))} jobs."


@fault("environment", "")
def python_by_name() -> dict[str, Any]:
    return _messages(f"You write code for Python {platform.python_version()}.")


@fault("environment", "")
def python_with_its_build() -> dict[str, Any]:
    return _chat(f"You write code for Python {sys.version}.")


@fault("environment", "")
def python_by_its_numbers() -> str:
    return f"You write code for Python {'.'.join(map(str, sys.version_info[:3]))}."


@fault("environment", "")
def system_and_its_version() -> str:
    return f"Your commands run on {platform.platform()}."


@fault("environment", "")
def width_of_the_terminal() -> str:
    parser = argparse.ArgumentParser(prog="search", description="A word. " * 40)
    return parser.format_help()


@fault("STAGE_OF_THE_TEST", "text")
def variable() -> dict[str, Any]:
    return _messages(f"You are in stage {os.environ.get('STAGE_OF_THE_TEST', 'dev')}.")


@fault("again environment", "a temporary path")
def temporary_name() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return _messages(f"Write your files to {folder}/out.txt.")


_history: list[str] = []


@fault("again", "text that was added")
def growing_list() -> dict[str, Any]:
    _history.append("- be kind\n")
    return _messages("Rules:\n" + "".join(_history))


_calls = [0]


@fault("again", "a counter")
def counter() -> dict[str, Any]:
    _calls[0] += 1
    return _chat(f"Request {_calls[0]}: you are an agent.")


@cache
def _started() -> str:
    return datetime.now(UTC).isoformat()


_started()


@fault("clock start", "an ISO time")
def cached_clock() -> dict[str, Any]:
    return _messages(f"The server runs since {_started()}.")


@fault("encoding", "text", "RULES")
def unnamed_encoding(file: str) -> str:
    with open(file, errors="replace") as rules:  # noqa: PTH123 - the fault
        return rules.read()


@fault("random", "the marker behind it")
def moving_marker() -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in "abcdef"]
    blocks[random.randrange(5)]["cache_control"] = {"type": "ephemeral"}
    blocks[5]["cache_control"] = {"type": "ephemeral"}
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": blocks, "messages": ASK}


@fault("clock", "a parameter")
def effort_by_the_hour() -> dict[str, Any]:
    effort = "high" if datetime.now(UTC).hour < 12 else "low"
    return {"model": "gpt-5", "input": ASK, "instructions": "Hi.", "reasoning": {"effort": effort}}
