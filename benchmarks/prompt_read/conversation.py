"""Long conversations as chat bodies, the same for a seed."""

import json
import re
from random import Random
from typing import Any

__all__ = ["THINKING_TEMPLATE", "Conversation"]

_WORDS = re.findall(
    r"\w+",
    """
the of and to in is that it was for on are as with they be at one have this from or had
by hot but some what there we can out other were all your when up use word how said an
each she which do their time if will way about many then them would write like so these
her long make thing see him two has look more day could go come did my sound no most
number who over know water than call first people may down side been now find any new
work part take get place made live where after back little only round man year came show
every good me give our under request cache prefix block token replica gateway latency
throughput scheduler attention configuration deployment kubernetes asynchronous
serialization authentication middleware
""",
)
_CODE = (
    "def step(self, batch: list[int]) -> None:\n    return self._run(batch, limit=128)\n",
    "for i, row in enumerate(rows):\n    total += row['count'] * 0.75\n",
    "    if value is None:\n        raise KeyError(name)\n",
)

THINKING_TEMPLATE = (
    "{%- set ns = namespace(last=-1) %}"
    "{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}"
    "{%- endif %}{%- endfor %}"
    "{%- if tools %}{{- '<|im_start|>system\\n' }}"
    "{%- for tool in tools %}{{- tool | tojson }}{{- '\\n' }}{%- endfor %}"
    "{{- '<|im_end|>\\n' }}{%- endif %}"
    "{%- for m in messages %}"
    "{%- set text = m.content if m.content is string else '' %}"
    "{%- if m.role == 'assistant' %}"
    "{%- set thought = '' %}"
    "{%- if m.reasoning_content is string %}{%- set thought = m.reasoning_content %}"
    "{%- elif '</think>' in text %}{%- set thought = text.split('</think>')[0] %}"
    "{%- set text = text.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>assistant\\n' }}"
    "{%- if loop.index0 > ns.last and thought %}"
    "{{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}"
    "{{- text }}"
    "{%- if m.tool_calls %}{%- for call in m.tool_calls %}"
    '{{- \'\\n<tool_call>{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{- call.function.arguments | tojson }}{{- '}</tool_call>' }}"
    "{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}"
    "{%- elif m.role == 'tool' %}"
    "{{- '<|im_start|>user\\n<tool_response>\\n' + text + '\\n</tool_response><|im_end|>\\n' }}"
    "{%- else %}{{- '<|im_start|>' + m.role + '\\n' + text + '<|im_end|>\\n' }}{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
"""A template of the elaborate kind: looks for the last user, takes earlier thoughts out, tools."""


class Conversation:
    """Grows by a question and an answer a turn."""

    def __init__(self, seed: int, message_tokens: int) -> None:
        self._rng = Random(seed)
        self._message_tokens = message_tokens
        self._messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You are a careful engineer. " * 40}
        ]

    def body(self, messages: int) -> bytes:
        """A chat body with so many messages, the last a user's."""
        while len(self._messages) < messages:
            role = "assistant" if self._messages[-1]["role"] == "user" else "user"
            self._messages.append({"role": role, "content": self._text()})
        body = {
            "model": "model",
            "messages": self._messages[:messages],
            "stream": True,
            "temperature": 0.7,
            "max_tokens": 512,
        }
        return json.dumps(body, ensure_ascii=False).encode()

    def _text(self) -> str:
        rng = self._rng
        sentences = []
        left = self._message_tokens
        while left > 0:
            if rng.random() < 0.06:
                sentences.append("\n```\n" + rng.choice(_CODE) + "```\n")
                left -= 30
                continue
            words = [rng.choice(_WORDS) for _ in range(rng.randint(6, 18))]
            if rng.random() < 0.4:
                words.append(str(rng.randrange(10_000)))
                left -= 4
            sentences.append(
                " ".join(words).capitalize() + rng.choice((".", ".", "?", ":\n", "\n\n"))
            )
            left -= len(words) + 4
        return " ".join(sentences)
