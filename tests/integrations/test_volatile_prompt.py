"""System prompts that will change, looked at before they are sent."""

import warnings

import pytest

from stemcache.errors import UsageError
from stemcache.integrations.live_tell import CacheWarning
from stemcache.integrations.volatile_prompt import VolatilePolicy, checked_policy, look_at
from stemcache.prompt.volatile.check import VolatileError
from tests.integrations.asked import CLOCKS, RULES

NOTHING: frozenset[str] = frozenset()
CLOCK = [RULES, f"It is {CLOCKS[1]}."]


def test_what_is_refused_is_an_error_with_its_place() -> None:
    """Which of the texts, which character, and where it belongs."""
    with pytest.raises(VolatileError, match=r"'system-1'.*at character 6 of part 0; say it in a"):
        look_at(CLOCK, VolatilePolicy.REFUSE, allow=NOTHING, seen=set())


def test_what_is_warned_of_is_warned_of_once() -> None:
    """For each place and kind, in one program."""
    seen: set[str] = set()
    with pytest.warns(CacheWarning, match="system-1") as warned:
        look_at(CLOCK, VolatilePolicy.WARN, allow=NOTHING, seen=seen)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at([RULES, f"It is {CLOCKS[2]}."], VolatilePolicy.WARN, allow=NOTHING, seen=seen)
    with pytest.warns(CacheWarning, match="system-0"):
        look_at(CLOCK[1:], VolatilePolicy.WARN, allow=NOTHING, seen=seen)


@pytest.mark.parametrize(
    ("texts", "policy", "allow"),
    [
        (CLOCK, VolatilePolicy.ALLOW, NOTHING),
        (CLOCK, VolatilePolicy.REFUSE, frozenset({"clock"})),
        ([RULES], VolatilePolicy.REFUSE, NOTHING),
        ([], VolatilePolicy.REFUSE, NOTHING),
    ],
)
def test_what_is_in_order_passes(
    texts: list[str], policy: VolatilePolicy, allow: frozenset[str]
) -> None:
    """And so does what is meant to be there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at(texts, policy, allow=allow, seen=set())


def test_what_is_remembered_of_warnings_is_bounded() -> None:
    """A program whose prompts fail everywhere is warned some hundred times and no more."""
    seen = {str(number) for number in range(256)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at(CLOCK, VolatilePolicy.WARN, allow=NOTHING, seen=seen)
    assert len(seen) == 256


def test_policies_are_known_by_name() -> None:
    """One that is not is an error with the nearest, and families likewise."""
    assert checked_policy("refuse") is VolatilePolicy.REFUSE
    with pytest.raises(UsageError, match=r"unknown policy 'refuze' from volatile; did you mean"):
        checked_policy("refuze")
    with pytest.raises(UsageError, match="unknown family 'clocks'"):
        look_at(CLOCK, VolatilePolicy.WARN, allow=frozenset({"clocks"}), seen=set())
