"""Conversations in files: what is written when, and what is read after anything went wrong."""

import errno
import fcntl
import json
import multiprocessing
import os
import stat
import traceback
import warnings
from pathlib import Path
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.chain import EMPTY, grown
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.conversation.file import TornLineWarning, load, replace, save
from stemcache.prompt.conversation.line import HEAD, line_of
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.request import Layout
from tests.prompt.conversations import APIS, step


def said(*texts: str) -> Conversation:
    """A conversation of user's messages."""
    return Conversation(Message("user", (Text(text),)) for text in texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A name that no file has yet."""
    return tmp_path / "talk.jsonl"


def test_a_conversation_comes_back_equal(path: Path) -> None:
    """Messages, digest and bytes."""
    rng = Random(5)
    for api in APIS:
        conversation = Conversation()
        for _ in range(12):
            step(rng, conversation, api)
        replace(conversation, path)
        assert load(path) == conversation
        assert load(path).messages == conversation.messages


def test_the_form_of_a_file_stays_as_it_is(path: Path) -> None:
    """Releases to come read what this one has written."""
    save(said("Where is order 7?"), path)
    assert path.read_text(encoding="utf-8") == (
        '{"stemcache":"conversation","version":1}\n'
        '{"message":{"speaker":"user","parts":[{"type":"text","text":"Where is order 7?"}]},'
        '"digest":"c9e21ccec476322f8efb8ae7ab1dad435f07aa575c4ace16a2938f387415e8d4"}\n'
    )


def test_saving_again_writes_only_what_is_missing(path: Path) -> None:
    """What is there is neither read whole nor written again."""
    conversation = said("a" * 100_000)
    assert save(conversation, path) == 1
    assert save(conversation, path) == 0
    before, inode = path.read_bytes(), path.stat().st_ino
    conversation.user("b")
    conversation.user("c")
    assert save(conversation, path) == 2
    after = path.read_bytes()
    assert after.startswith(before)
    assert len(after) - len(before) < 400
    assert path.stat().st_ino == inode
    assert load(path) == conversation


def test_an_empty_conversation_is_a_head_alone(path: Path) -> None:
    """And goes on as any other."""
    assert save(Conversation(), path) == 0
    assert load(path) == Conversation()
    assert save(said("a"), path) == 1
    assert load(path) == said("a")


def test_an_empty_file_is_made_a_conversation(path: Path) -> None:
    """As `tempfile` hands out."""
    path.touch()
    assert save(said("a"), path) == 1
    assert load(path) == said("a")


def test_a_file_with_half_of_a_surrogate_pair_is_read(path: Path) -> None:
    """One is not to be lost for it; what is sent of it tells the place."""
    message = Message("user", (Text("cut \ud83d"),))
    save(Conversation.of(grown(EMPTY, message)), path)
    assert load(path).messages == (message,)
    with pytest.raises(UsageError, match="the text of part 0 of message 0 has half of a"):
        Layout([]).request("openai", "gpt-5.6", load(path))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_readable_by_their_owner_alone(path: Path, mask: int) -> None:
    """Whatever the umask; a file that was open to others is closed to them."""
    before = os.umask(mask)
    try:
        save(said("a"), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        save(said("a", "b"), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        replace(said("c"), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_link_stays_a_link(path: Path) -> None:
    """What it leads to is written."""
    target = path.with_name("target.jsonl")
    path.symlink_to(target)
    save(said("a"), path)
    save(said("a", "b"), path)
    replace(said("c"), path)
    assert path.is_symlink()
    assert load(target) == said("c")


def test_nothing_is_left_beside_the_file(path: Path) -> None:
    """Also where writing fails."""
    save(said("a"), path)
    replace(said("b"), path)
    with pytest.raises(UsageError):
        replace(said("b"), path.parent)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_cut_anywhere_in_its_last_line_reads_as_before_it(path: Path) -> None:
    """A killed process leaves any part of a line; the next save cuts it off and goes on."""
    conversation = said("first é", "second 🧵", "third")
    save(conversation, path)
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for end in range(start + 1, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.warns(TornLineWarning, match=f"has no end: {end - start} bytes that a broken"):
            resumed = load(path)
        assert resumed == conversation.fork(2)
        with pytest.warns(TornLineWarning, match="give the message that was in it again"):
            assert save(conversation, path) == 1
        assert path.read_bytes() == whole


def test_what_a_power_cut_leaves_behind_the_last_line_is_dropped(path: Path) -> None:
    """File systems may have counted a file's bytes and not written them."""
    save(said("a"), path)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(5000))
    with pytest.warns(TornLineWarning):
        assert load(path) == said("a")


