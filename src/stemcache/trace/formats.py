"""Every format, and which of them a line is of.

Messages say what a line is, never what it holds.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError
from stemcache.trace.bailian import BAILIAN
from stemcache.trace.bodies.envelope import why_no_body
from stemcache.trace.bodies.reader import BODIES
from stemcache.trace.format import Format, ReadOptions
from stemcache.trace.mooncake import MOONCAKE
from stemcache.trace.problem import BadLineError
from stemcache.trace.sessions import SESSIONS
from stemcache.trace.shape import Decoder

__all__ = ["FORMATS", "FORMAT_NAMES", "check_options", "foreign", "sniffed"]

FORMATS: Mapping[str, Format] = {one.name: one for one in (MOONCAKE, BAILIAN, SESSIONS, BODIES)}
"""By name, in the order in which a line is looked at."""
FORMAT_NAMES = ("auto", *FORMATS)

_decode = Decoder[Any](object)


def check_options(found: Format, options: ReadOptions, name: str) -> None:
    """Raise UsageError for an option that would do nothing for this format."""
    bodies = found is BODIES
    if options.prompts is not None and not bodies:
        raise UsageError(
            f"--tokenizer reads prompts of bodies, but {name} is a trace of {found.name}, which "
            "has none; leave it out"
        )
    if options.chain_ids and bodies:
        raise UsageError(
            f"--chain-ids is for hash traces, but {name} is a log of bodies; leave it out"
        )
    if options.chain_ids and found is BAILIAN:
        raise UsageError(
            f"--chain-ids does nothing for {name}, a trace of bailian, whose ids are always "
            "chained; leave it out"
        )


def sniffed(text: bytes) -> Format:
    """The format that a line is of. Raises BadLineError if it is of none."""
    try:
        record = _decode(text)
    except BadLineError as error:
        begun = {b"[": "array", b"{": "object"}.get(text.lstrip()[:1])
        if begun is None or error.reason != "the JSON ends early":
            raise
        raise BadLineError(
            f"the JSON ends early, so this may be one JSON {begun} over several lines",
            fix="write one JSON object a line",
        ) from None
    if not isinstance(record, dict):
        fix = "write one JSON object a line"
        raise BadLineError(f"it holds {_kind(record)}, not an object", fix=fix)
    for one in FORMATS.values():
        if one.sniff(record):
            return one
    raise BadLineError(
        f"it is of no known format: {_why_none(record)}",
        fix="give another file",
    )


def _why_none(record: Mapping[str, Any]) -> str:
    if "hash_ids" in record:
        return "it has hash_ids, but neither input_length nor chat_id"
    if "requests" in record:
        return "it has requests, but not those of a coding session with an id"
    why = why_no_body(record)
    return f"no hash_ids, requests, {why.removeprefix('no ')}" if why.startswith("no ") else why


def foreign(text: bytes, name: str) -> BadLineError | None:
    """What to say of a line that cannot be read if that is because it is of another format."""
    try:
        record = _decode(text)
    except BadLineError:
        return None
    if not isinstance(record, dict):
        return BadLineError(f"it holds {_kind(record)}, not an object")
    named = [one.name for one in FORMATS.values() if one.sniff(record)]
    if named and name not in named:
        return BadLineError(
            f"it looks like a record of {named[0]} in a trace of {name}",
            fix="keep one format a file",
        )
    return None


def _kind(record: object) -> str:
    names = {list: "an array", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(record), "a number")
