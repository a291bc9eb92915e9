"""What is pinned against what is built."""

from dataclasses import replace

import pytest

from stemcache.prompt.lock.check import Finding, FindingKind, broken, check, reused
from stemcache.prompt.lock.portions import Pinned
from tests.prompt.lock_portions import lock, portion

RULES = portion("rules", "be kind", version="3")
BOOK = portion("book", "how we ship", version="1")
PLAIN = portion("plain", "no version")


def found(before: Pinned | None, now: Pinned | None) -> list[Finding]:
    """The findings of one prefix."""
    return list(
        check(
            {} if before is None else {before.name: before}, {} if now is None else {now.name: now}
        )
    )


def kinds(before: Pinned | None, now: Pinned | None) -> list[str]:
    """Their kinds."""
    return [one.kind for one in found(before, now)]


def test_the_same_is_no_finding() -> None:
    """Nor is another name of a portion, which nobody sees."""
    pin = lock(RULES, BOOK, version="7")
    assert found(pin, lock(RULES, BOOK, version="7")) == []
    assert found(pin, lock(replace(RULES, name="principles"), BOOK, version="7")) == []


def test_other_bytes_under_the_same_version_are_found() -> None:
    """With the portions that differ and both ways out."""
    (one,) = found(
        lock(RULES, BOOK, version="7"), lock(RULES, replace(BOOK, text="x"), version="7")
    )
    assert one == Finding(
        kind=FindingKind.CHANGED,
        prefix="support",
        message="its bytes changed in book, and its version is '7' as in stemcache.lock",
        help="give it a new version, then run `stemcache prefix lock`; or undo the change",
    )


def test_other_bytes_under_no_version_are_found() -> None:
    """And where to give one."""
    (one,) = found(lock(PLAIN), lock(replace(PLAIN, text="x")))
    assert one.kind is FindingKind.CHANGED
    assert one.message == "its bytes changed in plain, and it has no version"
    assert one.help.startswith(
        "give prefixes.support in the settings, or the segments, a version, then run"
    )


def test_another_order_is_another_prefix() -> None:
    """Though every portion is there."""
    (one,) = found(lock(RULES, BOOK, version="7"), lock(BOOK, RULES, version="7"))
    assert "changed in the order of its parts, and its version" in one.message


def test_only_some_portions_are_named() -> None:
    """A prefix may have hundreds."""
    many = [portion(f"p{number}", str(number)) for number in range(9)]
    more = [replace(one, text=one.text + "!") for one in many]
    (one,) = found(lock(*many, version="7"), lock(*more, version="7"))
    assert "in p0, p1, p2 and 6 more, and" in one.message


def test_a_new_version_that_is_not_locked_is_found() -> None:
    """Whether bytes changed or not."""
    old = lock(RULES, version="7")
    for now in (lock(RULES, version="8"), lock(replace(RULES, text="x", version="4"), version="8")):
        (one,) = found(old, now)
        assert one.kind is FindingKind.VERSION_UNLOCKED
        assert one.message == "its version is '8', and stemcache.lock has '7'"
    (one,) = found(lock(PLAIN), lock(PLAIN, version="1"))
    assert one.message == "its version is '1', and stemcache.lock has none"


def test_versions_of_segments_make_that_of_the_prefix() -> None:
    """A changed segment with a new version is one to be locked, without one it is a fault."""
    old = lock(RULES, BOOK)
    edited = replace(BOOK, text="x")
    assert kinds(old, lock(RULES, edited)) == ["changed"]
    assert kinds(old, lock(RULES, replace(edited, version="2"))) == ["version-unlocked"]


def test_a_segment_that_keeps_its_version_keeps_its_bytes() -> None:
    """Even where the prefix, or another segment, has a new one."""
    old = lock(RULES, BOOK, version="7")
    (one,) = found(old, lock(RULES, replace(BOOK, text="x"), version="8"))
    assert one.kind is FindingKind.SEGMENT_CHANGED
    assert one.message == (
        "the bytes of segment book changed, and its version is '1' as in stemcache.lock"
    )
    now = lock(replace(RULES, version="4"), replace(BOOK, text="x"))
    assert kinds(lock(RULES, BOOK), now) == ["segment-changed"]


