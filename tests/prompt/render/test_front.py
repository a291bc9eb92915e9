"""Through the front door: what is placed can be written, for every provider's rule."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.prompt.message import Message
from stemcache.prompt.request import Layout
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from tests.prompt.rendering import Case, cases

_ANY_TEXT = frozenset({"clock", "environment", "injected-id"})
_PRINT_ALL = """
import json, sys
from stemcache.prompt.render.chat import render as chat
from stemcache.prompt.render.converse import render as converse
from stemcache.prompt.render.generate import render as generate
from stemcache.prompt.render.messages import render as messages
from stemcache.prompt.render.responses import render as responses
from stemcache.prompt.part import Document
from tests.prompt.rendering import *
schema = {name: {"type": "string"} for name in {"a", "b", "c", "d", "é"}}
tool = Tool(name="t", description="", schema={"properties": schema, "type": "object"})
file = Document(media_type="application/pdf", name="a.pdf", base64=PDF)
prompt = laid(user("é", file, file), assistant("a", call()), user(result()), tools=[tool])
options = {name: {"x": 1, "y": 2} for name in {"metadata", "extra", "more"}} | {"max_tokens": 5}
for render in (chat, converse, generate, messages, responses):
    body = render(prompt, marks() if render is generate else marks(2), model="m", options=options)
    sys.stdout.buffer.write(repr(body).encode())
"""


def layout_of(case: Case) -> tuple[Layout, list[Message]]:
    """The case's segments and tools, of 1,500 tokens each, and its history."""
    tools: list[Tool] = []
    segments: dict[str, Segment] = {}
    history: list[Message] = []
    for piece in case.laid.pieces:
        source = piece.source
        if isinstance(source, Tool):
            tools.append(source)
        elif isinstance(source, Segment):
            stable = source.stability is not Stability.TURN
            segments[source.name] = replace(source, allow=_ANY_TEXT) if stable else source
        elif not history or history[-1] is not source:
            history.append(source)
    allowed = [replace(tool, allow=_ANY_TEXT) for tool in tools]
    return Layout(segments.values(), allowed, count=lambda _: 1_500), history


@pytest.mark.parametrize(
    ("provider", "model", "api"),
    [
        ("anthropic", "claude-opus-5-5", Api.MESSAGES),
        ("bedrock", "us.anthropic.claude-opus-5-5", Api.CONVERSE),
        ("openai", "gpt-5.6", Api.CHAT),
        ("openai", "gpt-5.6", Api.RESPONSES),
        ("qwen", "qwen3.7-max", Api.CHAT),
        ("gemini", "gemini-4-argon", Api.GENERATE),
    ],
)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_placed_can_be_written(
    provider: str, model: str, api: Api, data: st.DataObject
) -> None:
    """No placement of any prompt is refused by its renderer."""
    layout, history = layout_of(data.draw(cases(api)))
    explicit = provider in {"gemini", "qwen"}
    plan = layout.plan(provider, model, history, api=api, explicit=explicit)
    options: dict[str, Any] = {"max_tokens": 5} if api is Api.MESSAGES else {}
    if api is Api.GENERATE and plan.placement.marks:
        options = {"cachedContent": "cachedContents/x"}
    body = plan.body(options)
    text = json.dumps(body, default=str)
    written = sum(text.count(name) for name in ('"cache_control"', "_breakpoint", '"cachePoint"'))
    assert written == (0 if api is Api.GENERATE else len(plan.placement.marks))


def test_other_processes_write_the_same_bytes() -> None:
    """Whatever their hash seed and locale."""
    seen = set()
    for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("2", "POSIX")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale}
        done = subprocess.run(
            [sys.executable, "-c", _PRINT_ALL], env=environment, capture_output=True, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert len(seen.pop()) > 1_000
