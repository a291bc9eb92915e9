"""`stemcache simulate --replicas`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.errors import UsageError
from stemcache.policy import route

# Two conversations behind one system prompt (block 1) that take turns, ten seconds apart.
TRACE = [
    {"timestamp": 0, "input_length": 1536, "output_length": 51, "hash_ids": [1, 2, 3]},
    {"timestamp": 10_000, "input_length": 1100, "output_length": 5, "hash_ids": [1, 4, 5]},
    {"timestamp": 20_000, "input_length": 2048, "output_length": 5, "hash_ids": [1, 2, 3, 6]},
    {"timestamp": 30_000, "input_length": 1536, "output_length": 5, "hash_ids": [1, 4, 5]},
]
FLEET = ("--replicas", "2", "--capacity", "100")


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A Mooncake trace."""
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in TRACE))
    return str(path)


def run(*arguments: str) -> str:
    """What the command printed on stdout."""
    result = CliRunner().invoke(stemcache, ["simulate", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def answer(*arguments: str) -> Any:
    """The JSON form."""
    return json.loads(run(*arguments, "--output-format", "json"))


def refused(*arguments: str) -> str:
    """What was wrong with a command that was not obeyed."""
    result = CliRunner().invoke(stemcache, ["simulate", *arguments])
    if isinstance(result.exception, UsageError):
        return str(result.exception)
    assert result.exit_code == 2, result.output
    return result.output


def test_the_json_has_a_row_for_each_routing_in_the_order_asked(trace: str) -> None:
    """Beside one large cache and the ideal."""
    told = answer(trace, *FLEET, "--routing", "round-robin,auto")
    assert [row["routing"] for row in told["results"]] == ["round-robin", "auto"]
    assert told["fleet"]["replicas"] == 2
    assert told["requests"] == 4
    assert told["skipped_lines"] == 0
    assert told["ideal"]["block_hit_rate"] == pytest.approx(7 / 13, abs=1e-6)
    assert told["one_cache"]["capacity_blocks"] == 200
    first = told["results"][0]
    assert first["block_hit_rate"] == pytest.approx(6 / 13, abs=1e-6)
    assert [each["requests"] for each in first["replicas"]] == [2, 2]
    assert first["reasons"] == {"turn": 4}


def test_times_to_first_token_follow_from_the_rates(trace: str) -> None:
    """1,000 tokens a second and 10 ms: 1.546, 1.11, .522 and .01 s: all of the last is cached."""
    told = answer(
        trace, *FLEET, "--routing", "round-robin", "--prefill-rate", "1000", "--overhead", "10ms"
    )
    waits = told["results"][0]["ttft_s"]
    assert waits == {"mean": 0.797, "p50": 0.522, "p90": 1.546, "p99": 1.546, "max": 1.546}


@pytest.mark.parametrize("name", route.NAMES)
def test_every_routing_of_the_gateway_can_be_simulated(trace: str, name: str) -> None:
    """By the same name, and it serves every request."""
    (row,) = answer(trace, *FLEET, "--routing", name)["results"]
    assert row["routing"] == name
    assert sum(each["requests"] for each in row["replicas"]) == 4
    assert sum(row["reasons"].values()) == 4


def test_one_replica_and_one_client_find_what_one_cache_does(trace: str) -> None:
    """As without --replicas, by engines' rules and without them."""
    for rules in ((), ("--engine-rules",)):
        for capacity in ("3", "4", "100"):
            plain = answer(trace, "--capacity", capacity, "--policy", "lru", *rules)["results"][0]
            fleet = answer(
                trace, "--replicas", "1", "--concurrency", "1", "--capacity", capacity, *rules
            )
            assert {row["hit_tokens"] for row in fleet["results"]} == {plain["hit_tokens"]}


def test_people_get_tables_and_why_requests_went_where_they_went(trace: str) -> None:
    """Facts, hit rates and waits, what each replica got, reasons."""
    shown = " ".join(run(trace, *FLEET).split())
    assert "4 requests over 30 s, 6,220 prompt tokens, 6 distinct blocks of 512" in shown
    assert (
        "2 replicas with 100 blocks each (lru), prefill at 8,000 tokens/s and 20 ms, answers at "
        "50/s in 64 slots; one gateway with knowledge of what replicas hold"
    ) in shown
    assert "hit rate of one cache as large as all: " in shown
    assert "round-robin: 100% turn; its predictions were 0.00% off" in shown


def test_the_facts_name_what_is_unusual(trace: str) -> None:
    """Clients, gateways, guesses, no bounds, speed and spreading."""
    closed = " ".join(
        run(
            *(trace, "--replicas", "1", "--capacity", "inf", "--concurrency", "2"),
            *("--gateways", "2", "--agree", "hash", "--knowledge", "guess"),
            *("--decode-rate", "inf", "--slots", "1"),
        ).split()
    )
    assert "4 requests from 2 clients that wait for their answers" in closed
    assert "1 replica with no bound each (lru)" in closed
    assert "answers at once in 1 slot; 2 gateways (hash) with knowledge of what was sent" in closed
    timed = " ".join(run(trace, *FLEET, "--speed", "2", "--spread", "3s").split())
    assert "over 30 s, 2 times as fast, those of one moment spread over 3 s" in timed


def test_a_line_each_for_grep(trace: str) -> None:
    """The concise form."""
    lines = run(
        *(trace, *FLEET, "--routing", "round-robin", "--output-format", "concise"),
        *("--prefill-rate", "1000", "--overhead", "10ms"),
    )
    assert lines.splitlines() == [
        "ideal block=0.538462 token=0.576206",
        "one-cache block=0.538462 token=0.576206",
        (
            "round-robin block=0.461538 token=0.493891 ttft_mean=0.797000 ttft_p50=0.522000 "
            "ttft_p90=1.546000 ttft_p99=1.546000 max_over_mean=1.000000"
        ),
    ]


@pytest.mark.parametrize(
    "flags",
    [
        ("--routing", "auto"),
        ("--prefill-rate", "1000"),
        ("--overhead", "10ms"),
        ("--decode-rate", "30"),
        ("--slots", "3"),
        ("--speed", "2"),
        ("--spread", "3s"),
        ("--concurrency", "3"),
        ("--knowledge", "guess"),
        ("--gateways", "2"),
        ("--agree", "hash"),
        ("--routing-seed", "3"),
    ],
)
def test_a_flag_of_fleets_is_never_ignored(trace: str, flags: tuple[str, str]) -> None:
    """Without --replicas it would do nothing."""
    flag = flags[0]
    said = refused(trace, *flags)
    assert f"{flag} is given without --replicas; add it, or leave {flag} out" in said


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "--replicas needs the --capacity of each replica; give one, such as 5000, 2Mtok"),
        (("--capacity", "10,20"), "--capacity has 2 values"),
        (("--capacity", "10", "--policy", "lru,slru"), "--policy has 2 values"),
        (("--capacity", "10", "--policy", "min"), "--policy min knows the future"),
        (("--capacity", "10", "--policy", "arc"), "--policy arc keeps blocks behind gaps"),
        (("--capacity", "10", "--ttl", "5m"), "--ttl and --replicas do not go together: caches"),
        (("--capacity", "10", "--no-refresh"), "--no-refresh and --replicas do not go together"),
        (("--capacity", "10", "--keep-alive", "1"), "--keep-alive and --replicas do not go"),
        (("--capacity", "10", "--second-tier", "9"), "--second-tier and --replicas do not go"),
        (("--capacity", "10", "--html", "p.html"), "--html and --replicas do not go together: the"),
        (("--capacity", "10", "--agree", "hash"), "--agree hash is given with one gateway; add"),
        (
            ("--capacity", "10", "--concurrency", "2", "--speed", "2"),
            "--speed and --concurrency do not go together",
        ),
        (
            ("--capacity", "10", "--concurrency", "2", "--spread", "3s"),
            "--spread and --concurrency do not go together",
        ),
        (("--capacity", "10", "--overhead", "inf"), "--overhead is inf; use a time with an end"),
        (("--capacity", "10", "--spread", "inf"), "--spread is inf; use a time with an end"),
        (("--capacity", "10", "--routing", "sticky"), "'sticky' is not one of"),
        (("--capacity", "10", "--routing", "auto,auto"), "'auto' is there twice; leave one out"),
        (("--capacity", "10", "--prefill-rate", "nan"), "nan is no pace; write a number from"),
        (("--capacity", "10", "--prefill-rate", "inf"), "inf is no pace"),
        (("--capacity", "10", "--decode-rate", "0"), "0 is no pace"),
        (("--capacity", "10", "--slots", "0"), "0 is not in the range"),
        (("--capacity", "100tok"), "a capacity of 100 tokens holds no block of 512; give more"),
        (("--capacity", "80GiB"), "needs --kv-bytes-per-token"),
        (("--capacity", "10", "--warmup", "4"), "--warmup 4 leaves nothing to count"),
        (("--capacity", "10", "--multiplex", "2"), "--multiplex puts sessions with clocks"),
    ],
)
def test_what_does_not_go_together_is_said(trace: str, flags: tuple[str, ...], said: str) -> None:
    """Before anything is simulated, with what to do."""
    assert said in " ".join(refused(trace, "--replicas", "2", *flags).split())