def test_a_long_line_without_an_end_is_cut_off_whole(path: Path) -> None:
    """Images make lines of megabytes."""
    save(said("a"), path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 300_000)
    with pytest.warns(TornLineWarning, match="300000 bytes"):
        assert save(said("a", "b"), path) == 1
    assert load(path) == said("a", "b")


def test_whole_files_bring_no_warning(path: Path) -> None:
    """Warnings are for what was lost."""
    save(said("a"), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


def test_warnings_name_the_caller_s_line(path: Path) -> None:
    """And not one of this package."""
    save(said("a"), path)
    with path.open("ab") as stream:
        stream.write(b"x")
    with pytest.warns(TornLineWarning) as of_load:
        load(path)
    with pytest.warns(TornLineWarning) as of_save:
        save(said("a"), path)
    assert of_load[0].filename == of_save[0].filename == __file__


def test_any_changed_byte_is_found(path: Path) -> None:
    """In a message, in a digest, in the head; the error names the line."""
    save(said("a", "b", "c"), path)
    whole = path.read_bytes()
    for at in range(len(whole) - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        path.write_bytes(changed)
        line = whole[:at].count(b"\n") + 1
        with pytest.raises(UsageError, match=rf"line {line}\b") as error:
            load(path)
        assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("lines", [(0, 2, 3), (0, 1, 3), (0, 2, 1, 3), (0, 1, 1, 2, 3), (0, 3)])
def test_lines_that_are_lost_moved_or_doubled_are_found(path: Path, lines: tuple[int, ...]) -> None:
    """Each by the digest of all before it."""
    save(said("a", "b", "c"), path)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[at] for at in lines))
    with pytest.raises(UsageError, match="is not the message that was written behind the lines"):
        load(path)


def test_lines_of_another_conversation_are_found(path: Path) -> None:
    """As where two files were joined."""
    save(said("a", "b"), path)
    other = path.with_name("other.jsonl")
    save(said("x", "b"), other)
    path.write_bytes(path.read_bytes() + other.read_bytes().splitlines(keepends=True)[2])
    with pytest.raises(UsageError, match="line 4 is not the message that was written"):
        load(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "line 2 is no JSON (Expecting property name"),
        (b"\xff", "line 2 is no JSON ('utf-8' codec can't decode"),
        (b"[" * 100_000, "line 2 is no "),
        (b"[]", "line 2 is no message (Expected `object`, got `array`)"),
        (b"", "line 2 is no JSON (Expecting value"),
        (b'{"message":{"speaker":"user","parts":[]}}', "line 2 is no message (Object missing"),
        (b'{"message":5,"digest":""}', "line 2 is no message (Expected `object`, got `int`)"),
        (
            b'{"message":{"speaker":"user","parts":[{"type":"x"}]},"digest":""}',
            "line 2 is no message (Invalid value 'x' - at `$.parts[0].type`)",
        ),
        (
            b'{"message":{"speaker":"user","parts":[]},"digest":""}',
            "line 2 is not the message that was written",
        ),
    ],
)
def test_lines_that_were_never_written_are_told_with_their_number(
    path: Path, line: bytes, problem: str
) -> None:
    """And what to do about them."""
    path.write_bytes(b'{"stemcache":"conversation","version":1}\n' + line + b"\n")
    with pytest.raises(UsageError) as error:
        load(path)
    assert problem in str(error.value)
    assert str(error.value).endswith("restore the file, or delete this line and all behind it")
    assert len(str(error.value)) < len(str(path)) + 260


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (
            b"hello\n",
            "line 1 does not begin a conversation; name a file that stemcache.prompt saved",
        ),
        (b"[" * 200 + b"\n", "line 1 does not begin a conversation"),
        (b"x" * 10_000, "line 1 does not begin a conversation"),
        (b'{"stemcache":"lock","version":1}\n', "line 1 does not begin a conversation"),
        (
            b'{"stemcache":"conversation","version":2}\n',
            "of form 2, and this stemcache reads 1; upda",
        ),
        (b'{"stemcache":"conversation","version":0}\n', "line 1 is no head of form 1; restore the"),
        (b'{"stemcache":"conversation", "version":1}\n', "line 1 is no head of form 1; restore"),
        (b'{"stemcache":"conversation","version":1}', "line 1 is no head of form 1; restore"),
    ],
)
def test_files_that_are_no_conversations_are_told_to_be_none(
    path: Path, head: bytes, problem: str
) -> None:
    """By reading, and before anything is appended."""
    path.write_bytes(head)
    with pytest.raises(UsageError) as error:
        load(path)
    assert problem in str(error.value)
    with pytest.raises(UsageError):
        save(said("a"), path)
    assert path.read_bytes() == head


