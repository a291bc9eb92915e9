"""Two requests in Anthropic's form, and what somebody does to them."""

import base64
import random
from collections.abc import Callable

from benchmarks.peers_matrix.conversation import Body, anthropic, marked, prose, text

__all__ = ["ANTHROPIC_PAIRS", "BEDROCK_PAIRS"]

_TURNS = 5


def _both(change: Callable[[Body, int], None], model: str = "claude-opus-5") -> list[Body]:
    """A request and the next one of the conversation, each changed by its number, 0 or 1."""
    bodies = [anthropic(_TURNS + number, model=model) for number in (0, 1)]
    for number, body in enumerate(bodies):
        change(body, number)
    return bodies


def _second(change: Callable[[Body], None]) -> list[Body]:
    return _both(lambda body, number: change(body) if number else None)


def _head(body: Body, line: str) -> None:
    body["system"][0]["text"] = f"{line}\n{body['system'][0]['text']}"


def _tail(body: Body, line: str) -> None:
    body["system"][0]["text"] += f"\n{line}"


def clean() -> list[Body]:
    """The conversation grows, and the marker moves to its end."""
    return _both(lambda _body, _number: None)


def timestamp() -> list[Body]:
    """A time with seconds in the first line of the system prompt."""
    return _both(lambda body, n: _head(body, f"The time is 2026-11-30T09:{15 + n}:0{2 + n}Z."))


def uuid() -> list[Body]:
    """An id in the last line of the system prompt."""
    ids = ("6f1e3c52-8f0a-4c0e-9d1b-2a7b5c9e4f10", "b94d27b9-934d-4e08-a52e-52d7da7dabfa")
    return _both(lambda body, n: _tail(body, f"Request {ids[n]}"))


def billing() -> list[Body]:
    """A line of accounting as the first system block, with a digest that differs."""
    line = "x-anthropic-billing-header: cc_version=2.1.222.a1b; cc_entrypoint=cli; cch={};"
    digests = ("3f9ac", "b07d1")
    return _both(lambda body, n: body["system"].insert(0, text(line.format(digests[n]))))


def git_status() -> list[Body]:
    """What git says of the working tree, at the end of the system prompt."""
    states = ("M src/router.py", "M src/router.py\nM src/switch.py\n?? notes.txt")
    head = "gitStatus: Current branch: main\nStatus:\n"
    return _both(lambda body, n: _tail(body, head + states[n]))


def trailing_space() -> list[Body]:
    """A space more at the end of the system prompt."""

    def change(body: Body) -> None:
        body["system"][0]["text"] += " "

    return _second(change)


def tools_reordered() -> list[Body]:
    """The same tools in another order."""
    return _second(lambda body: body["tools"].reverse())


def tool_added() -> list[Body]:
    """One tool more, in the order of names."""

    def change(body: Body) -> None:
        tool = {**body["tools"][2], "name": "read_manual"}
        body["tools"].insert(3, tool)

    return _second(change)


def tool_description() -> list[Body]:
    """Another description of one tool."""

    def change(body: Body) -> None:
        body["tools"][2]["description"] += " Knows accounts of 2027 too."

    return _second(change)


def schema_keys() -> list[Body]:
    """The properties of every tool in another order."""

    def change(body: Body) -> None:
        for tool in body["tools"]:
            properties = tool["input_schema"]["properties"]
            tool["input_schema"]["properties"] = dict(reversed(properties.items()))

    return _second(change)


def truncated() -> list[Body]:
    """The oldest exchange is dropped."""
    return _second(lambda body: body["messages"].__delitem__(slice(0, 4)))


def edited() -> list[Body]:
    """The first question is worded anew."""

    def change(body: Body) -> None:
        block = body["messages"][0]["content"][0]
        block["text"] = "Customer asked: " + block["text"]

    return _second(change)


def compaction() -> list[Body]:
    """All but the latest exchange is replaced by a summary."""

    def change(body: Body) -> None:
        summary = f"This conversation is continued. Summary of what was said: {prose(120, 99)}"
        begin = [
            {"role": "user", "content": [text(summary)]},
            {"role": "assistant", "content": [text("I go on from there.")]},
        ]
        body["messages"][: 4 * _TURNS] = begin

    return _second(change)


