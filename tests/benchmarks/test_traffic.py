"""The traffic that speeds are measured on."""

import json
from itertools import islice
from pathlib import Path

from benchmarks.lint.logs import FORMS, write
from benchmarks.lint.traffic import records
from stemcache.wire.api import Api, api_of


def test_same_seed_same_traffic() -> None:
    """Two runs measure the same log, another seed another one."""
    first, again, other = (
        [json.dumps(record) for record in islice(records(seed), 60)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_prompts_are_of_many_sizes_and_two_forms() -> None:
    """Sessions are interleaved and grow, with times that rise and usage that is possible."""
    made = list(islice(records(1), 400))
    sizes = [len(json.dumps(record["request"])) for record in made]
    assert min(sizes) < 15_000
    assert 60_000 < max(sizes) < 130_000
    assert {api_of(record["request"]) for record in made} == {Api.CHAT, Api.MESSAGES}
    assert len({record["session"] for record in made[:40]}) > 10
    times = [record["time"] for record in made]
    assert times == sorted(times)
    for record in made:
        usage = record["response"]["usage"]
        details = usage.get("prompt_tokens_details")
        if details is None:
            assert usage["input_tokens"] >= 0
            assert usage["cache_read_input_tokens"] >= 0
        else:
            assert 0 <= details["cached_tokens"] <= usage["prompt_tokens"]


def test_every_form_is_written_up_to_its_size(tmp_path: Path) -> None:
    """A log ends with the call that makes it as large as was asked, and has whole lines."""
    for name in FORMS:
        log = write(tmp_path / "log.jsonl", name, 0.3, seed=1)
        lines = log.path.read_bytes().splitlines(keepends=True)
        assert len(lines) == log.calls
        assert log.size_bytes == log.path.stat().st_size >= 300_000
        assert log.size_bytes - len(lines[-1]) < 300_000
        assert all(isinstance(json.loads(line), dict) for line in lines)
