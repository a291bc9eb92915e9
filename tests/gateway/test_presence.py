"""Who is there, and for how long who is not seen is remembered."""

from random import Random

import pytest

from stemcache.gateway.presence import ABSENT_S, Found, Presence, Sighting, State
from stemcache.gateway.replica import ReplicaSpec


def spec(name: str) -> ReplicaSpec:
    """A replica."""
    return ReplicaSpec(name=name, url=f"http://{name}:1")


def seen(name: str, state: State = State.READY, identity: str = "") -> Sighting:
    """It, as a source sees it."""
    return Sighting(spec(name), state, identity)


def told(found: Found) -> tuple[str, str, str]:
    """Names of who is there, of who gets nothing new, of who is another now."""
    return (
        " ".join(one.name for one in found.replicas),
        " ".join(sorted(found.draining)),
        " ".join(sorted(found.replaced)),
    )


def test_who_is_ready_is_there() -> None:
    """In the order of their names, whatever the source's."""
    presence = Presence()
    assert told(presence.look([seen("b"), seen("a")], now_s=0.0)) == ("a b", "", "")
    assert presence.lapses_s is None


def test_who_was_never_ready_is_not() -> None:
    """A pod that loads its model, for one."""
    presence = Presence()
    assert told(presence.look([seen("a", State.UNREADY)], now_s=0.0)) == ("", "", "")
    assert told(presence.look([seen("a")], now_s=1.0)) == ("a", "", "")


@pytest.mark.parametrize("listed", [True, False])
def test_who_is_away_for_a_moment_is_remembered(*, listed: bool) -> None:
    """Not ready, or not seen: it gets nothing new until it is back."""
    presence = Presence()
    away = [seen("b"), *([seen("a", State.UNREADY, "1")] if listed else [])]
    presence.look([seen("a", identity="1"), seen("b")], now_s=0.0)
    assert told(presence.look(away, now_s=10.0)) == ("a b", "a", "")
    assert presence.lapses_s == 10.0 + ABSENT_S
    assert told(presence.look(away, now_s=10.0 + ABSENT_S - 1)) == ("a b", "a", "")
    back = presence.look([seen("a", identity="1"), seen("b")], now_s=10.0 + ABSENT_S)
    assert told(back) == ("a b", "", "")
    assert presence.lapses_s is None


@pytest.mark.parametrize("looks", [True, False])
def test_who_is_away_for_longer_is_forgotten(*, looks: bool) -> None:
    """Counted from when it went, whether the source is looked at again or not."""
    presence = Presence(absent_s=5.0)
    presence.look([seen("a"), seen("b")], now_s=0.0)
    presence.look([seen("b")], now_s=1.0)
    assert told(presence.lapse(now_s=5.9)) == ("a b", "a", "")
    assert told(presence.look([seen("b")], now_s=5.9)) == ("a b", "a", "")
    over = presence.look([seen("b")], now_s=6.0) if looks else presence.lapse(now_s=6.0)
    assert told(over) == ("b", "", "")
    assert presence.lapses_s is None


def test_who_terminates_drains_and_is_gone_with_its_end() -> None:
    """Nobody waits for what will not come back."""
    for last in ([], [seen("a", State.UNREADY)]):
        presence = Presence()
        presence.look([seen("a")], now_s=0.0)
        assert told(presence.look([seen("a", State.TERMINATING)], now_s=1.0)) == ("a", "a", "")
        assert presence.lapses_s is None
        assert told(presence.look(last, now_s=2.0)) == ("", "", "")


def test_who_terminates_as_it_is_first_seen_drains() -> None:
    """The gateway began a moment too late to send it anything."""
    found = Presence().look([seen("a", State.TERMINATING)], now_s=0.0)
    assert told(found) == ("a", "a", "")


def test_who_terminates_while_it_is_away_is_not_away_any_more() -> None:
    """But on its way out."""
    presence = Presence()
    presence.look([seen("a")], now_s=0.0)
    presence.look([], now_s=1.0)
    assert told(presence.look([seen("a", State.TERMINATING)], now_s=2.0)) == ("a", "a", "")
    assert presence.lapses_s is None


@pytest.mark.parametrize("between", [True, False])
def test_another_at_the_same_address_is_told_of(*, between: bool) -> None:
    """It holds nothing of what the one before held; said once."""
    presence = Presence()
    presence.look([seen("a", identity="1"), seen("b", identity="2")], now_s=0.0)
    if between:
        presence.look([seen("b", identity="2")], now_s=1.0)
    other = [seen("a", identity="9"), seen("b", identity="2")]
    assert told(presence.look(other, now_s=2.0)) == ("a b", "", "a")
    assert told(presence.look(other, now_s=3.0)) == ("a b", "", "")


def test_another_that_is_not_ready_yet_takes_the_place() -> None:
    """The one before is gone."""
    presence = Presence()
    presence.look([seen("a", identity="1")], now_s=0.0)
    assert told(presence.look([seen("a", State.UNREADY, "9")], now_s=1.0)) == ("", "", "")


@pytest.mark.parametrize(("before", "after"), [("", "1"), ("1", ""), ("", "")])
def test_who_has_no_identity_is_taken_for_the_same(before: str, after: str) -> None:
    """DNS tells none."""
    presence = Presence()
    presence.look([seen("a", identity=before)], now_s=0.0)
    assert told(presence.look([seen("a", identity=after)], now_s=1.0)) == ("a", "", "")


def test_any_history_ends_as_a_plain_rule_has_it() -> None:
    """Who is ready is there; who is not was ready less than its time ago, and did not terminate."""
    rng = Random(7)
    for _ in range(300):
        presence, absent_s = Presence(absent_s=3.5), 3.5
        ready_s: dict[str, float] = {}
        for now in range(30):
            states = {name: rng.choice([*State, None]) for name in "abc"}
            looks = [seen(name, state) for name, state in states.items() if state is not None]
            found = presence.look(looks, now_s=float(now))
            names = {one.name for one in found.replicas}
            for name, state in states.items():
                if state is State.READY:
                    ready_s[name] = float(now)
                    assert name in names - found.draining
                elif state is State.TERMINATING:
                    ready_s.pop(name, None)
                    assert name in names & found.draining
                else:
                    # Away since the look after it was ready last, a second later.
                    kept = name in ready_s and now - (ready_s[name] + 1) < absent_s
                    assert (name in names and name in found.draining) is kept
