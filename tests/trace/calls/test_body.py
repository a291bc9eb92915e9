"""A call from what a format found."""

from typing import Any

import pytest

from stemcache.trace.calls.answer import Answer
from stemcache.trace.calls.body import made_call
from stemcache.trace.calls.call import Call, Fidelity, Place


def call(**fields: Any) -> Call:
    """With the body of a short request."""
    fields = {"body": {"messages": []}, "fidelity": Fidelity.WIRE, "size_bytes": 15, **fields}
    return made_call(place=Place("calls.jsonl", 1, ""), **fields)


@pytest.mark.parametrize(
    "name", ["model", "id", "host", "session", "scope", "route", "tier", "region"]
)
def test_what_is_too_long_to_be_a_name_is_bounded_and_still_its_own(name: str) -> None:
    """Tables are kept by names, so that endless ones would fill memory."""
    long = "x" * 100_000
    one, same, other = (getattr(call(**{name: long + end}), name) for end in "aab")
    assert one == same != other
    assert one.startswith("x" * 64 + "~")
    assert len(one) == len(other) == 81
    assert getattr(call(**{name: "x" * 512}), name) == "x" * 512


def test_a_long_id_is_known_in_the_request_that_goes_on_from_it() -> None:
    """Both are bounded alike, also where half of a surrogate pair is in it."""
    long = "resp_" + "\ud800" * 1_000
    first = call(answer=Answer(id=long))
    second = call(body={"input": "and then?", "previous_response_id": long})
    assert first.id is not None
    assert second.previous_id == first.id


def test_names_that_are_not_said_are_none() -> None:
    """A call without names has none made up."""
    made = call()
    assert (made.model, made.id, made.host, made.session, made.route) == (None,) * 5
    assert made.scope == ""
