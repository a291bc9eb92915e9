"""The start-up screen, as it looks."""

import io
import json
import shlex
from dataclasses import replace

import pytest
from rich.console import Console

from stemcache.cli.screen import show_ready
from stemcache.engine.model import ModelInfo
from stemcache.server.run import Ready
from stemcache.server.worker import EngineSettings

INFO = ModelInfo(
    name="SmolLM2-135M-Instruct",
    revision="0123456789abcdef" * 4,
    kv_dtype="float32",
    vocabulary=49152,
    context_tokens=8192,
    kv_bytes_per_token=46080,
    stop_tokens=frozenset({2}),
)
READY = Ready(
    info=INFO,
    model_name="SmolLM2-135M-Instruct",
    pages=1456,
    settings=EngineSettings(kv_memory_bytes=2**30),
    url="http://127.0.0.1:8000",
)

SCREEN = r"""stemcache serve
model         SmolLM2-135M-Instruct, weights 0123456789ab
context       8,192 tokens
KV precision  float32
prefix cache  on, hash index, blocks of 16
KV memory     1,024 MiB in 1,456 pages
one token     45 KiB, so 23,296 tokens fit
admission     fcfs, 128 running at most
eviction      lru
address       http://127.0.0.1:8000

curl http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' \
  -d '{"model": "SmolLM2-135M-Instruct", "messages": [{"role": "user", "content": "Hi"}]}'

from openai import OpenAI
client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
answer = client.chat.completions.create(model="SmolLM2-135M-Instruct", messages=[{"role": "user", "content": "Hi"}])
print(answer.choices[0].message.content, answer.usage.prompt_tokens_details)
"""  # noqa: E501  as the screen has it


def screen(ready: Ready, *, terminal: bool = False) -> str:
    """What is printed, without the blanks that fill lines up."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=80,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    show_ready(console, ready)
    return "".join(line.rstrip() + "\n" for line in file.getvalue().splitlines())


def test_the_screen_says_what_is_served_and_how_to_ask() -> None:
    """Long examples are not broken, so that they can be copied."""
    assert SCREEN == screen(READY)


def test_a_terminal_gets_the_same_words_in_other_weights() -> None:
    """Names are dim, the title is bold; the values are as they are."""
    shown = screen(READY, terminal=True)

    assert "\x1b[1mstemcache serve\x1b[0m" in shown
    assert "\x1b[2mmodel       \x1b[0m" in shown
    assert "1,024 MiB in 1,456 pages" in shown


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({"prefix_caching": False}, "prefix cache  off, hash index, blocks of 16"),
        (
            {"index": "radix", "block_size": 1},
            "prefix cache  on, radix index, blocks of 1",
        ),
        ({"schedule": "lpm", "max_running": 7}, "admission     lpm, 7 running at most"),
        ({"eviction": "slru"}, "eviction      slru"),
    ],
)
def test_each_dial_is_shown(settings: dict[str, object], row: str) -> None:
    """As it was set."""
    changed = replace(READY.settings, **settings)  # type: ignore[arg-type]  # fields by name

    assert row in screen(replace(READY, settings=changed)).splitlines()


def test_brackets_in_a_name_are_no_markup() -> None:
    """Directories may be called what they like."""
    shown = screen(replace(READY, model_name="[red]m[/red] :smile:"))

    assert "model         [red]m[/red] :smile:, weights 0123456789ab" in shown


@pytest.mark.parametrize("name", ["plain", "it's", 'say "m"', "back\\slash", "$HOME `x`"])
def test_the_examples_name_the_model_whatever_it_is_called(name: str) -> None:
    """A shell and Python read the name back as it is."""
    shown = screen(replace(READY, model_name=name))
    curl = shown[shown.index("curl") : shown.index("from openai")]
    python = shown[shown.index("answer = ") :]
    *_, body = shlex.split(curl.replace("\\\n", ""))
    asked: dict[str, str] = {}

    class Client:
        def create(self, *, model: str, messages: object) -> None:
            asked["model"] = model
            asked["messages"] = str(messages)

    line = python.splitlines()[0].replace("client.chat.completions", "client")
    exec(line, {"client": Client()})

    assert name == json.loads(body)["model"] == asked["model"]
