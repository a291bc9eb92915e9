"""Two requests in OpenAI's form, and what somebody does to them."""

import base64
import random
from collections.abc import Callable

from benchmarks.peers_matrix.conversation import Body, chat, prose

__all__ = ["OPENAI_56_PAIRS", "OPENAI_PAIRS"]

_TURNS = 5
_Change = Callable[[Body, int], None]


def _both(change: _Change, model: str) -> list[Body]:
    """A request and the next one of the conversation, each changed by its number, 0 or 1."""
    bodies = [chat(_TURNS + number, model=model) for number in (0, 1)]
    for number, body in enumerate(bodies):
        change(body, number)
    return bodies


def _clean(_body: Body, _number: int) -> None:
    pass


def _system(body: Body, change: Callable[[str], str]) -> None:
    body["messages"][0]["content"] = change(body["messages"][0]["content"])


def _timestamp(body: Body, number: int) -> None:
    line = f"The time is 2026-11-30T09:{15 + number}:0{2 + number}Z."
    _system(body, lambda words: f"{line}\n{words}")


def _uuid(body: Body, number: int) -> None:
    ids = ("6f1e3c52-8f0a-4c0e-9d1b-2a7b5c9e4f10", "b94d27b9-934d-4e08-a52e-52d7da7dabfa")
    _system(body, lambda words: f"{words}\nRequest {ids[number]}")


def _billing(body: Body, number: int) -> None:
    digest = ("3f9ac", "b07d1")[number]
    line = f"x-anthropic-billing-header: cc_version=2.1.222.a1b; cc_entrypoint=cli; cch={digest};"
    _system(body, lambda words: f"{line}\n{words}")


def _git(body: Body, number: int) -> None:
    state = ("M src/router.py", "M src/router.py\nM src/switch.py\n?? notes.txt")[number]
    line = f"gitStatus: Current branch: main\nStatus:\n{state}"
    _system(body, lambda words: f"{words}\n{line}")


def _space(body: Body, number: int) -> None:
    _system(body, lambda words: words + " " * number)


def _reordered(body: Body, number: int) -> None:
    if number:
        body["tools"].reverse()


def _added(body: Body, number: int) -> None:
    if number:
        function = {**body["tools"][2]["function"], "name": "read_manual"}
        body["tools"].insert(3, {"type": "function", "function": function})


def _description(body: Body, number: int) -> None:
    if number:
        body["tools"][2]["function"]["description"] += " Knows accounts of 2027 too."


def _keys(body: Body, number: int) -> None:
    for tool in body["tools"] if number else ():
        parameters = tool["function"]["parameters"]
        parameters["properties"] = dict(reversed(parameters["properties"].items()))


def _truncated(body: Body, number: int) -> None:
    if number:
        del body["messages"][1:5]


def _edited(body: Body, number: int) -> None:
    if number:
        message = body["messages"][1]
        message["content"] = "Customer asked: " + message["content"]


def _compaction(body: Body, number: int) -> None:
    if number:
        summary = f"This conversation is continued. Summary of what was said: {prose(120, 99)}"
        body["messages"][1 : 4 * _TURNS + 1] = [
            {"role": "user", "content": summary},
            {"role": "assistant", "content": "I go on from there."},
        ]


def _picture(seed: int) -> Body:
    head = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x03\x00\x08\x02\x00\x00\x00"
    )
    data = base64.b64encode(head + random.Random(seed).randbytes(6_000 + 90 * seed)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _with_first(body: Body, block: Body) -> None:
    message = body["messages"][1]
    message["content"] = [block, {"type": "text", "text": message["content"]}]


def _encoded(body: Body, number: int) -> None:
    _with_first(body, _picture(number))


def _pointer(body: Body, number: int) -> None:
    line = {"type": "text", "text": "[screenshot 1 is no longer shown]"}
    _with_first(body, line if number else _picture(0))


def _choice(body: Body, number: int) -> None:
    if number:
        body["tool_choice"] = "required"


def _model(body: Body, number: int) -> None:
    if number:
        body["model"] = "gpt-5.4"


def _effort(body: Body, number: int) -> None:
    body["reasoning_effort"] = ("high", "low")[number]


def _minimum(body: Body, number: int) -> None:
    """A short chat that grows: a question; then the answer to it, and the next one."""
    del body["tools"]
    chosen = body["messages"][1:2]
    if number:
        chosen += body["messages"][4:6]
    body["messages"] = [{"role": "system", "content": "You are a support assistant."}, *chosen]


def _benign(body: Body, number: int) -> None:
    if number:
        body.update(temperature=0.3, max_completion_tokens=2_048, metadata={"user": "u2"})


def _growing(body: Body, number: int) -> None:
    """All of the conversation in one user message, which gets longer."""
    said = "\n".join(f"Turn {turn}: {prose(90, 6_000 + turn)}" for turn in range(8 + 2 * number))
    del body["tools"]
    body["messages"][1:] = [{"role": "user", "content": said}]


_CHANGES: dict[str, _Change] = {
    "clean": _clean,
    "timestamp": _timestamp,
    "uuid": _uuid,
    "billing": _billing,
    "git-status": _git,
    "trailing-space": _space,
    "tools-reordered": _reordered,
    "tool-added": _added,
    "tool-description": _description,
    "schema-keys": _keys,
    "truncated": _truncated,
    "edited": _edited,
    "compaction": _compaction,
    "image-encoded": _encoded,
    "image-pointer": _pointer,
    "tool-choice": _choice,
    "model": _model,
    "below-minimum": _minimum,
    "benign": _benign,
}


def _made(change: _Change, model: str) -> Callable[[], list[Body]]:
    return lambda: _both(change, model)


OPENAI_PAIRS = {name: _made(change, "gpt-5.5") for name, change in _CHANGES.items()}
OPENAI_56_PAIRS = {
    "clean": _made(_clean, "gpt-5.6"),
    "growing-message": _made(_growing, "gpt-5.6"),
    "effort": _made(_effort, "gpt-5.6"),
}
