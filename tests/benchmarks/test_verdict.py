"""Grades of what linters say, by their own words."""

import pytest

from benchmarks.peers_matrix.verdict import Alarm, Answer, Grade, Truth, grade

SILENT = Answer()
CLOCK = Truth(kind="clock", cause=r"\btime\b|timestamp", place=r"\bsystem\b")


def _said(words: str, *, head: str = "", note: bool = False) -> Answer:
    return Answer((Alarm(head or words, words, note),))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_said("X1 timestamp in system"), Grade.NAMED),
        (_said("X2 system changed"), Grade.PLACED),
        (_said("X3 prefix broken"), Grade.SEEN),
        (_said("X4 a Timestamp", note=True), Grade.NAMED),
        (_said("X5 hit rate is low", note=True), Grade.SEEN),
        (SILENT, Grade.MISSED),
        (Answer(refused="reads no blocks"), Grade.REFUSED),
    ],
)
def test_words_decide_how_right_an_answer_is(answer: Answer, expected: Grade) -> None:
    """A word for the cause goes before the right block, and that before any alarm."""
    assert grade(answer, CLOCK, SILENT) is expected


def test_alarm_of_the_clean_pair_proves_nothing() -> None:
    """What a linter says of the clean pair too tells nothing apart, whatever its words."""
    usual = _said("REWRITE system: the time it was modified", head="REWRITE system")
    assert grade(usual, CLOCK, usual) is Grade.SAME
    both = Answer((*usual.alarms, *_said("system changed").alarms))
    assert grade(both, CLOCK, usual) is Grade.PLACED


def test_where_nothing_is_wrong_only_notes_may_be_said() -> None:
    """An alarm for a pair without a fault is false, even where it is raised for every pair."""
    clean = Truth(kind=None)
    assert grade(SILENT, clean, SILENT) is Grade.NAMED
    assert grade(_said("for your information", note=True), clean, SILENT) is Grade.NAMED
    alarm = _said("prefix broken")
    assert grade(alarm, clean, alarm) is Grade.FALSE
