"""Write a log of queries over one corpus whose prompts begin with a line of their own.

The case that costs most and shows least: a corpus of 100,000 tokens is sent with every query, and
the first line of the prompt holds the time and the number of the request, so that no two prompts
begin alike and the provider's cache never finds anything.

    python examples/corpus_log.py calls.jsonl
    stemcache lint calls.jsonl

Everything in it is made up, from a fixed seed. Calls are spread over a working day, and report
usage as the provider would.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, NamedTuple, cast

_WORDS = (  # noqa: SIM905  # a list of words reads better as a text
    "account adapter address agent amount answer archive audit balance battery branch budget "
    "button cable carrier channel claim clause contract credit currency customer damage deadline "
    "delivery deposit device discount document draft escalation estimate exchange field firmware "
    "form guide import index insurance invoice item label language launch ledger letter licence "
    "limit list location maintenance manager manual market meter module network notice offer "
    "office option order package page panel parcel partner payment period permit plan policy "
    "port price product profile proof purchase quality quarter receipt record refund region "
    "release repair report request return review router safety schedule screen season section "
    "sensor service session signal site stock storage supplier supply support switch table tariff "
    "tax team term ticket token tool transfer update value vendor version warranty window"
).split()
_BYTES_PER_TOKEN = 4.0


def sentence(chance: random.Random, words: int) -> str:
    """A line that says nothing."""
    text = " ".join(chance.choice(_WORDS) for _ in range(words))
    return f"{text[0].upper()}{text[1:]}."


def corpus(chance: random.Random, tokens: int) -> str:
    """Numbered paragraphs, about so many tokens of them."""
    lines: list[str] = []
    size = 0
    while size < tokens * _BYTES_PER_TOKEN:
        line = f"{len(lines) + 1}. {sentence(chance, chance.randint(12, 40))}"
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


class Query(NamedTuple):
    """What is a request's own."""

    first_line: str
    question: str
    at: datetime


def queries_of(count: int, seed: int) -> Iterator[Query]:
    """All queries, spread over ten hours."""
    chance = random.Random(seed)
    start = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
    for number in range(count):
        at = start + timedelta(seconds=number * 36_000 / count)
        line = f"[{at.isoformat(timespec='milliseconds')}] request {chance.getrandbits(64):016x}"
        yield Query(line, sentence(chance, chance.randint(8, 25)), at)


def main() -> None:
    """Read the arguments and write the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Shown)
    parser.add_argument("output", type=Path, help="file to write; .gz compresses it")
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--corpus-tokens", type=int, default=100_000)
    parser.add_argument("--model", default="gpt-5.5")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fixed", action="store_true", help="put the line behind the corpus")
    asked = parser.parse_args()
    text = corpus(random.Random(asked.seed), asked.corpus_tokens)
    system = "You answer questions about the corpus below, and cite paragraphs by number."
    with _opened(asked.output) as stream:
        for number, query in enumerate(queries_of(asked.queries, asked.seed)):
            line, question, at = query
            parts = [text, line, question] if asked.fixed else [line, text, question]
            body = {
                "model": asked.model,
                "messages": [
                    {"role": "system", "content": system},
                    {"role": "user", "content": "\n\n".join(parts)},
                ],
            }
            prompt_tokens = round(len(json.dumps(body)) / _BYTES_PER_TOKEN)
            cached = (prompt_tokens - 100) // 128 * 128 if asked.fixed and number else 0
            usage = {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": 180,
                "prompt_tokens_details": {"cached_tokens": cached},
            }
            record = {
                "time": at.timestamp(),
                "status": 200,
                "request": body,
                "response": {"id": f"chatcmpl-{number:06d}", "usage": usage},
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


class _Shown(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    pass


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, "wt", encoding="utf-8", compresslevel=1))
    return path.open("w", encoding="utf-8")


if __name__ == "__main__":
    main()
