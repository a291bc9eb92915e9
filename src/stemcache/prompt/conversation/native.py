"""What APIs and their clients wrote, as JSON values: the ground that `answer` stands on.

Clients hand out objects (pydantic's, by `model_dump`; others, by `to_dict`), some inside of plain
dictionaries. They are opened by what they can do, so no client is imported. Members that a client
adds for its user (`parsed`, …) are its own and never go back.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.message import Speaker
from stemcache.prompt.part import Native, Part, Text, Thinking
from stemcache.wire.api import Api

__all__ = [
    "Turn",
    "beside",
    "compact",
    "jsonable",
    "listed",
    "mapped",
    "native",
    "opened",
    "spoken",
    "string",
    "thought",
    "unreadable",
    "worth_keeping",
]

_CLIENTS_OWN = frozenset({"output_parsed", "parsed", "parsed_arguments", "parsed_output"})
_FREE = frozenset({"args", "input", "input_schema", "json", "response", "schema"})
"""Members that hold JSON of a model, a tool or a person: its order is its own."""
_MOST_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a native list, read."""

    speaker: Speaker
    parts: tuple[Part, ...]
    where: str
    """Its place in the list given: `messages[4]`."""
    joins: bool = False
    """Whether it may be more of the message before it: items of Responses, tools' messages of
    Chat."""


def unreadable(
    where: str, problem: str, fix: str = "give what the API or its client gave"
) -> UsageError:
    """The error for what is no such answer or message. `problem` holds names, never text."""
    return UsageError(f"{where} {problem}; {fix}")


def opened(value: object, where: str) -> Mapping[str, Any]:
    """The members of an object or of a client's object. Raises UsageError for anything else."""
    if isinstance(value, Mapping):
        return value
    found = _dumped(value)
    if not isinstance(found, Mapping):
        raise unreadable(where, f"is a {type(value).__name__}, no object with members")
    return found


def _dumped(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(by_alias=True, exclude_unset=True, warnings=False)
        except TypeError:  # another library's method of the same name
            return dump()
    other = getattr(value, "to_dict", None)
    return other() if callable(other) and not isinstance(value, type) else None


def jsonable(value: object, where: str, depth: int = _MOST_DEPTH) -> Any:
    """The same as JSON values, members in their order: a copy. Bytes become base64.

    Raises UsageError for what is no JSON, or nests deeper than anything that an API takes.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth == 0:
        raise unreadable(where, f"nests deeper than {_MOST_DEPTH} levels", "send flatter JSON")
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    if isinstance(value, Sequence):
        return [jsonable(one, where, depth - 1) for one in value]
    made: dict[str, Any] = {}
    for name, member in opened(value, where).items():
        made[_name(name, where)] = jsonable(member, where, depth - 1)
    return made


def _name(name: object, where: str) -> str:
    if isinstance(name, str):
        return name
    raise unreadable(where, f"has a member named by a {type(name).__name__}")


def mapped(value: Any, where: str) -> dict[str, Any]:
    """An object; raises UsageError for another type."""
    if isinstance(value, dict):
        return value
    raise unreadable(where, f"is {_kind(value)}, not an object")


def listed(value: Any, where: str) -> list[Any]:
    """A list; raises UsageError for another type."""
    if isinstance(value, list):
        return value
    raise unreadable(where, f"is {_kind(value)}, not a list")


def string(block: Mapping[str, Any], name: str, where: str) -> str:
    """A member that must be a string; raises UsageError for another type or none."""
    value = block.get(name)
    if isinstance(value, str):
        return value
    raise unreadable(f"{where}.{name}", f"is {_kind(value)}, not a string")


def _kind(value: object) -> str:
    return "missing" if value is None else f"of type {type(value).__name__}"


def compact(value: object, where: str) -> str:
    """JSON without blanks, members in their order. Raises UsageError for NaN and the like."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise unreadable(where, "holds a number or value that JSON has not") from None


def native(api: Api, block: Mapping[str, Any], where: str, lead: tuple[str, ...]) -> Native:
    """A block that is passed on: all that it has, also nulls, which some members must be."""
    return Native(api=api, json=compact(_ordered(block, lead), where))


def thought(api: Api, block: Mapping[str, Any], where: str, lead: tuple[str, ...]) -> Thinking:
    """A thought with its seal; what it has as null it has not."""
    given = {name: value for name, value in block.items() if value is not None}
    return Thinking(api=api, json=compact(_ordered(given, lead), where))


def beside(api: Api, block: Mapping[str, Any], known: frozenset[str], where: str) -> Native | None:
    """The members that a part has no field for; None where there are none but nulls."""
    rest = {name: block[name] for name in block.keys() - known if block[name] is not None}
    made = _ordered(rest, ())
    return Native(api=api, json=compact(made, where)) if made else None


def _ordered(block: Mapping[str, Any], lead: tuple[str, ...]) -> dict[str, Any]:
    """A block with the members of `lead` first and the others by name, at every depth.

    Clients' objects have the order of their declaration, answers that of the server: a block must
    have the same bytes whichever way it came. What a model or a tool wrote keeps its order.
    """
    names = dict.fromkeys((*(name for name in lead if name in block), *sorted(block)))
    return {name: _settled(name, block[name]) for name in names if name not in _CLIENTS_OWN}


def _settled(name: str, value: Any) -> Any:
    if name in _FREE:
        return value
    if isinstance(value, dict):
        return _ordered(value, ("type",))
    if isinstance(value, list):
        return [_settled("", one) for one in value]
    return value


def spoken(messages: list[Any], parts: Callable[[Any, str], tuple[Part, ...]]) -> list[Turn]:
    """Messages whose role is user or assistant, each with a `content` that `parts` reads. Linear.

    Raises UsageError naming the place.
    """
    made: list[Turn] = []
    for i, given in enumerate(messages):
        where = f"messages[{i}]"
        message = mapped(jsonable(given, where), where)
        found = parts(message.get("content"), where)
        match message.get("role"):
            case "assistant":
                made.append(Turn("assistant", tuple(filter(worth_keeping, found)), where))
            case "user":
                made.append(Turn("user", found, where))
            case _:
                raise unreadable(
                    f"{where}.role",
                    "is neither user nor assistant",
                    "put instructions into a segment",
                )
    return made


def worth_keeping(part: Part) -> bool:
    """Whether a part of an answer says anything: no API takes an empty text back."""
    return not isinstance(part, Text) or bool(part.text) or part.beside is not None
