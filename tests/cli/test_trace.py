import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.trace.key import load_key
from stemcache.trace.record import TraceRequest
from tests.cli.trace_runs import fails, run
from tests.trace.traces import DATA, read, same, shared_blocks, write_lines

SECRETS = ("harbour", "ferry", "ann", "bob", "small", "trace_0003", "2026-03", "assistant")


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a plain trace."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def relation(requests: list[TraceRequest]) -> list[int]:
    """What every pair shares."""
    return [shared_blocks(one, other) for one in requests for other in requests]


@pytest.mark.parametrize("name", ["mooncake", "bailian", "sessions", "bodies"])
def test_every_trace_converts_to_one_that_says_the_same(name: str, tmp_path: Path) -> None:
    """Compressed as its name asks, and told on stderr."""
    source, target = DATA / f"{name}.jsonl", tmp_path / "out.jsonl.gz"
    done = run("convert", source, target)
    count = len(read(source))
    assert (done.code, done.out) == (0, "")
    first, *others = done.err.splitlines()
    assert first == f"wrote {count} requests to {target}"
    assert others == (
        [
            (
                "this is not anonymised: tenants and sessions are named, and prompts can be "
                "guessed from their ids; to share it, use stemcache trace anonymize"
            )
        ]
        if name == "bodies"
        else []
    )
    assert target.read_bytes().startswith(b"\x1f\x8b")
    assert all(map(same, read(target), read(source)))


def test_a_trace_goes_through_pipes() -> None:
    """From standard input to standard output, which holds nothing else."""
    raw = gzip.compress((DATA / "mooncake.jsonl").read_bytes())
    done = run("convert", "-", "-", "--limit", "2", stdin=raw)
    assert (done.code, done.err) == (0, "wrote 2 requests to standard output\n")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["input_length"] for line in lines] == [2290, 2012]


def test_blocks_are_shrunk_and_long_prompts_left_out(tmp_path: Path) -> None:
    """After the limit, by their new lengths, and counted."""
    target = tmp_path / "out"
    done = run(
        "convert", DATA / "mooncake.jsonl", target,
        "--limit", 4, "--tokens-per-block", 32, "--max-prompt-tokens", 128,
    )  # fmt: skip
    assert done.err == (
        f"wrote 3 requests to {target}\nleft out 1 prompts of more than 128 tokens\n"
    )
    assert [(line["input_length"], line["block_size"]) for line in records(target)] == [
        (128, 32),
        (96, 32),
        (128, 32),
    ]


def test_sessions_are_put_on_one_clock(tmp_path: Path) -> None:
    """In order of time; another seed starts them at other moments."""
    times = []
    for seed in (0, 0, 1):
        target = tmp_path / "out"
        done = run(
            "convert", DATA / "sessions.jsonl", target, "--force",
            "--multiplex", 2, "--within", "10m", "--cut", "inf", "--seed", seed,
        )  # fmt: skip
        assert done.code == 0
        found = read(target)
        assert len(found) == 10
        assert not any(one.session_clock for one in found)
        times.append([one.arrival_s for one in found])
    assert times[0] == times[1] != times[2]
    assert times[0] == sorted(times[0], key=lambda time: time or 0.0)