def _image(seed: int) -> Body:
    head = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x03\x00\x08\x02\x00\x00\x00"
    )
    data = base64.b64encode(head + random.Random(seed).randbytes(6_000 + 90 * seed)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def image_encoded() -> list[Body]:
    """A screenshot in the history is encoded anew."""
    return _both(lambda body, n: body["messages"][0]["content"].insert(0, _image(n)))


def image_pointer() -> list[Body]:
    """A screenshot in the history becomes a line that stands for it."""
    blocks = (_image(0), text("[screenshot 1 is no longer shown]"))
    return _both(lambda body, n: body["messages"][0]["content"].insert(0, blocks[n]))


def thinking_stripped() -> list[Body]:
    """Thinking of earlier answers is left out."""

    def change(body: Body) -> None:
        for message in body["messages"]:
            kept = [block for block in message["content"] if block["type"] != "thinking"]
            message["content"] = kept

    return _second(change)


def varying_suffix() -> list[Body]:
    """Single questions over one prompt, with no marker but the one behind the question."""
    bodies = [anthropic(0), anthropic(1)]
    for body in bodies:
        del body["system"][0]["cache_control"]
        del body["messages"][:-1]
    return bodies


def tool_choice() -> list[Body]:
    """A tool has to be used from here on."""
    return _second(lambda body: body.update(tool_choice={"type": "any"}))


def thinking() -> list[Body]:
    """Thinking is switched on."""
    return _second(lambda body: body.update(thinking={"type": "enabled", "budget_tokens": 1_024}))


def effort() -> list[Body]:
    """Less effort is asked for."""
    levels = ("high", "low")
    return _both(lambda body, n: body.update(output_config={"effort": levels[n]}))


def model() -> list[Body]:
    """Another model answers."""
    return _second(lambda body: body.update(model="claude-opus-4-8"))


def _rounds(body: Body, rounds: int, calls: int) -> None:
    """So many rounds of that many parallel calls behind the last question, marked at the end."""
    last = body["messages"][-1]["content"][-1]
    del last["cache_control"]
    for turn in range(rounds):
        ids = [f"toolu_r{turn:02}{n:02}" for n in range(calls)]
        uses = [
            {"type": "tool_use", "id": each, "name": "get_order", "input": {"query": each}}
            for each in ids
        ]
        results = [
            {"type": "tool_result", "tool_use_id": each, "content": [text(prose(20, turn))]}
            for each in ids
        ]
        body["messages"] += [
            {"role": "assistant", "content": uses},
            {"role": "user", "content": results},
        ]
    results[-1] = marked(results[-1])


def _grown(rounds: int, calls: int, model: str = "claude-opus-5") -> list[Body]:
    bodies = [anthropic(_TURNS, model=model), anthropic(_TURNS, model=model)]
    _rounds(bodies[1], rounds, calls)
    return bodies


def look_back() -> list[Body]:
    """Twelve calls one after another: 24 blocks between two markers."""
    return _grown(12, 1)


def fan_out() -> list[Body]:
    """Twenty-six calls at once: two runs of blocks."""
    return _grown(1, 26)


def ttl_order() -> list[Body]:
    """Five minutes stand before an hour."""

    def change(body: Body, _number: int) -> None:
        body["system"][0] = marked(body["system"][0], "5m")
        body["messages"][-1]["content"][-1] = marked(body["messages"][-1]["content"][-1], "1h")

    return _both(change)


def below_minimum() -> list[Body]:
    """A short chat of some hundred tokens that grows, marked."""
    bodies = [anthropic(0), anthropic(1)]
    for body in bodies:
        del body["tools"]
        body["system"][0]["text"] = "You are a support assistant."
    del bodies[1]["messages"][1:3]
    return bodies


def no_marker() -> list[Body]:
    """No marker at all."""

    def change(body: Body, _number: int) -> None:
        del body["system"][0]["cache_control"]
        del body["messages"][-1]["content"][-1]["cache_control"]

    return _both(change)


def benign() -> list[Body]:
    """Parameters that key no cache differ."""
    return _second(
        lambda body: body.update(temperature=0.3, max_tokens=2_048, metadata={"user_id": "u2"})
    )


ANTHROPIC_PAIRS: dict[str, Callable[[], list[Body]]] = {
    "clean": clean,
    "timestamp": timestamp,
    "uuid": uuid,
    "billing": billing,
    "git-status": git_status,
    "trailing-space": trailing_space,
    "tools-reordered": tools_reordered,
    "tool-added": tool_added,
    "tool-description": tool_description,
    "schema-keys": schema_keys,
    "truncated": truncated,
    "edited": edited,
    "compaction": compaction,
    "image-encoded": image_encoded,
    "image-pointer": image_pointer,
    "thinking-stripped": thinking_stripped,
    "varying-suffix": varying_suffix,
    "tool-choice": tool_choice,
    "thinking": thinking,
    "effort": effort,
    "model": model,
    "look-back": look_back,
    "fan-out": fan_out,
    "ttl-order": ttl_order,
    "below-minimum": below_minimum,
    "no-marker": no_marker,
    "benign": benign,
}
BEDROCK_PAIRS: dict[str, Callable[[], list[Body]]] = {
    "clean": lambda: _both(lambda _body, _number: None, _BEDROCK),
    "fan-out": lambda: _grown(1, 26, _BEDROCK),
}
_BEDROCK = "us.anthropic.claude-opus-5-v1:0"
