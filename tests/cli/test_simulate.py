import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.errors import UsageError

# Two conversations behind one system prompt (block 1), then the first of them goes on.
TRACE = [
    {"timestamp": 0, "input_length": 1536, "output_length": 5, "hash_ids": [1, 2, 3]},
    {"timestamp": 1000, "input_length": 1100, "output_length": 5, "hash_ids": [1, 4, 5]},
    {"timestamp": 400_000, "input_length": 2048, "output_length": 5, "hash_ids": [1, 2, 3, 6]},
]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A Mooncake trace."""
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TRACE))
    return str(path)


def run(*arguments: str, code: int = 0) -> str:
    """What the command printed on stdout."""
    result = CliRunner().invoke(stemcache, ["simulate", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def answer(*arguments: str) -> Any:
    """The JSON form."""
    return json.loads(run(*arguments, "--output-format", "json"))


def test_the_json_has_what_was_promised(trace: str) -> None:
    """Trace, requests, ideal, and a row for each cache in the order asked."""
    told = answer(trace, "--capacity", "2,inf", "--policy", "lru,min")
    assert told["trace"] == trace
    assert told["requests"] == 3
    assert told["ideal"]["block_hit_rate"] == pytest.approx(0.4)
    assert told["ideal"]["token_hit_rate"] == pytest.approx((512 + 1536) / 4684, abs=1e-6)
    assert [(r["policy"], r["capacity_blocks"], r["ttl_s"]) for r in told["results"]] == [
        ("lru", 2, None),
        ("lru", None, None),
        ("min", 2, None),
        ("min", None, None),
    ]
    assert all({"block_hit_rate", "token_hit_rate"} <= set(row) for row in told["results"])


def test_times_to_live_are_rows(trace: str) -> None:
    """Without a capacity there is no bound; inf is null."""
    rows = answer(trace, "--ttl", "5m,inf")["results"]
    assert [(row["capacity_blocks"], row["ttl_s"]) for row in rows] == [(None, 300), (None, None)]
    assert rows[0]["block_hit_rate"] == pytest.approx(0.1)
    assert rows[1]["block_hit_rate"] == pytest.approx(0.4)


def test_people_get_a_table_and_what_follows_from_it(trace: str) -> None:
    """Facts, rows, and the capacities that matter."""
    shown = " ".join(run(trace).split())
    assert "3 requests, over 6.7 min" in shown
    assert "ideal hit rate 43.7% of tokens, 40.0% of blocks" in shown
    assert "lru reaches 50% of the ideal at 1 block (512 tokens), 90%" in shown
    assert "min" in shown


def test_a_line_each_for_grep(trace: str) -> None:
    """The concise form."""
    lines = run(trace, "--capacity", "2", "--policy", "lru", "--output-format", "concise")
    assert lines.splitlines() == [
        "ideal block=0.400000 token=0.437233",
        "lru capacity=2 ttl=inf block=0.200000 token=0.218617",
    ]


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    """No cache of prefixes will help."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"timestamp":0,"input_length":512,"output_length":1,"hash_ids":[1]}\n')
    assert "No prompt begins as an earlier one does" in run(str(path))


def test_blocks_are_merged_and_split(trace: str) -> None:
    """Two of the trace's make one, or one makes four."""
    assert answer(trace, "--merge-blocks", "2")["block_size"] == 1024
    assert answer(trace, "--split-blocks", "4")["block_size"] == 128


def test_engine_rules_leave_out_partial_blocks(trace: str) -> None:
    """Of the second prompt two blocks are full."""
    assert answer(trace)["blocks"] == 10
    assert answer(trace, "--engine-rules")["blocks"] == 9


def test_a_trace_comes_from_a_pipe_too(trace: str) -> None:
    """Gzip as well as plain."""
    result = CliRunner().invoke(
        stemcache,
        ["simulate", "-", "--output-format", "json"],
        input=gzip.compress(Path(trace).read_bytes()),
    )
    assert json.loads(result.stdout)["trace"] == "standard input"


def test_bad_lines_stop_or_are_counted(trace: str) -> None:
    """Never silence."""
    with Path(trace).open("a") as file:
        file.write("{broken\n")
    stopped = CliRunner().invoke(stemcache, ["simulate", trace])
    assert stopped.exception is not None
    assert "line 4" in str(stopped.exception)
    assert answer(trace, "--skip-bad-lines")["skipped_lines"] == 1


