"""Predicted against reported, seat by seat."""

from stemcache.gateway.self_check import SelfCheck, Standing


def test_a_few_answers_say_nothing_yet() -> None:
    """Seven answers that differ are no alarm; the eighth is."""
    check = SelfCheck()
    assert [check.add(1000, 0, 2000, slack=32) for _ in range(7)] == [None] * 7
    assert check.standing is Standing.UNKNOWN
    assert check.add(1000, 0, 2000, slack=32) is Standing.DISAGREES


def test_a_standing_is_told_once() -> None:
    """Only a change is told, and the sums go on."""
    check = SelfCheck()
    told = [check.add(500, 500, 600, slack=0) for _ in range(20)]
    assert told.count(Standing.AGREES) == 1
    assert told.index(Standing.AGREES) == 7
    assert (check.answers, check.predicted_tokens, check.reported_tokens) == (20, 10_000, 10_000)


def test_what_is_within_the_slack_agrees() -> None:
    """A block more or less is no difference."""
    check = SelfCheck()
    for _ in range(8):
        check.add(528, 512, 600, slack=16)
    assert check.standing is Standing.AGREES
    assert check.differing == 0


def test_a_seat_that_mends_is_said_to_agree_again() -> None:
    """The window forgets: after enough good answers the alarm ends, not before."""
    check = SelfCheck()
    for _ in range(16):
        check.add(1000, 0, 2000, slack=32)
    changes = [check.add(1000, 1000, 2000, slack=32) for _ in range(60)]
    assert [change for change in changes if change] == [Standing.AGREES]
    assert changes.index(Standing.AGREES) == 26, "27 of the last 32 agree: five differ"
    assert check.differing == 16


def test_standing_between_the_bounds_does_not_flap() -> None:
    """A quarter that differ neither raises an alarm nor ends one."""
    check = SelfCheck()
    for _ in range(8):
        check.add(0, 0, 100, slack=0)
    changes = [check.add(100 if n % 4 == 0 else 0, 0, 100, slack=0) for n in range(100)]
    assert not any(changes)
    assert check.standing is Standing.AGREES


def test_silence_is_not_agreement() -> None:
    """Answers without a figure are counted apart and change nothing."""
    check = SelfCheck()
    for _ in range(50):
        check.add_silent()
    assert check.standing is Standing.UNKNOWN
    assert (check.answers, check.silent) == (0, 50)


def test_after_a_repair_the_window_begins_again() -> None:
    """The past of a mirror that was cleared is not held against it."""
    check = SelfCheck()
    for _ in range(8):
        check.add(1000, 0, 2000, slack=32)
    check.begin_again()
    assert check.standing is Standing.UNKNOWN
    told = [check.add(0, 0, 2000, slack=32) for _ in range(8)]
    assert told[-1] is Standing.AGREES
    assert check.differing == 8


def test_over_and_under_are_told_apart() -> None:
    """Predicting too much is what a restart looks like; too little, another gateway."""
    check = SelfCheck()
    check.add(1000, 0, 2000, slack=1)
    check.add(0, 1000, 2000, slack=1)
    assert (check.differing, check.over) == (2, 1)
