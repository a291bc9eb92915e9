"""The replay against real servers: the embedded model here, vLLM where it is at hand."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from stemcache.replay.prompts import TokenPrompts, TokenRange
from stemcache.replay.report import Report, read_report
from stemcache.replay.words import WORDS
from stemcache.text.tokenizer import Tokenizer
from tests.cli.test_replay import command, predicted, prompts_of, trace_of
from tests.server.live_server import LiveServer, serve

IDS = TokenRange(1000, 30000)


@pytest.fixture(scope="module")
def server(smollm2_dir: Path) -> Iterator[LiveServer]:
    """The embedded model, which takes longer to load than to answer what is sent here."""
    with serve("--model", str(smollm2_dir), "--kv-memory", "256MiB") as one:
        yield one


def conversations(path: Path) -> Path:
    """Two of them that grow turn by turn over one system prompt, mixed."""
    random, rows = Random(3), []
    lengths = [1] * 2
    for _ in range(8):
        talk = random.randrange(2)
        rows.append({"hash_ids": [7, *(100 * talk + at for at in range(lengths[talk]))]})
        lengths[talk] += 1
    return trace_of(path, rows)


def replayed(trace: Path, url: str, path: Path, *flags: str) -> Report:
    """Whole blocks of 16 tokens become 64, so that several fit a context."""
    done = command(
        *(str(trace), "--target", url, "--concurrency", "1", "--tokens-per-block", "64"),
        *("--max-tokens", "3", "--json", str(path), *flags),
    )
    assert done.returncode == 0, done.stderr
    return read_report(path)


@pytest.mark.real
def test_the_embedded_model_reports_what_arithmetic_predicts(
    server: LiveServer, tmp_path: Path
) -> None:
    """Ids exact to the block."""
    trace = conversations(tmp_path / "t.jsonl")
    report = replayed(trace, server.url, tmp_path / "r.json", "--salt", "s")
    prompts = prompts_of(trace, TokenPrompts("s", IDS), 64)
    usage, metrics = report.hit_rates
    assert usage.cached_tokens == metrics.cached_tokens == predicted(prompts) > 800
    assert usage.prompt_tokens == metrics.prompt_tokens == sum(map(len, prompts))
    assert report.notes == ()


@pytest.mark.real
def test_chats_of_words_are_about_as_long_as_asked(server: LiveServer, tmp_path: Path) -> None:
    """And hit what arithmetic on ids would, but for the template and the ends of blocks."""
    trace = conversations(tmp_path / "t.jsonl")
    target = f"{server.url}/v1/chat/completions"
    report = replayed(trace, target, tmp_path / "r.json")
    assert report.measured_prompt_tokens is not None
    assert 1.0 <= report.measured_prompt_tokens / report.asked_prompt_tokens < 1.25
    usage, metrics = report.hit_rates
    assert usage.cached_tokens == metrics.cached_tokens
    ids = prompts_of(trace, TokenPrompts("", IDS), 64)
    expected = predicted(ids) / sum(map(len, ids))
    assert usage.hit_rate == pytest.approx(expected, abs=0.06)


@pytest.mark.real
def test_words_are_one_token_each(smollm2_dir: Path) -> None:
    """With a space before them, nearly all."""
    from stemcache.text.file_tokenizer import FileTokenizer  # noqa: PLC0415  # needs an extra

    tokenizer: Tokenizer = FileTokenizer(smollm2_dir)
    lengths = [len(tokenizer.encode(f" {word}", add_special_tokens=False)) for word in WORDS]
    assert sum(length == 1 for length in lengths) >= 0.99 * len(WORDS)


@pytest.mark.peer
def test_vllm_reports_what_arithmetic_predicts(tmp_path: Path) -> None:
    """STEMCACHE_VLLM_URL names a server that tells cached tokens and is asked by nobody else."""
    url = os.environ.get("STEMCACHE_VLLM_URL")
    if url is None:
        pytest.skip("STEMCACHE_VLLM_URL is not set")
    trace = conversations(tmp_path / "t.jsonl")
    extra = json.dumps({"ignore_eos": True})
    report = replayed(trace, url, tmp_path / "r.json", "--salt", "v", "--extra-body", extra)
    prompts = prompts_of(trace, TokenPrompts("v", IDS), 64)
    usage, metrics = report.hit_rates
    assert usage.prompt_tokens == metrics.prompt_tokens == sum(map(len, prompts))
    assert usage.cached_tokens == metrics.cached_tokens
    # Its block size is its own; 16 unless set.
    assert usage.cached_tokens == predicted(
        prompts, int(os.environ.get("STEMCACHE_VLLM_BLOCK", "16"))
    )
