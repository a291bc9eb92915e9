"""Flags of `replay` into a job: what contradicts what, and what is drawn where nothing is said."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from stemcache import __version__
from stemcache.cli.replay_asking import Asking
from stemcache.cli.replay_pacing import Encoding, Pacing
from stemcache.errors import UsageError
from stemcache.replay.body import parse_extra
from stemcache.replay.credentials import credentials
from stemcache.replay.isolation import Isolation, IsolationKind
from stemcache.replay.loops import ClosedLoop, OpenLoop
from stemcache.replay.prompts import TextPrompts, TokenPrompts
from stemcache.replay.run import Job
from stemcache.replay.schedule import RECORDED, Think, arrivals, sessions
from stemcache.replay.selection import Selection
from stemcache.replay.target import Target, parse_place, parse_target

__all__ = ["Plan", "check_pacing", "make_plan"]


_LONGEST_S = 30 * 86_400.0
"""What is meant by a timeout that never ends; timers do not take infinity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job, and what the report says of how it came about."""

    job: Job
    mode: Literal["open loop", "closed loop"]
    encoding: Encoding
    think: Think | None
    out_of_order: int
    times_drawn: bool
    schedule_s: float | None


def check_pacing(pacing: Pacing) -> None:
    """Raise UsageError for flags that contradict each other, before any file is read."""
    closed = pacing.concurrency is not None
    for given, flag in (
        (pacing.rate is not None, "--rate"),
        (pacing.max_in_flight is not None, "--max-in-flight"),
    ):
        if given and closed:
            raise UsageError(
                f"{flag} paces an open loop, and --concurrency makes it a closed one; "
                "leave one of them out"
            )
    for given, flag in (
        (pacing.think is not None, "--think"),
        (pacing.max_think_s is not None, "--max-think"),
    ):
        if given and not closed:
            raise UsageError(f"{flag} is for a closed loop; add --concurrency N, or leave it out")
    if pacing.rate is not None and pacing.speed != 1:
        raise UsageError("--rate and --speed both set the pace; leave one of them out")
    ways = [
        flag
        for flag, given in (
            ("--reset", pacing.reset),
            ("--cache-salt", pacing.cache_salt),
            ("--keep-warm", pacing.keep_warm),
        )
        if given
    ]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} are ways to do the same; choose one")
    if pacing.salt is not None and (pacing.reset or pacing.keep_warm):
        raise UsageError(f"{ways[0]} salts nothing, so --salt has no use; leave one of them out")
    if pacing.salt == "":
        raise UsageError("--salt is empty; give some text, or leave it out")


def make_plan(
    asking: Asking,
    pacing: Pacing,
    selection: Selection,
    *,
    environment: Mapping[str, str],
    fresh_salt: str,
) -> Plan:
    """All that follows from the flags and the trace. Raises UsageError; asks nobody."""
    target = parse_target(asking.url, asking.api)
    encoding = _encoding(target, pacing.encoding)
    isolation = _isolation(pacing, fresh_salt)
    prompts = (
        TokenPrompts(isolation.prompt_salt, pacing.tokens)
        if encoding == "tokens"
        else TextPrompts(isolation.prompt_salt)
    )
    out_of_order, drawn, schedule_s = 0, False, None
    think: Think | None = None
    loop: OpenLoop | ClosedLoop
    if pacing.concurrency is None:
        random = Random(pacing.seed)  # noqa: S311  # no secret hangs on arrival times
        times = arrivals(selection.planned, speed=pacing.speed, rate=pacing.rate, random=random)
        out_of_order, drawn = times.out_of_order, times.drawn
        schedule_s = times.due_s[-1] if times.due_s else None
        loop = OpenLoop(
            arrivals=times, duration_s=pacing.duration_s, max_in_flight=pacing.max_in_flight
        )
    else:
        named = any(each.request.session is not None for each in selection.planned)
        think = pacing.think if pacing.think is not None else (RECORDED if named else 0.0)
        loop = ClosedLoop(
            sessions=sessions(selection.planned),
            concurrency=pacing.concurrency,
            think=think,
            max_think_s=pacing.max_think_s,
            speed=pacing.speed,
            duration_s=pacing.duration_s,
        )
    job = Job(
        target=target,
        credentials=credentials(
            target,
            key=asking.key,
            environment=environment,
            given=asking.headers,
            agent=f"stemcache/{__version__}",
        ),
        model=asking.model,
        prompts=prompts,
        isolation=isolation,
        extra=parse_extra(asking.extra_body),
        loop=loop,
        timeout_s=min(asking.timeout_s, _LONGEST_S),
        connect_timeout_s=min(asking.connect_timeout_s, _LONGEST_S),
        metrics=_metrics(asking, target),
        probe=asking.probe,
    )
    return Plan(
        job=job,
        mode="open loop" if pacing.concurrency is None else "closed loop",
        encoding=encoding,
        think=think,
        out_of_order=out_of_order,
        times_drawn=drawn,
        schedule_s=schedule_s,
    )


def _encoding(target: Target, asked: Encoding | None) -> Encoding:
    if target.api == "openai-completions":
        return asked or "tokens"
    if asked == "tokens":
        raise UsageError(
            f"{target.api} takes no token ids; leave --encoding out, or use openai-completions"
        )
    return "text"


def _isolation(pacing: Pacing, fresh_salt: str) -> Isolation:
    kind: IsolationKind = "salted"
    if pacing.reset:
        kind = "reset"
    elif pacing.cache_salt:
        kind = "cache-salt"
    elif pacing.keep_warm:
        kind = "kept-warm"
    return Isolation(kind, pacing.salt or fresh_salt, repeatable=pacing.salt is not None)


def _metrics(asking: Asking, target: Target) -> Target | None:
    if not asking.metrics:
        if asking.metrics_url is not None:
            raise UsageError("--no-metrics and --metrics-url contradict; leave one of them out")
        return None
    if asking.metrics_url is not None:
        return parse_place(asking.metrics_url, "--metrics-url")
    return parse_place(f"{target.origin}{target.root}/metrics", "--target")