def test_a_message_without_parts_is_told_even_with_its_digest(path: Path) -> None:
    """No conversation takes one."""
    end = grown(EMPTY, Message("user", ()))
    path.write_bytes(HEAD + line_of(end))
    with pytest.raises(UsageError, match="line 2 is a message without parts; restore the file"):
        load(path)


def test_what_cannot_be_opened_is_told(path: Path) -> None:
    """Missing files and directories, things that are no files, names that are none."""
    with pytest.raises(UsageError, match=r"cannot be used for a conversation: No such file"):
        load(path)
    with pytest.raises(UsageError, match=r"No such file or directory; name a file in a directory"):
        save(said("a"), path / "deeper")
    path.touch()
    with pytest.raises(UsageError, match=r"is empty; name a file that stemcache.prompt saved"):
        load(path)
    with pytest.raises(UsageError, match="is no regular file; name a file for the conversation"):
        load(path.parent)
    with pytest.raises(UsageError, match="is no regular file"):
        save(said("a"), path.parent)
    with pytest.raises(UsageError, match="null"):
        load("a\0b")
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    for verb in (lambda: load(pipe), lambda: save(said("a"), pipe), lambda: replace(said(), pipe)):
        with pytest.raises(UsageError, match="is no regular file"):
            verb()


def test_a_file_that_is_too_large_is_not_read(path: Path) -> None:
    """Whoever has such ones says so."""
    save(said("a"), path)
    with pytest.raises(UsageError, match="is larger than 20 bytes; pass most_bytes where"):
        load(path, most_bytes=20)
    assert load(path, most_bytes=1000) == said("a")


def test_another_conversation_is_never_mixed_in(path: Path) -> None:
    """The error says from which message on it is another."""
    save(said("a", "b", "c"), path)
    before = path.read_bytes()
    with pytest.raises(UsageError) as error:
        save(said("a", "x"), path)
    assert str(error.value) == (
        f"{path} holds another conversation, which differs from message 1 on; save to another "
        "file, or replace() it"
    )
    with pytest.raises(UsageError) as error:
        save(said("a"), path)
    assert str(error.value) == (
        f"{path} goes on where the conversation ends: it has 3 messages, this one 1; load it and "
        "go on from there, or save to another file"
    )
    assert path.read_bytes() == before
    replace(said("a", "x"), path)
    assert load(path) == said("a", "x")


def test_a_last_line_without_a_digest_is_told(path: Path) -> None:
    """It was written by somebody else."""
    save(said("a"), path)
    with path.open("ab") as stream:
        stream.write(b'{"message":{}}\n')
    with pytest.raises(UsageError, match=r"the last line of .* has no digest; restore the file"):
        save(said("a", "b"), path)


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of the line is cut off again."""
    save(said("a"), path)
    before = path.read_bytes()
    write = os.write

    def full(descriptor: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:90])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="cannot be used for a conversation: No space left"):
        save(said("a", "b" * 200), path)
    with pytest.raises(UsageError, match="No space left on device"):
        replace(said("x" * 200), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_sync_asks_the_disk_before_it_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the file, and for its name where that is new; without, nobody waits."""
    asked = list[int]()
    monkeypatch.setattr(os, "fsync", lambda one: asked.append(os.fstat(one).st_mode))
    save(said("a"), path)
    assert asked == []
    save(said("a", "b"), path, sync=True)
    assert [stat.S_ISREG(mode) for mode in asked] == [True]
    asked.clear()
    replace(said("c"), path)
    assert [stat.S_ISREG(mode) for mode in asked] == [True, False]
    asked.clear()
    save(said("a"), path.with_name("other.jsonl"), sync=True)
    assert [stat.S_ISREG(mode) for mode in asked] == [True, False]


