"""`stemcache trace`: look at traces, turn them into stemcache's form, take the content out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import click

from stemcache.cli.multiplex_options import multiplex_options
from stemcache.cli.printable import printable
from stemcache.cli.trace_info import info_json, info_lines
from stemcache.cli.trace_options import Reading, trace_options
from stemcache.errors import UsageError
from stemcache.trace.anonymize import Anonymizer
from stemcache.trace.bodies.reader import BODIES
from stemcache.trace.key import check_key_apart, load_key, passing_key
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.record import TraceRequest
from stemcache.trace.reshape import Reshape, in_time_order
from stemcache.trace.summary import Summary
from stemcache.trace.write import check_target, write_trace

__all__ = ["trace"]


@click.group()
def trace() -> None:
    """Look at traces, convert them, take out what prompts say.

    \b
    Examples:
      stemcache trace info conversation.jsonl.gz
      stemcache trace convert bodies.jsonl.gz trace.jsonl.gz --tokenizer ./Qwen3-0.6B
      stemcache trace anonymize bodies.jsonl.gz shared.jsonl.gz

    A trace says when requests came and what their prompts share. Read are hash traces of Mooncake
    and Bailian, run-length traces of coding sessions, stemcache's own form, and JSONL logs of
    OpenAI or Anthropic request bodies; plain, gzip or zstd; - is standard input.
    """


@trace.command()
@click.argument("trace", type=click.Path(), metavar="TRACE")
@trace_options
@click.option(
    "--output-format",
    default="full",
    show_default=True,
    type=click.Choice(["full", "json"]),
    help="For people, or for programs.",
)
def info(*, trace: str, reading: Reading, output_format: Literal["full", "json"]) -> None:
    """Say what TRACE holds: requests, times, lengths, and how much of it is distinct.

    \b
    Examples:
      stemcache trace info conversation.jsonl.gz
      zcat bodies.jsonl.gz | stemcache trace info - --tokenizer ./Qwen3-0.6B
      stemcache trace info trace.jsonl --output-format json | jq .prompts.p90

    Memory stays bounded however large TRACE is, so from a million distinct blocks on their number
    is an estimate, good to a few thousandths, and said to be one.
    """
    summary = Summary()
    with reading.open(trace) as opened:
        for request in opened:
            summary.add(request)
    if output_format == "json":
        click.echo(info_json(opened.reader, summary.survey()))
    else:
        for line in info_lines(opened.reader, summary.survey()):
            click.echo(line)


@trace.command()
@click.argument("trace", type=click.Path(), metavar="TRACE")
@click.argument("output", type=click.Path())
@trace_options
@multiplex_options
@click.option("--sort", is_flag=True, help="Put requests in order of time; holds all in memory.")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Take the first N requests only."
)
@click.option(
    "--tokens-per-block",
    type=click.IntRange(1, 2**24),
    metavar="N",
    help="Shrink each block to N tokens, and prompts with them.",
)
@click.option(
    "--max-prompt-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Leave out longer prompts, as they are after shrinking.",
)
@click.option("--force", is_flag=True, help="Write over OUTPUT if it exists.")
def convert(
    *,
    trace: str,
    output: str,
    reading: Reading,
    mix: Mix | None,
    sort: bool,
    limit: int | None,
    tokens_per_block: int | None,
    max_prompt_tokens: int | None,
    force: bool,
) -> None:
    """Write TRACE to OUTPUT in stemcache's form, which readers of Mooncake's traces can read.

    This is not anonymising: tenants, names of sessions and ids without a key are kept, and who
    guesses a prompt can see from its ids whether it is there. To share a trace, use anonymize.

    \b
    Examples:
      stemcache trace convert bodies.jsonl.zst trace.jsonl.gz --tokenizer ./Qwen3-0.6B
      stemcache trace convert sessions.jsonl.gz mixed.jsonl.gz --multiplex 200 --within 2h --cut 4h
      stemcache trace convert conversation.jsonl.gz - --limit 1000 --tokens-per-block 32

    OUTPUT is compressed if its name ends in .gz or .zst; - is standard output. It appears whole or
    not at all. Options work in the order in which they stand above.
    """
    reshape = Reshape(
        limit=limit, block_tokens=tokens_per_block, max_prompt_tokens=max_prompt_tokens
    )
    check_target(output, force=force, source=trace)
    if sort and mix is not None:
        raise UsageError("--multiplex gives requests in order of time; leave --sort out")
    with reading.open(trace) as opened:
        requests: Iterable[TraceRequest] = opened
        if mix is not None:
            requests = multiplex(requests, mix)
        if sort:
            requests = _sorted(requests)
        count = write_trace(
            reshape(requests), output, unit=opened.reader.unit, force=force, source=trace
        )
    _tell(count, output)
    if opened.reader.format == BODIES.name:
        click.echo(
            "this is not anonymised: tenants and sessions are named, and prompts can be guessed "
            "from their ids; to share it, use stemcache trace anonymize",
            err=True,
        )
    if reshape.dropped:
        click.echo(
            f"left out {reshape.dropped:,} prompts of more than {max_prompt_tokens:,} tokens",
            err=True,
        )


@trace.command()
@click.argument("trace", type=click.Path(), metavar="TRACE")
@click.argument("output", type=click.Path())
@trace_options
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Key file, made with mode 600 if it is not there.  [default: a random key, forgotten]",
)
@click.option(
    "--keep-sessions", is_flag=True, help="Keep which requests are of one session, as a pseudonym."
)
@click.option("--force", is_flag=True, help="Write over OUTPUT if it exists.")
def anonymize(
    *,
    trace: str,
    output: str,
    reading: Reading,
    key: Path | None,
    keep_sessions: bool,
    force: bool,
) -> None:
    """Write TRACE to OUTPUT without what prompts say, but with exactly what they share.

    \b
    Examples:
      stemcache trace anonymize bodies.jsonl.gz shared.jsonl.gz
      stemcache trace anonymize monday.jsonl monday-anon.jsonl --key ~/.stemcache-trace.key

    Kept are the prefix relation, arrival times, lengths, and tenants as keyed pseudonyms; sessions
    where times count from their start, or with --keep-sessions. Nothing else is. Who has the true
    prompts but not the key recovers nothing. Traces under one key can be joined, others not.
    """
    check_target(output, force=force, source=trace)
    if key is not None:
        check_key_apart(key, source=trace, target=output)
    with reading.open(trace) as opened:
        if key is None:
            secret = passing_key()
        else:
            loaded = load_key(key)
            secret = loaded.key
            if loaded.created:
                click.echo(f"made the key file {printable(str(key))}; keep it secret", err=True)
        hide = Anonymizer(secret, keep_sessions=keep_sessions)
        count = write_trace(
            map(hide, _with_sessions(opened) if keep_sessions else opened),
            output,
            unit=opened.reader.unit,
            force=force,
            source=trace,
        )
    _tell(count, output)
    if key is None:
        click.echo(
            "used a random key and forgot it: no other trace can be joined with this one; "
            "to be able to, give a --key",
            err=True,
        )


def _sorted(requests: Iterable[TraceRequest]) -> list[TraceRequest]:
    in_order = in_time_order(_on_one_clock(requests))
    if in_order and in_order[0].arrival_s is None:
        raise UsageError("--sort compares times, but this trace has none; leave it out")
    return in_order


def _on_one_clock(requests: Iterable[TraceRequest]) -> Iterable[TraceRequest]:
    for request in requests:
        if request.session_clock:
            raise UsageError(
                "--sort compares times, but sessions of this trace have clocks of their own; "
                "use --multiplex, which sorts them"
            )
        yield request


def _with_sessions(requests: Iterable[TraceRequest]) -> Iterator[TraceRequest]:
    named = False
    for request in requests:
        if request.session_clock:
            raise UsageError(
                "--keep-sessions does nothing where times count from sessions' starts: they are "
                "kept; leave it out"
            )
        named |= request.session is not None
        yield request
    if not named:
        raise UsageError("--keep-sessions does nothing: no request has a session; leave it out")


def _tell(count: int, output: str) -> None:
    where = "standard output" if output == "-" else printable(output)
    click.echo(f"wrote {count:,} requests to {where}", err=True)
