"""What a call asks, found in its arguments."""

from dataclasses import dataclass
from types import SimpleNamespace

import msgspec
import pytest

from stemcache.integrations.asked import Asked, body_of

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Model:
    """As pydantic's models are."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def model_dump(self) -> dict[str, object]:
        return dict(self.__dict__)


def decoded(asked: Asked) -> tuple[str, dict[str, object]]:
    """The path, and the body's fields."""
    return asked.path, msgspec.json.decode(asked.body)


@pytest.mark.parametrize(
    "argument",
    [
        CHAT,
        msgspec.json.encode(CHAT),
        bytearray(msgspec.json.encode(CHAT)),
        msgspec.json.encode(CHAT).decode(),
        SimpleNamespace(**CHAT),
        Model(model="m", messages=[Model(role="user", content="Hi")]),
    ],
    ids=["mapping", "bytes", "bytearray", "text", "object", "models"],
)
def test_a_chat_is_found_whatever_holds_it(argument: object) -> None:
    """Mapping, JSON or object, of the same content: the same body."""
    assert decoded(body_of([argument])) == ("/v1/chat/completions", CHAT)


def test_a_bare_text_is_a_prompt() -> None:
    """So that `handle.generate.remote("Once …")` is routed by its beginning."""
    assert decoded(body_of(["Once"])) == ("/v1/completions", {"prompt": "Once"})


def test_an_input_is_that_of_responses() -> None:
    """With its instructions, which come first."""
    asked = body_of([{"input": "Hi", "instructions": "Be kind"}])
    assert decoded(asked)[0] == "/v1/responses"


def test_the_first_argument_that_asks_counts() -> None:
    """Others are passed over."""
    asked = body_of([None, 7, object(), {"temperature": 1}, CHAT, "later"])
    assert decoded(asked) == ("/v1/chat/completions", CHAT)


@dataclass
class Loop:
    """An object that holds itself."""

    prompt: object = None


def looped() -> Loop:
    """One of them."""
    loop = Loop()
    loop.prompt = [loop]
    return loop


@pytest.mark.parametrize(
    "argument",
    [None, b"\xff\xfe", "{not json", b"{", {"messages": {1, object()}}, looped(), 3.5, [1, 2]],
    ids=["none", "utf-8", "text", "bytes", "set", "loop", "number", "list"],
)
def test_what_cannot_be_read_is_routed_by_load_and_raises_nothing(argument: object) -> None:
    """A call must not fail because its router cannot read it."""
    asked = body_of([argument])
    assert isinstance(asked.body, bytes)


def test_nothing_asked_is_an_empty_body() -> None:
    """No prompt, no keys."""
    assert body_of([]) == Asked("/", b"")


def test_a_class_among_the_arguments_takes_nothing_away() -> None:
    """The official clients take one as `response_format`, and read its schema."""
    asked = body_of([{**CHAT, "response_format": Model}])
    path, body = decoded(asked)
    assert path == "/v1/chat/completions"
    assert body["messages"] == CHAT["messages"]