def test_too_many_replicas_are_refused(trace: str) -> None:
    """The bound is in the message."""
    assert "1<=x<=1024" in refused(trace, "--replicas", "1025", "--capacity", "10")


def test_sessions_are_put_on_one_clock_first(tmp_path: Path) -> None:
    """Their times count from the start of each; --multiplex makes one clock of them."""
    path = tmp_path / "sessions.jsonl"
    session = {
        "models": ["m"],
        "block_size": 64,
        "requests": [
            {"t": 10.0 * n, "type": "n", "in": 64 * (n + 2), "out": 5, "hash_ids": [*range(n + 2)]}
            for n in range(3)
        ],
    }
    path.write_text("".join(json.dumps({"id": f"s{n}", **session}) + "\n" for n in range(4)))
    assert "add --multiplex N" in refused(str(path), *FLEET)
    told = answer(str(path), *FLEET, "--multiplex", "4", "--routing", "auto,session")
    assert told["requests"] == 12
    auto, by_session = told["results"]
    assert by_session["reasons"] == {"session": 12}
    assert by_session["token_hit_rate"] == told["ideal"]["token_hit_rate"]
    assert auto["token_hit_rate"] == told["ideal"]["token_hit_rate"]


def test_isolation_without_tenants_is_said(trace: str) -> None:
    """On stderr, as without a fleet."""
    result = CliRunner().invoke(stemcache, ["simulate", trace, *FLEET, "--isolate-tenants"])
    assert "the trace names no tenant, so --isolate-tenants changed nothing" in result.stderr
