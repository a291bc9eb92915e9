"""Traces for tests: requests made at will, files of lines, and what two prompts share."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.trace.open import open_trace
from stemcache.trace.record import TraceRequest

__all__ = [
    "DATA",
    "any_requests",
    "read",
    "refusal",
    "related_requests",
    "request_of",
    "same",
    "shared_blocks",
    "write_lines",
]

DATA = Path(__file__).parent / "data"


def request_of(*ids: int, **fields: Any) -> TraceRequest:
    """A request of blocks of 4 tokens, all of them full unless said otherwise."""
    values = {"block_tokens": 4, "prompt_tokens": 4 * len(ids)} | fields
    return TraceRequest(block_ids=np.array(ids, np.int64), **values)


def write_lines(path: Path, lines: Iterable[object]) -> Path:
    """A file with a line for each; texts and bytes as they are, other values as JSON."""
    raw = [
        line
        if isinstance(line, bytes)
        else line.encode()
        if isinstance(line, str)
        else json.dumps(line).encode()
        for line in lines
    ]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def read(path: Path, **options: Any) -> list[TraceRequest]:
    """All requests of a file."""
    with open_trace(path, **options) as reader:
        return list(reader)


def refusal(path: Path, **options: Any) -> str:
    """What is said of a file that cannot be read, without the file's directory."""
    with pytest.raises(UsageError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def same(left: TraceRequest, right: TraceRequest) -> bool:
    """Whether two requests are equal in every field; arrays have no single truth of their own."""
    names = [name for name in TraceRequest.__slots__ if name != "block_ids"]
    return left.block_ids.tolist() == right.block_ids.tolist() and all(
        getattr(left, name) == getattr(right, name) for name in names
    )


def shared_blocks(left: TraceRequest, right: TraceRequest) -> int:
    """The dumb twin of every claim about prefixes: counts one block after the other."""
    if left.scope != right.scope:
        return 0
    count = 0
    for one, other in zip(left.block_ids.tolist(), right.block_ids.tolist(), strict=False):
        if one != other:
            break
        count += 1
    return count


_INT64 = st.integers(-(2**63), 2**63 - 1)
_NAMES = st.text(max_size=6)


@st.composite
def any_requests(draw: st.DrawFn) -> TraceRequest:
    """A request with anything that the type allows and a file can hold."""
    ids = draw(st.lists(_INT64, max_size=6))
    size = draw(st.sampled_from([1, 16, 512]))
    clock = draw(st.booleans())
    return TraceRequest(
        block_ids=np.array(ids, np.int64),
        block_tokens=size,
        # Ids cover the prompt with or without a partial last block.
        prompt_tokens=max(0, len(ids) * size + draw(st.integers(-size + 1, size - 1))),
        output_tokens=draw(st.none() | st.integers(0, 2**40)),
        arrival_s=draw(st.none() | st.floats(-1e10, 1e10)),
        scope=draw(_NAMES),
        session=draw(_NAMES if clock else st.none() | _NAMES),
        session_clock=clock,
        tenant=draw(st.none() | _NAMES),
    )


@st.composite
def related_requests(draw: st.DrawFn) -> list[TraceRequest]:
    """Requests that share a lot: few ids, few scopes, prompts that go on from earlier ones."""
    made: list[TraceRequest] = []
    for _ in range(draw(st.integers(1, 12))):
        base = draw(st.sampled_from([[], *(one.block_ids.tolist() for one in made)]))
        kept = base[: draw(st.integers(0, len(base)))]
        ids = kept + draw(st.lists(st.integers(0, 3), max_size=5))
        scope, session = draw(st.sampled_from([("", None), ("", "s"), ("a", "a"), ("b", "b")]))
        made.append(request_of(*ids, scope=scope, session=session))
    return made