def test_a_trace_is_sorted_if_asked_for(tmp_path: Path) -> None:
    """By time."""
    lines = records(DATA / "mooncake.jsonl")
    path = write_lines(tmp_path / "in", reversed(lines))
    assert run("convert", path, tmp_path / "out", "--sort").code == 0
    assert records(tmp_path / "out") == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--within", "1h"],
            "--within is given without --multiplex; add it, or leave --within out",
        ),
        (["--cut", "1h"], "--cut is given without --multiplex; add it, or leave --cut out"),
        (["--seed", "1"], "--seed is given without --multiplex; add it, or leave --seed out"),
        (["--multiplex", "1", "--within", "inf"], "--within is inf; use a window with an end"),
        (
            ["--multiplex", "9"],
            "--multiplex asks for 9 sessions, but the trace has 2; ask for fewer",
        ),
        (
            ["--sort"],
            (
                "--sort compares times, but sessions of this trace have clocks of their own; "
                "use --multiplex, which sorts them"
            ),
        ),
        (
            ["--sort", "--multiplex", "2"],
            "--multiplex gives requests in order of time; leave --sort out",
        ),
    ],
)
def test_flags_that_would_do_nothing_or_wrong_are_told(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    """And nothing is written."""
    said = fails("convert", DATA / "sessions.jsonl", tmp_path / "out", *arguments)
    assert said == f"stemcache: {message}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["convert", "anonymize"])
def test_a_file_is_not_written_over_unless_forced(command: str, tmp_path: Path) -> None:
    """Told before anything is read; and never the trace itself."""
    target = tmp_path / "out"
    target.write_text("kept")
    assert fails(command, tmp_path / "none", target) == (
        f"stemcache: {target} exists; give another name, or --force to write over it"
    )
    assert run(command, DATA / "mooncake.jsonl", target, "--force").code == 0
    assert fails(command, target, target, "--force") == (
        f"stemcache: {target} is the trace that is read; write to another file"
    )


@pytest.mark.parametrize("command", ["convert", "anonymize"])
def test_a_bad_line_leaves_no_file(command: str, tmp_path: Path) -> None:
    """Neither whole nor in part."""
    path = write_lines(tmp_path / "in", [*records(DATA / "mooncake.jsonl"), "{"])
    assert fails(command, path, tmp_path / "out") == (
        f"stemcache: {path}, line 6: the JSON ends early; mend the line, or leave such lines out "
        "with --skip-bad-lines"
    )
    assert list(tmp_path.iterdir()) == [path]
    done = run(command, path, tmp_path / "out", "--skip-bad-lines")
    assert done.code == 0
    assert done.err.startswith(f"skipped 1 bad line of {path}:\n  line 6: the JSON ends early\n")


@pytest.mark.parametrize("name", ["mooncake", "bailian", "sessions", "bodies"])
def test_an_anonymised_trace_shares_exactly_what_the_true_one_does(
    name: str, tmp_path: Path
) -> None:
    """With its times and lengths, without a word of it."""
    target = tmp_path / "out"
    done = run("anonymize", DATA / f"{name}.jsonl", target)
    assert done.code == 0
    true, hidden = read(DATA / f"{name}.jsonl"), read(target)
    assert relation(hidden) == relation(true)
    for one, other in zip(true, hidden, strict=True):
        assert (one.arrival_s, one.prompt_tokens, one.output_tokens) == (
            other.arrival_s, other.prompt_tokens, other.output_tokens,
        )  # fmt: skip
        assert (one.tenant is None) == (other.tenant is None)
    text = target.read_text()
    assert not [word for word in SECRETS if word in text]
    allowed = {
        "timestamp", "session_timestamp", "input_length", "output_length", "hash_ids", "tenant",
        "block_size", "unit", "session_id",
    }  # fmt: skip
    assert set().union(*records(target)) <= allowed
    assert ("session_id" in text) == (name == "sessions")


def test_a_key_makes_traces_joinable(tmp_path: Path) -> None:
    """The file is made once and told; without one, the key is forgotten and that is told."""
    key = tmp_path / "key"
    first = run("anonymize", DATA / "bodies.jsonl", tmp_path / "a", "--key", key)
    again = run("anonymize", DATA / "bodies.jsonl", tmp_path / "b", "--key", key)
    other = run("anonymize", DATA / "bodies.jsonl", tmp_path / "c")
    assert first.err == (
        f"made the key file {key}; keep it secret\nwrote 3 requests to {tmp_path}/a\n"
    )
    assert again.err == f"wrote 3 requests to {tmp_path}/b\n"
    assert other.err == (
        f"wrote 3 requests to {tmp_path}/c\n"
        "used a random key and forgot it: no other trace can be joined with this one; "
        "to be able to, give a --key\n"
    )
    texts = [(tmp_path / name).read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    assert key.read_bytes().hex() not in texts[0]


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    said = fails("anonymize", DATA / "bodies.jsonl", tmp_path / "a", "--key", key)
    assert said == (
        f"stemcache: the key file {key} from --key has mode 644, so others may read or change "
        f"it; run: chmod 600 {key}"
    )
    assert list(tmp_path.iterdir()) == [key]


def test_sessions_are_kept_if_asked_for(tmp_path: Path) -> None:
    """Under other names."""
    run("anonymize", DATA / "bailian.jsonl", tmp_path / "a", "--keep-sessions")
    true, hidden = read(DATA / "bailian.jsonl"), read(tmp_path / "a")
    names = {one.session: other.session for one, other in zip(true, hidden, strict=True)}
    assert len(names) == len(set(names.values())) == 2
    assert not set(names) & set(names.values())


def test_simulating_an_anonymised_trace_gives_the_same_figures(tmp_path: Path) -> None:
    """Capacity, policy and optimum see no difference."""
    run("anonymize", DATA / "mooncake.jsonl", tmp_path / "a")
    answers = []
    for path in (DATA / "mooncake.jsonl", tmp_path / "a"):
        flags = ["--capacity", "4,8,inf", "--policy", "lru,min", "--output-format", "json"]
        done = CliRunner().invoke(stemcache, ["simulate", str(path), *flags])
        assert done.exit_code == 0
        answers.append(json.loads(done.stdout) | {"trace": "either"})
    assert answers[0] == answers[1]
    assert answers[0]["ideal"]["block_hit_rate"] > 0


def test_exit_codes_are_those_of_the_command_line(tmp_path: Path) -> None:
    """0, and 2 for a trace that cannot be read, without a traceback."""
    for path, code in ((DATA / "mooncake.jsonl", 0), (tmp_path / "none", 2)):
        done = subprocess.run(
            [sys.executable, "-m", "stemcache", "trace", "info", str(path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code
        assert "Traceback" not in done.stderr


def test_help_has_examples() -> None:
    """The group and each of its commands show how they are used."""
    for arguments in (["--help"], *([name, "--help"] for name in ("info", "convert", "anonymize"))):
        done = run(*arguments)
        assert done.code == 0
        assert "Examples:" in done.out


def test_sorting_without_times_is_told(tmp_path: Path) -> None:
    """It would do nothing."""
    path = write_lines(tmp_path / "in", [{"input_length": 0, "hash_ids": []}])
    assert fails("convert", path, tmp_path / "out", "--sort") == (
        "stemcache: --sort compares times, but this trace has none; leave it out"
    )
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "sessions",
            (
                "--keep-sessions does nothing where times count from sessions' starts: they are "
                "kept; leave it out"
            ),
        ),
        ("mooncake", "--keep-sessions does nothing: no request has a session; leave it out"),
    ],
)
def test_keeping_sessions_is_refused_where_it_does_nothing(
    name: str, message: str, tmp_path: Path
) -> None:
    """And nothing is written."""
    said = fails("anonymize", DATA / f"{name}.jsonl", tmp_path / "out", "--keep-sessions")
    assert said == f"stemcache: {message}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("there", [True, False])
def test_a_key_is_not_written_over_with_the_trace(there: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Nor made where the trace is to go; forcing changes nothing."""
    key = tmp_path / "key"
    if there:
        load_key(key)
    before = key.read_bytes() if there else None
    said = fails("anonymize", DATA / "bodies.jsonl", key, "--key", key, "--force")
    assert said == (
        f"stemcache: {key} from --key is the file that the trace is written to; "
        "give the key a file of its own"
    )
    assert (key.read_bytes() if key.exists() else None) == before
    assert len(list(tmp_path.iterdir())) == there


def test_a_key_is_made_only_where_the_trace_can_be_written(tmp_path: Path) -> None:
    """A refused output leaves no stray key, nor does a trace that is none."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    for source, target in (
        (DATA / "bodies.jsonl", kept),
        (DATA / "bodies.jsonl", tmp_path / "none" / "out"),
        (tmp_path / "none", tmp_path / "out"),
        (kept, tmp_path / "out"),
    ):
        assert fails("anonymize", source, target, "--key", tmp_path / "key").startswith("stemcache")
        assert list(tmp_path.iterdir()) == [kept]


def test_names_of_files_are_safe_to_print(tmp_path: Path) -> None:
    """Those of the output and of a key."""
    done = run(
        "anonymize", DATA / "mooncake.jsonl", tmp_path / "o\x1bo", "--key", tmp_path / "k\nk"
    )
    assert done.err == (
        f"made the key file {tmp_path}/k\\nk; keep it secret\n"
        f"wrote 5 requests to {tmp_path}/o\\x1bo\n"
    )
