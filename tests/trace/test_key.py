import os
import stat
import sys
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.trace.key import check_key_apart, load_key, passing_key


def refusal(path: Path) -> str:
    """What is said of a key file that cannot be used."""
    with pytest.raises(UsageError) as caught:
        load_key(path)
    return str(caught.value).replace(str(path.parent), "DIR")


def test_a_missing_key_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    """With 32 random bytes, and read again afterwards, whatever the umask."""
    before = os.umask(0)
    try:
        made = load_key(tmp_path / "key")
    finally:
        os.umask(before)
    again = load_key(tmp_path / "key")
    assert (made.created, again.created) == (True, False)
    assert made.key == again.key == (tmp_path / "key").read_bytes()
    assert len(made.key) == 32
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert load_key(tmp_path / "other").key != made.key


def test_passing_keys_are_random() -> None:
    """Two are never equal."""
    assert len({passing_key() for _ in range(100)}) == 100


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_key_that_others_may_use_is_refused(mode: int, tmp_path: Path) -> None:
    """With the command that mends it."""
    path = tmp_path / "key"
    path.write_bytes(bytes(32))
    path.chmod(mode)
    assert refusal(path) == (
        f"the key file DIR/key from --key has mode {mode:03o}, so others may read or change it; "
        "run: chmod 600 DIR/key"
    )


def test_a_key_of_the_wrong_length_is_refused(tmp_path: Path) -> None:
    """An empty file, a short password, and a file that is something else."""
    path = tmp_path / "key"
    for size, said in ((0, "0"), (31, "31"), (2**16 + 1, "too many")):
        path.write_bytes(bytes(size))
        path.chmod(0o600)
        assert refusal(path) == (
            f"the key file DIR/key from --key has {said} bytes; use one with 32 to 65,536 random "
            "bytes, or name a file that does not exist to have it made"
        )


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A directory, a pipe without waiting for it, and a place that is not there."""
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == (
        "DIR/pipe from --key is no file; give the path of a key file"
    )
    (tmp_path / "directory").mkdir()
    assert refusal(tmp_path / "directory") == (
        "DIR/directory from --key is no file; give the path of a key file"
    )
    with pytest.raises(UsageError) as caught:
        load_key(tmp_path / "none" / "key")
    assert str(caught.value) == (
        f"cannot make the key file {tmp_path}/none/key from --key: No such file or directory; "
        "name a file in a directory that can be written to"
    )
    with pytest.raises(UsageError) as caught:
        load_key(Path("/dev/null/key"))
    assert str(caught.value) == (
        "cannot read the key file /dev/null/key from --key: Not a directory; "
        "check its path and mode"
    )


def test_a_key_is_not_shown(tmp_path: Path) -> None:
    """Not even in a log of values."""
    loaded = load_key(tmp_path / "key")
    assert repr(loaded) == "LoadedKey(created=True)"


def apart(path: Path, *, source: str = "none", target: str = "none") -> str:
    """What is said of a key file beside a trace that is read and one that is written."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(UsageError) as caught:
        check_key_apart(path, source=source, target=target)
    assert sorted(path.parent.iterdir()) == before
    return str(caught.value).replace(str(path.parent), "DIR")


def test_a_key_is_no_trace(tmp_path: Path) -> None:
    """Neither one that is read nor one that is written, by whatever name."""
    key = tmp_path / "key"
    load_key(key)
    (tmp_path / "soft").symlink_to(key)
    (tmp_path / "hard").hardlink_to(key)
    for name in ("key", "soft", "hard", "../" + tmp_path.name + "/key"):
        other = f"{tmp_path}/{name}"
        assert apart(key, target=other) == (
            "DIR/key from --key is the file that the trace is written to; "
            "give the key a file of its own"
        )
        assert apart(key, source=other) == (
            "DIR/key from --key is the file that the trace is read from; "
            "give the key a file of its own"
        )
        assert "is the file that" in apart(tmp_path / name, target=str(key))
    check_key_apart(key, source=str(tmp_path / "a"), target=str(tmp_path / "b"))
    check_key_apart(key, source="-", target="-")


def test_a_key_that_is_to_be_made_is_no_trace_either(tmp_path: Path) -> None:
    """Nothing is there yet, and a link leads to nothing."""
    (tmp_path / "link").symlink_to(tmp_path / "made")
    for name in ("made", "link", "./made"):
        assert "written to" in apart(tmp_path / "made", target=f"{tmp_path}/{name}")
        assert "written to" in apart(tmp_path / name, target=f"{tmp_path}/made")


def test_a_key_that_standard_output_goes_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind `>>`, and `<`."""
    key = tmp_path / "key"
    load_key(key)
    with key.open("a") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        said = apart(key, target="-")
        monkeypatch.undo()
    assert "written to" in said
    with key.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        said = apart(key, source="-")
        monkeypatch.undo()
    assert "read from" in said
