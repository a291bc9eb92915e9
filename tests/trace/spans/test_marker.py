from typing import Any

import pytest

from stemcache.trace.spans.marker import breakpoint_of, marker_of
from stemcache.trace.spans.span import Marker

AT = "/messages/0/content/1"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, None),
        ({"cache_control": None}, None),
        ({"cache_control": "ephemeral"}, None),
        ({"cache_control": {"type": "ephemeral"}}, Marker(f"{AT}/cache_control")),
        (
            {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
            Marker(f"{AT}/cache_control", "1h"),
        ),
        ({"cache_control": {"type": "ephemeral", "ttl": 3600}}, Marker(f"{AT}/cache_control")),
    ],
)
def test_cache_control_is_a_marker_where_it_is_an_object(
    node: dict[str, Any], expected: Marker | None
) -> None:
    """A time to live is a text or is not stated."""
    assert marker_of(node, AT) == expected
    assert breakpoint_of(node, AT, "30m") == expected


@pytest.mark.parametrize(
    ("point", "ttl"),
    [({"mode": "explicit"}, "30m"), ({"ttl": "12h"}, "12h"), ({"ttl": None}, "30m"), ({}, "30m")],
)
def test_a_breakpoint_has_its_own_or_the_requests_time_to_live(
    point: dict[str, Any], ttl: str
) -> None:
    """It goes before cache_control."""
    node = {"prompt_cache_breakpoint": point, "cache_control": {"type": "ephemeral", "ttl": "5m"}}
    assert breakpoint_of(node, AT, "30m") == Marker(f"{AT}/prompt_cache_breakpoint", ttl)


def test_a_breakpoint_that_is_none_leaves_cache_control() -> None:
    """A null is the same as none."""
    node = {"prompt_cache_breakpoint": None, "cache_control": {"type": "ephemeral"}}
    assert breakpoint_of(node, AT, "30m") == Marker(f"{AT}/cache_control")
    assert breakpoint_of({"prompt_cache_breakpoint": True}, AT, "30m") is None
