import random
import time

import pytest

from stemcache.lint.text_class import TextClass, classify, shape_of


def _told(old: str, new: str, before: str = "", behind: str = "") -> str:
    """Family and name of a pair of windows between the same texts, or `none`."""
    line = before[before.rfind("\n") + 1 :] + new + behind
    told = classify(old, new, before=before, line=line)
    return "none" if told is None else f"{told.family}: {told.name}"


@pytest.mark.parametrize(
    ("old", "new", "before", "behind", "expected"),
    [
        ("01", "31", "Now: 2026-11-30T05:14:", "Z", "clock: ISO time"),
        ("2026-11-30 05:14", "2026-11-30 05:15", "", "", "clock: ISO time"),
        ("123", "456", "at 2026-11-30T05:14:01.", "+01:00", "clock: ISO time"),
        ("30", "31", "on 2026-11-", ".", "clock: ISO date"),
        ("20261130T051401Z", "20261130T051431Z", "", "", "clock: ISO time"),
        ("30.11.2026", "01.12.2026", "Stand: ", "", "clock: date"),
        ("11/30/2026", "12/01/2026", "", "", "clock: date"),
        ("05:14:01", "05:14:31", "Mon, 30 Nov 2026 ", " GMT", "clock: HTTP date"),
        ("05:14:01", "05:14:31", "Mon Nov 30 ", " UTC 2026", "clock: Unix date line"),
        ("30", "29", "Today is November ", ", 2026.", "clock: date in words"),
        ("Monday", "Tuesday", "Today is ", ".", "clock: weekday"),
        ("5:14 PM", "5:15 PM", "", "", "clock: clock time"),
        ("05:14", "05:15", "Local time ", ", Berlin", "clock: clock time"),
        ("1796015641", "1796015671", '{"ts": ', "}", "clock: Unix time"),
        ("1796015641.123456", "1796015671.654321", "", "", "clock: Unix time"),
        ("1796015641123", "1796015671456", "epoch ", "", "clock: Unix time in ms"),
        ("1796015641123456", "1796015671456123", "", "", "clock: Unix time in µs"),
        ("1796015641123456789", "1796015671456123789", "", "", "clock: Unix time in ns"),
        ("3", "5", "sent ", " minutes ago", "clock: relative time"),
        ("just now", "3 minutes ago", "(", ")", "clock: relative time"),
        ("an hour ago", "yesterday", "", "", "clock: relative time"),
        ("2h 3m", "2h 4m", "up ", "", "clock: duration"),
        ("12.5", "14.0", "Elapsed: ", " seconds", "clock: duration"),
    ],
)
def test_clocks_of_all_forms(old: str, new: str, before: str, behind: str, expected: str) -> None:
    """Times, dates, ages and durations, also where only a few digits of them differ."""
    assert _told(old, new, before, behind) == expected


@pytest.mark.parametrize(
    ("old", "new", "before", "behind"),
    [
        ("1.2.3", "1.2.4", "version ", ""),
        ("3.11", "3.12", "Python ", ""),
        ("4.99", "5.49", "It costs $", "."),
        ("1,299", "1,349", "", " euros"),
        ("2125551234", "2125551299", "Call ", " today."),
        ("+1 212 555 1234", "+1 212 555 1299", "", ""),
        ("4006381333931", "4006381333948", "EAN ", ""),
        ("5th", "6th", "the ", " floor"),
        ("16:9", "16:10", "a screen of ", ""),
        ("3:16", "3:17", "John ", ""),
        ("3 days", "5 days", "comes within ", "."),
        ("24", "48", "within ", " hours of an order"),
        ("2", "3", "Give ", " examples."),
        ("May", "must", "You ", " ask."),
        ("second", "third", "the ", " paragraph"),
        ("Friday", "Sunday", "Robinson and ", ""),
        ("80", "443", "port ", ""),
        ("1/2", "3/4", "take ", " of it"),
        ("Version 7 of 2026", "Version 8 of 2026", "", ""),
        ("brief", "short", "Be ", " at 2026-11-30."),
        ("", "2026-11-30", "Today: ", ""),
    ],
)
def test_numbers_and_words_that_are_no_clocks(old: str, new: str, before: str, behind: str) -> None:
    """Versions, prices, phone and part numbers, ratios, promises and prose have no class."""
    assert _told(old, new, before, behind) == "none"