def _append(path: Path, number: int, count: int) -> None:
    done = 0
    while done < count:
        try:
            conversation = load(path)
            conversation.user(f"{number}: {done} " + "x" * 5000)
            save(conversation, path)
        except (UsageError, TornLineWarning):  # another was first, or is writing
            continue
        done += 1


def _appended(path: Path, number: int, count: int) -> None:
    """In a process that prints to nobody."""
    try:
        _append(path, number, count)
    except BaseException:
        path.with_suffix(f".{number}.failed").write_text(traceback.format_exc())
        raise


def test_processes_that_write_at_once_never_mix_their_lines(path: Path) -> None:
    """Each goes on from what it has read, or is refused."""
    save(Conversation(), path)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_appended, args=(path, i, 15)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [said.read_text() for said in path.parent.glob("*.failed")] == []
    assert [process.exitcode for process in processes] == [0, 0, 0]
    texts = [part.text for message in load(path).messages for part in message.parts]  # type: ignore[union-attr]
    for number in range(3):
        mine = [text.split()[1] for text in texts if text.startswith(f"{number}: ")]
        assert mine == [str(i) for i in range(15)]


def test_two_processes_that_make_the_file_at_once_do_not_lose_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second finds the first one's, and goes on from it or is refused."""
    link = Path.hardlink_to

    def raced(self: Path, other: Path) -> None:
        monkeypatch.undo()
        save(said("a"), path)
        link(self, other)

    monkeypatch.setattr(Path, "hardlink_to", raced)
    assert save(said("a", "b"), path) == 1
    assert load(path) == said("a", "b")


def test_a_file_that_is_replaced_while_one_waits_for_it_is_opened_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines must not go into a file that has no name any more."""
    save(said("a"), path)
    lock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.undo()
        replace(said("a", "b"), path)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert save(said("a", "b", "c"), path) == 1
    assert load(path) == said("a", "b", "c")


def test_a_file_that_is_removed_while_one_waits_for_it_is_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a clean-up."""
    save(said("a"), path)
    lock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.undo()
        path.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert save(said("a", "b"), path) == 2
    assert load(path) == said("a", "b")


def test_random_lives_of_files_agree_with_lists_of_messages(path: Path) -> None:
    """Saves, loads, torn lines, replacements and refusals beside a list."""
    rng = Random(11)
    held = list[str]()
    replace(Conversation(), path)
    for _ in range(300):
        match rng.randrange(5):
            case 0 | 1:
                conversation = load(path)
                more = [rng.choice("abc") for _ in range(rng.randrange(3))]
                for text in more:
                    conversation.user(text)
                assert save(conversation, path) == len(more)
                held += more
            case 2:
                with path.open("ab") as stream:
                    stream.write(b'{"message":{"speaker":"us'[: rng.randrange(1, 25)])
                with pytest.warns(TornLineWarning):
                    assert load(path) == said(*held)
                with pytest.warns(TornLineWarning):
                    save(said(*held), path)
            case 3:
                held = [rng.choice("abc") for _ in range(rng.randrange(4))]
                replace(said(*held), path)
            case 4:
                other = [rng.choice("abc") for _ in range(rng.randrange(6))]
                if other[: len(held)] == held:
                    assert save(said(*other), path) == len(other) - len(held)
                    held = other
                else:
                    with pytest.raises(UsageError):
                        save(said(*other), path)
        assert load(path) == said(*held)


def test_files_are_lines_of_json_for_any_reader(path: Path) -> None:
    """UTF-8, one object a line."""
    save(said("é\n\u2028"), path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    assert [sorted(json.loads(line)) for line in lines] == [
        ["stemcache", "version"],
        ["digest", "message"],
    ]