def test_all_parts_of_a_segment_are_looked_at() -> None:
    """A part that came or went changes it too."""
    part = portion("rules/1", "and short", version="3")
    for before, now in (((RULES, part), (RULES,)), ((RULES,), (RULES, part))):
        (one,) = found(lock(*before, version="7"), lock(*now, version="8"))
        assert "segment rules" in one.message


def test_a_segments_version_is_locked_too() -> None:
    """Where the project gives the prefix another."""
    (one,) = found(
        lock(RULES, version="7"), lock(replace(RULES, version="4", text="x"), version="7")
    )
    assert one.kind is FindingKind.CHANGED
    (one,) = found(lock(RULES, version="7"), lock(replace(RULES, version="4"), version="7"))
    assert one.message == "stemcache.lock has another version of segment rules"


def test_new_and_gone_prefixes_are_found_by_name() -> None:
    """In the order of names."""
    assert kinds(None, lock(RULES)) == ["new"]
    assert kinds(lock(RULES), None) == ["gone"]
    both = check({"b": lock(RULES, name="b")}, {"a": lock(RULES, name="a")}, source="x.lock")
    assert [(one.prefix, one.kind) for one in both] == [("a", "new"), ("b", "gone")]
    assert both[0].message == "x.lock does not have it"
    assert both[1].message == "x.lock has it and the settings do not"


@pytest.mark.parametrize("version", ["7", None])
def test_only_bytes_under_an_old_version_are_broken(version: str | None) -> None:
    """What a lock refuses to be written over for; a new version is nothing of the kind."""
    old = lock(PLAIN, version=version)
    assert broken(old, lock(PLAIN, version="8"), source="x") == ()
    assert broken(old, lock(replace(PLAIN, text="y"), version="8"), source="x") == ()
    assert len(broken(old, lock(replace(PLAIN, text="y"), version=version), source="x")) == 1


def _history(*locks: Pinned) -> list[tuple[str, dict[str, Pinned]]]:
    return [(f"c{number}", {one.name: one}) for number, one in enumerate(locks)]


def test_the_latest_lock_of_a_version_counts() -> None:
    """An amended version is what it was amended to."""
    now = lock(BOOK, version="7")
    amended = _history(lock(RULES, version="8"), now, lock(PLAIN, version="7"))
    left = _history(lock(RULES, version="8"), lock(PLAIN, version="7"), now)

    assert reused(amended, {"support": now}, source="x") == ()
    assert [one.message for one in reused(left, {"support": now}, source="x")] == [
        "it has version '7' again, with other bytes than in x of c1"
    ]


def test_a_segment_that_comes_back_is_found() -> None:
    """By its own version, under any of the prefix."""
    segment = replace(BOOK, text="how we shipped")
    history = _history(lock(RULES, version="8"), lock(RULES, segment, version="7"))

    (one,) = reused(history, {"support": lock(RULES, BOOK, version="9")}, source="x")

    assert one.kind is FindingKind.VERSION_REUSED
    assert one.message.startswith(f"segment book has version {BOOK.version!r} again, with other")


def test_a_prefix_with_the_versions_of_its_segments_is_told_by_them() -> None:
    """Its version is made of theirs, and says no more."""
    history = _history(lock(replace(BOOK, version="2")), lock(replace(BOOK, text="as we shipped")))

    (one,) = reused(history, {"support": lock(BOOK)}, source="x")

    assert one.message.startswith("segment book has version")


def test_no_more_of_the_history_is_asked_for_than_it_takes() -> None:
    """Each commit is a process of git."""
    now = lock(BOOK, version="7")
    asked = iter(_history(now, now, now))

    assert reused(asked, {"support": now}, source="x") == ()
    assert len(list(asked)) == 2
    assert reused(iter(()), {"support": now}, source="x") == ()
    assert reused(asked, {"support": lock(PLAIN)}, source="x") == ()
