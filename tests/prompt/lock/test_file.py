"""The lock as a file: one text for equal prefixes, strict reading, errors with a line."""

import subprocess
import tomllib
from pathlib import Path
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.lock import file
from stemcache.prompt.lock.file import check_name, check_version, lock_text, read_lock
from stemcache.prompt.lock.lines import line_of
from stemcache.prompt.lock.portions import Pinned
from tests.prompt.lock_portions import lock, portion, portions

SUPPORT = lock(portion("rules", "a" * 600, version="3"), portion("book", "b"), version="7")
TRIAGE = lock(portion("text", "sort"), name="triage")
TEXT = lock_text([SUPPORT, TRIAGE])


def read(text: str) -> dict[str, Pinned]:
    """The lock of that text."""
    return read_lock(text, "stemcache.lock")


def refused(text: str) -> str:
    """What is said of it."""
    with pytest.raises(UsageError) as told:
        read(text)
    return str(told.value)


def test_what_is_written_is_read_again() -> None:
    """Over random prefixes, names that need quotes and versions of any characters."""
    random = Random(3)
    for number in range(200):
        version = random.choice([None, "7", 'a "quoted" \\ one', "größe 木", "'"])
        made = {
            name: lock(*portions(random), name=name, version=version)
            for name in (f"p{number}", "a.b", "z_", "0")
        }
        assert read(lock_text(made.values())) == made