def test_sessions_are_put_on_one_clock(tmp_path: Path) -> None:
    """Their requests meet in one cache then."""
    path = tmp_path / "sessions.jsonl"
    with path.open("w") as file:
        for name in ("a", "b", "c"):
            requests = [{"t": t, "in": 128, "out": 1, "rle": [1, 2]} for t in (0.0, 9.0)]
            file.write(json.dumps({"id": name, "block_size": 64, "requests": requests}) + "\n")
    assert answer(str(path))["caches"] == "one a session"
    together = answer(str(path), "--multiplex", "2", "--within", "1s", "--cut", "1h")
    assert (together["caches"], together["requests"]) == ("one", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capacity", "many"], "'many' is no capacity; use blocks (5000, 50k), tokens (4Mtok), "),
        (["--capacity", "0"], "'0' holds nothing; use 1 block or more"),
        (["--capacity", "5,5"], "'5' is there twice; leave one out"),
        (["--capacity", "1e15,9e15"], "'9e15' is more than any memory; use inf for no bound"),
        (["--html", "-"], "--html needs the name of a file, such as report.html"),
        (["--html", "."], "--html needs the name of a file, such as report.html"),
        (["--html", "none/there.html"], "is in a directory that does not exist; make it first"),
        (["--seed", "5"], "--seed is given without --multiplex"),
        (["--ttl", "soon"], "'soon' is no duration; use a number with a unit: 90s, 2h"),
        (["--policy", "best"], "'best' is not one of"),
    ],
)
def test_flags_that_mean_nothing_are_refused(
    trace: str, arguments: list[str], message: str
) -> None:
    """With what to write instead."""
    result = CliRunner().invoke(stemcache, ["simulate", trace, *arguments])
    assert isinstance(result.exception, UsageError) or result.exit_code == 2
    assert message in " ".join(f"{result.output} {result.exception}".split())


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", 60), ("1.5h", 5400), ("250ms", 0.25), ("2d", 172_800)]
)
def test_durations_have_units(trace: str, text: str, seconds: float) -> None:
    """Or are seconds."""
    assert answer(trace, "--ttl", text)["results"][0]["ttl_s"] == seconds


def test_a_page_with_plots_is_written(trace: str, tmp_path: Path) -> None:
    """Beside the answer."""
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    run(trace, "--html", str(page))
    assert "<svg" in page.read_text()


def test_memory_is_a_capacity_with_the_size_of_a_token(trace: str) -> None:
    """One MiB of KV at 1 KiB a token is two blocks."""
    rows = answer(trace, "--capacity", "1MiB", "--kv-bytes-per-token", "1KiB")["results"]
    assert {row["capacity_blocks"] for row in rows} == {2}


def test_the_trace_is_never_written_over(trace: str, tmp_path: Path) -> None:
    """Nor any file that is no page; an earlier page is."""
    before = Path(trace).read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(trace)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for path, message in (
        (trace, "is the file that is read"),
        (str(link), "is the file that is read"),
        (str(other), "exists and is no HTML page"),
    ):
        result = CliRunner().invoke(stemcache, ["simulate", trace, "--html", path])
        assert message in str(result.exception)
    assert Path(trace).read_bytes() == before
    assert other.read_text() == "mine"
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>old")
    run(trace, "--html", str(page))
    assert "old" not in page.read_text()[:20]


def test_a_flag_that_changed_nothing_is_told(trace: str) -> None:
    """The trace names no tenant."""
    result = CliRunner().invoke(stemcache, ["simulate", trace, "--isolate-tenants"])
    assert "names no tenant, so --isolate-tenants changed nothing" in result.stderr


def test_prompts_shorter_than_a_block_are_not_said_to_differ(tmp_path: Path) -> None:
    """They are equal, and a block is too large to see it."""
    path = tmp_path / "t.jsonl"
    line = '{"timestamp":0,"input_length":500,"output_length":1,"hash_ids":[1]}\n'
    path.write_text(line * 2)
    shown = " ".join(run(str(path), "--engine-rules").split())
    assert "No prompt is as long as a block of 512 tokens: try smaller blocks." in shown


@pytest.mark.parametrize("columns", ["20", "40", "80", "200"])
def test_no_digit_is_cut_however_narrow_the_terminal(trace: str, columns: str) -> None:
    """What can be spared goes first, then lines grow."""
    arguments = ["simulate", trace, "--capacity", "123456", "--policy", "lru,min"]
    shown = CliRunner().invoke(stemcache, arguments, env={"COLUMNS": columns}).stdout
    assert "123,456" in shown
    assert "43.7%" in shown
    assert ("63.2M" in shown) == (int(columns) >= 80)


def test_tenants_have_a_table_of_the_policy_that_is_run(tmp_path: Path) -> None:
    """Before the optimum, and at capacities that span what was asked; names are made safe."""
    path = tmp_path / "t.jsonl"
    lines = [{**line, "tenant": "evil\x1b[31m\nname"} for line in TRACE for _ in range(2)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = run(str(path))
    assert "\x1b" not in shown
    assert "\\x1b[31m\\nname" in shown
    table = shown[shown.index("\ntenant") :]
    assert "lru" in table
    assert "min" not in table[: table.index("evil")]