@pytest.mark.parametrize(
    ("old", "new", "before", "expected"),
    [
        ("71fea", "ea6aa", "x-anthropic-billing-header: cc_version=2.1; cch=", "billing header"),
        (
            "550e8400-e29b-41d4-a716-446655440000",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "for ",
            "UUID",
        ),
        ("018f6d2e", "018f6d2f", "", "hex digest"),
        (
            "0190163d-8694-739b-aea5-966c26f8ad91",
            "0190163d-8695-7cc0-90a4-6f1d5a2d1f5e",
            "",
            "UUID",
        ),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ", "", "ULID"),
        ("req_011CSHoEeqs5", "req_011CT7kPmwx9", "after ", "request id"),
        ("toolu_01A09q90qw90", "toolu_01XFDUDYJgAA", "", "request id"),
        ("resp_68a1b2c3d4e5f607", "resp_78a1b2c3d4e5f608", "", "request id"),
        ("a8f3", "b9c4", "nonce=", "id"),
        ("17", "18", "session_id: ", "id"),
        ("/tmp/tmpa1b2c3/x", "/tmp/tmpd4e5f6/x", "in ", "temporary path"),
        ("https://example.com/session/a1b2c3", "https://example.com/session/d4e5f6", "", ""),
        ("3", "4", "Turn ", "counter"),
        ("QmFzZTY0VG9rZW4xMjM0NTY3OA==", "WW91ckJhc2U2NDk4NzY1NDMyMQ==", "", "random token"),
        ("x7f3k9", "b2q8m1", "pod-", "random suffix"),
    ],
)
def test_ids_of_all_forms(old: str, new: str, before: str, expected: str) -> None:
    """Ids are told by their form, a known prefix, or the name ahead of them."""
    assert _told(old, new, before) == f"injected-id: {expected or 'session address'}"


@pytest.mark.parametrize(
    ("old", "new", "before"),
    [
        ("deadbeef", "facade", ""),
        ("decade", "defaced", "a "),
        ("v2beta1", "v2beta3", "api-"),
        ("gpt-4o", "gpt-4o-mini", "use "),
        ("claude-opus-5", "claude-sonnet-5", "use "),
        ("getUserById", "getOrderById", ""),
        ("HTTP2", "HTTP3", ""),
        ("utf8", "utf16", ""),
        ("1234567", "1234568", "part "),
        ("sessions", "meetings", "many "),
        ("token", "tokens", "each "),
        ("A-17", "A-18", "order "),
        ("SKU-4711", "SKU-4712", ""),
        ("section 3", "section 4", "see "),
        ("request_timeout", "request_retries", "set "),
    ],
)
def test_words_that_look_like_ids(old: str, new: str, before: str) -> None:
    """Words of the letters a to f, versions, names of models and functions are no ids."""
    assert _told(old, new, before) == "none"


@pytest.mark.parametrize(
    ("old", "new", "before", "behind", "expected"),
    [
        ("main", "feature/x", "On branch ", "", "git status"),
        ("", "?? src/new.py\n", "Status:\n M src/a.py\n", "", "git status"),
        ("", "1a2b3c4 Add a label\n", "Recent commits:\n", "5d6e7f8 Mend it", "git status"),
        ("", "├── b.py\n", "├── a.py\n", "└── c.py", "file tree"),
        ("src/a.py", "src/b.py\nsrc/c.py", "Files:\n", "", "file list"),
        ("/work/a", "/work/b", "Working directory: ", "", "environment field"),
        ("build-a", "build-b", "hostname: ", "", "environment field"),
        ("12,345", "11,871", "tokens left: ", "", "token budget"),
        ("61061", "64712", "Token usage: ", "/200000", "token budget"),
        ("45%", "43%", "Context remaining: ", "", "token budget"),
    ],
)
def test_pictures_of_the_environment(
    old: str, new: str, before: str, behind: str, expected: str
) -> None:
    """Lines of git, trees, lists, fields and budgets, also where a line was added."""
    assert _told(old, new, before, behind) == f"environment: {expected}"


@pytest.mark.parametrize(
    ("old", "new", "before"),
    [
        ("src/a.py", "src/b.py", "Read the file "),
        ("", "- Ask for the town.\n", "- Ask for the name.\n"),
        ("open", "closed", "Status: answer "),
        ("the branch", "the trunk", "Commit to "),
        ("12,345", "12,346", "We sold "),
        ("a file", "a tree", "Draw "),
    ],
)
def test_prose_that_speaks_of_files_is_no_picture(old: str, new: str, before: str) -> None:
    """A path in a sentence, a list of instructions, a number of another thing."""
    assert _told(old, new, before) == "none"


def test_a_class_is_given_only_where_it_explains_all_that_differs() -> None:
    """A word that changed beside a time makes the change an edit."""
    assert _told("05:14:01 Be brief", "05:14:02 Be short", "2026-11-30 ") == "none"
    assert _told("05:14:01 Be brief", "05:14:02 Be brief", "2026-11-30 ") == "clock: ISO time"