def test_lines_are_looked_for_only_where_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time costs the whole file, and a sound one has thousands of names and versions."""

    def looked_for(_: str, __: object) -> int:
        raise AssertionError("nothing is wrong")

    monkeypatch.setattr(file, "line_of", looked_for)
    assert read(TEXT) == {"support": SUPPORT, "triage": TRIAGE}


def test_equal_prefixes_give_equal_bytes_in_any_order() -> None:
    """Sorted by name."""
    assert lock_text([TRIAGE, SUPPORT]) == TEXT
    assert TEXT.index("[prefix.support]") < TEXT.index("[prefix.triage]")


def test_the_file_is_as_people_expect_it() -> None:
    """One table a prefix, one line a portion."""
    short = lock(portion("text", "sort"), name="triage", version="1")
    digest = short.portions[0].digest
    assert lock_text([short]).splitlines() == [
        "# Stable prefixes of prompts, written by `stemcache prefix lock`.",
        "# Where two branches meet, take the tables of both and write it again.",
        "format = 1",
        "",
        "[prefix.triage]",
        'version = "1"',
        "tokens = 1",
        f'digest = "{short.digest}"',
        "portions = [",
        f'    {{ name = "text", section = "system", tokens = 1, chars = 4, digest = "{digest}" }},',
        "]",
    ]


def test_branches_that_change_different_prefixes_merge(tmp_path: Path) -> None:
    """Without a conflict, and what comes out reads."""
    names = ("a", "b", "c", "d")
    old = {name: lock(portion("text", name * 9), name=name, version="1") for name in names}
    ours = {**old, "a": lock(portion("text", "new a"), name="a", version="2")}
    theirs = {**old, "d": lock(portion("text", "new d"), name="d", version="2")}
    for name, made in (("old", old), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(lock_text(made.values()))
    done = subprocess.run(
        ["git", "merge-file", "-p", "ours", "old", "theirs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert read(done.stdout) == {**old, "a": ours["a"], "d": theirs["d"]}


def test_a_conflict_is_named_with_its_line() -> None:
    """And what to do about it."""
    lines = TEXT.splitlines()
    lines[4:4] = ["<<<<<<< HEAD", "=======", ">>>>>>> other"]
    said = refused("\n".join(lines))
    assert said == (
        "stemcache.lock:5: a conflict of two branches stands there; take the tables of both, one "
        "of a prefix that both changed, then run `stemcache prefix lock`"
    )


def test_two_versions_of_one_prefix_mixed_are_found() -> None:
    """The digest of one with the portions of the other."""
    other = lock(portion("rules", "c" * 600, version="3"), portion("book", "b"), version="7")
    mixed = TEXT.replace(SUPPORT.digest, other.digest)
    assert refused(mixed) == (
        "stemcache.lock:8: the digest of prefix 'support' does not fit its portions, as when two "
        "versions of it were merged; write it again with `stemcache prefix lock --amend`"
    )
    assert ":7: the tokens of prefix 'support'" in refused(
        TEXT.replace("tokens = 151\ndigest", "tokens = 150\ndigest")
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format = 1\n", "", "1: it has no `format`; put `format = 1` at its beginning"),
        ("format = 1", "format = 2", "3: its format is the number 2, and this stemcache reads 1"),
        ("format = 1", "format = true", "3: its format is true"),
        ("format = 1", "format = 1\nprefixes = 1", "unknown key 'prefixes' from stemcache.lock:4"),
        ("tokens = 151", "tokns = 151", "unknown key 'tokns' from stemcache.lock:7; did you mean"),
        ("tokens = 151", 'tokens = "9"', "7: tokens is the text '9'; give a whole number from 0"),
        ("tokens = 151", "tokens = -1", "7: tokens is the number -1; give"),
        ("tokens = 151", "tokens = 1.5", "7: tokens is the number 1.5; give"),
        ("tokens = 151", "tokens = [1]", "7: tokens is a list; give"),
        ("tokens = 151", "tokens = 2026-11-30", "7: tokens is a date; give"),
        ("tokens = 151", "tokens = 9999999999999", "7: tokens is a very large number; give"),
        ("tokens = 151\n", "", "5: tokens is missing; give"),
        ('version = "7"', "version = 7", "6: version is the number 7; put it in quotes"),
        ('version = "7"', r'version = "a\nb"', "6: the version 'a\\nb' cannot be written on a"),
        ('version = "7"', 'version = "7', "6: this is not TOML: "),
        ('"sha256:', '"md5:', "8: digest is the text 'md5:"),
        ('"rules"', '"ru les"', "10: name is the text 'ru les'; give a name of a block"),
        ('name = "rules", section = "system"', 'name = "rules", section = "head"', "10: section"),
        ('name = "book", ', 'nam = "book", ', "unknown key 'nam' from stemcache.lock:11; did"),
        ('name = "book", ', 'name = "book", chars = "x", ', "11: this is not TOML"),
        ("[prefix.support]", '[prefix."a b"]', "5: 'a b' is no name of a prefix; use 1 to 64"),
        ("[prefix.support]", "[prefix.triage]", '14: this is not TOML: "Cannot declare'),
        ("[prefix.support]", "[prefix]", "6: prefix 'version' is the text '7'; make it a table"),
        ('rungs = "', 'rungs = "0', "10: rungs is the text '0"),
    ],
)
def test_every_fault_is_told_with_its_line(old: str, new: str, said: str) -> None:
    """Counted from one."""
    assert old in TEXT
    told = refused(TEXT.replace(old, new, 1))
    assert said in told
    assert told.startswith(("stemcache.lock:", "unknown key"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format = 1\nprefix = 3", "stemcache.lock:2: prefix is the number 3; make it tables"),
        ("format = 1\n[prefix]\na = 3", "stemcache.lock:3: prefix 'a' is the number 3; make it"),
        ("format = 1\n[prefix.a]\nportions = 3", "stemcache.lock:3: portions is no list of tabl"),
        ("format = 1\n[prefix.a]\nportions = [3]", "stemcache.lock:3: a portion is the number 3"),
        ("format = 1\n[prefix.a]", "stemcache.lock:2: portions is no list of tables; write it"),
        ("", "stemcache.lock:1: it has no `format`"),
        ("\x00", "stemcache.lock:1: this is not TOML"),
        ("x = " + "[" * 5_000, "stemcache.lock nests too deeply"),
        ("x = " + "9" * 5_000, "stemcache.lock:1: this is not TOML"),
        (" " * (2**24 + 1), "stemcache.lock is longer than 16,777,216 characters"),
    ],
)
def test_what_is_no_lock_is_refused(text: str, said: str) -> None:
    """Whatever it is."""
    assert refused(text).startswith(said)


def test_any_file_is_read_or_refused() -> None:
    """Never anything but a UsageError, for damage of any kind."""
    random = Random(4)
    for _ in range(2_000):
        at = random.randrange(len(TEXT))
        some = "".join(random.choices('[]{}="\n\\#.x7', k=random.randint(0, 3)))
        text = TEXT[:at] + some + TEXT[at + random.randint(0, 40) :]
        try:
            read(text)
        except UsageError as error:
            assert "stemcache.lock" in str(error)  # noqa: PT017  # most are refused, not all


def test_lines_are_those_of_the_keys() -> None:
    """For every key of a file, against a search for the key's own text."""
    rows = TEXT.split("\n")
    loaded = tomllib.loads(TEXT)
    for name, table in loaded["prefix"].items():
        head = rows.index(f"[prefix.{name}]") + 1
        assert line_of(TEXT, ("prefix", name)) == head
        for key in table:
            line = line_of(TEXT, ("prefix", name, key))
            assert rows[line - 1].startswith(f"{key} = ")
            assert line > head
        for number, one in enumerate(table["portions"]):
            line = line_of(TEXT, ("prefix", name, "portions", number, "digest"))
            assert one["digest"] in rows[line - 1]


def test_what_cannot_be_found_is_looked_for_above() -> None:
    """The nearest line that holds it, else the first."""
    assert line_of(TEXT, ("prefix", "support", "nothing")) == 5
    assert line_of(TEXT, ("nothing",)) == 1
    assert line_of("[[", ("a",)) == 1


@pytest.mark.parametrize("name", ["", "a b", "-a", "a" * 65, "é", "a\n"])
def test_names_are_plain(name: str) -> None:
    """As names of segments are."""
    with pytest.raises(UsageError, match="is no name of a prefix"):
        check_name(name, "here")


@pytest.mark.parametrize("version", ["", "a\tb", "x" * 1_001])
def test_versions_stand_on_one_line(version: str) -> None:
    """Whatever else they are."""
    with pytest.raises(UsageError, match=r"here: the version .* cannot be written on a line"):
        check_version(version, "here")