def test_the_first_piece_that_differs_names_the_class() -> None:
    """A time and an id that both changed are told by the one in front."""
    old = "2026-11-30T05:14:01Z run 9f86d081884c7d65"
    new = "2026-11-30T05:14:31Z run 2c26b46b68ffc68f"
    assert _told(old, new) == "clock: ISO time"
    assert _told(old.replace("01Z", "31Z"), new) == "injected-id: hex digest"


def test_pieces_of_two_families_are_not_alike() -> None:
    """A time that became an id is neither."""
    assert _told("2026-11-30T05:14:01Z", "9f86d081884c7d65", "last: ") == "none"


def test_git_status_with_a_time_in_it_is_a_picture() -> None:
    """Lines that differ in volatile pieces alone do not hide what the other lines are."""
    old = "Taken 2026-11-30 05:14\n M src/a.py\n"
    new = "Taken 2026-11-30 05:15\n M src/a.py\n?? src/b.py\n"
    assert _told(old, new) == "environment: git status"


def test_shapes_are_those_of_the_whole_piece() -> None:
    """Where two digits differ, what is shown is the time that they are of."""
    told = classify("01", "31", before="Now: 2026-11-30T05:14:", line="Now: 2026-11-30T05:14:31Z")
    assert isinstance(told, TextClass)
    assert (told.old, told.new) == ("ISO time, 20 chars", "ISO time, 20 chars")
    assert told.phrase == "an ISO time with seconds"


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("2026-11-30T05:14:01.123Z", "an ISO time with fractions of a second"),
        ("2026-11-30 05:14", "an ISO time with minutes"),
        ("2026-11-30", "an ISO date"),
        ("3 minutes ago", "a relative time"),
        ("550e8400-e29b-41d4-a716-446655440000", "a UUID"),
        ("Mon, 30 Nov 2026 05:14:01 GMT", "an HTTP date with seconds"),
    ],
)
def test_a_class_reads_as_the_subject_of_a_sentence(text: str, phrase: str) -> None:
    """With its article and the finest unit that it shows."""
    other = text.replace("3", "2", 1) if "3" in text else text.replace("5", "6", 1)
    told = classify(other, text)
    assert told is not None and told.phrase == phrase


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", ""),
        ("2026-11-30T05:14:01Z", "ISO time, 20 chars"),
        ("550e8400-e29b-41d4-a716-446655440000", "UUID, 36 chars"),
        (" \n", "white space, 2 chars"),
        ("x", "text, 1 char"),
        ("my secret " * 500, "text, 5,000 chars"),
        ("at 2026-11-30T05:14:01Z we met", "text, 30 chars"),
    ],
)
def test_a_shape_says_class_and_length_and_never_the_text(text: str, shape: str) -> None:
    """A text that is one volatile piece is called by it; else it is a text."""
    assert shape_of(text) == shape


def test_equal_windows_have_no_class() -> None:
    """Nothing differs, so nothing is told."""
    assert classify("2026-11-30", "2026-11-30") is None


def test_a_long_window_is_not_called_a_clock_for_the_time_at_its_head() -> None:
    """What lies behind the part that is masked is compared as far as it goes."""
    prose = "The parties agree on all that follows. " * 60
    told = classify(f"2026-11-30 05:14 {prose}", f"2026-11-30 05:15 {prose[20:]}")
    assert told is None


_PIECES = [
    *("1", "12:", "2026-", "-11", "T", "05:14", "Z", " ", "ago", "minutes ", "Mon, ", "Nov ", "\n"),
    *("/tmp/", "f9", "req_", "session=", "-", "_", ".", ",", "├", "https://", "/session/", "?? "),
    *("x-anthropic-billing-header:", "0", "e", "E4", "tokens ", "left ", "\ud800", "\0", "٣", "Ⅷ"),
]


@pytest.mark.parametrize("piece", _PIECES, ids=ascii)
def test_a_megabyte_of_one_piece_takes_no_long_time(piece: str) -> None:
    """Neither windows nor the text around them are looked at as a whole."""
    text = piece * (2**20 // len(piece))
    begin = time.process_time()
    classify(text, text[:-1] + "z", before=text, line=text)
    classify(text[:80], text[80:200], before=text, line=text)
    shape_of(text)
    assert time.process_time() - begin < 2


def test_any_mixture_of_pieces_is_told_in_a_short_time() -> None:
    """Random windows never raise and never make the expressions go back and forth."""
    chance = random.Random(7)
    for _ in range(60):
        some = chance.sample(_PIECES, chance.randint(1, 6))
        old = "".join(chance.choice(some) for _ in range(600))
        new = old[:300] + "".join(chance.choice(some) for _ in range(300))
        begin = time.process_time()
        told = classify(old, new, before=old, line=new)
        assert time.process_time() - begin < 2
        assert told is None or str(told.family) in {"clock", "injected-id", "environment"}
