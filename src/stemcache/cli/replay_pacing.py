"""The flags of `replay` that say which requests, when, and made of what; one value in the end."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import click

from stemcache.cli.durations import DURATION, SOME_TIME
from stemcache.cli.paces import PACE
from stemcache.cli.replay_asking import with_options
from stemcache.errors import UsageError
from stemcache.replay.prompts import TokenRange
from stemcache.replay.schedule import RECORDED, Think

__all__ = ["Encoding", "Pacing", "pacing_options"]

Encoding = Literal["tokens", "text"]
R = TypeVar("R")

_RANGE = re.compile(r"(\d{1,10})-(\d{1,10})")
_THINK = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|)")
_LONGEST_THINK_S = 86_400.0


class TokenRangeType(click.ParamType[TokenRange]):
    """LO-HI, both included."""

    name = "lo-hi"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> TokenRange:
        """The range."""
        if isinstance(value, TokenRange):
            return value
        found = _RANGE.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no range of token ids; write 1000-30000", param, ctx)
        try:
            return TokenRange(int(found[1]), int(found[2]))
        except UsageError as error:
            self.fail(str(error), param, ctx)


class ThinkType(click.ParamType[Think]):
    """Seconds, none included, or `recorded`."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Think:
        """The time."""
        if value == RECORDED:
            return RECORDED
        found = _THINK.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no time; use seconds, 500ms, or 'recorded'", param, ctx)
        seconds = float(found[1]) * (0.001 if found[2] == "ms" else 1.0)
        if seconds > _LONGEST_THINK_S:
            self.fail(f"{value} is longer than a day; write less, such as 2 or 500ms", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Which requests, when, and made of what."""

    limit: int | None
    duration_s: float | None
    speed: float
    rate: float | None
    concurrency: int | None
    think: Think | None
    max_think_s: float | None
    max_in_flight: int | None
    tokens_per_block: int | None
    max_prompt_tokens: int | None
    max_tokens: int | None
    encoding: Encoding | None
    tokens: TokenRange
    salt: str | None
    reset: bool
    cache_salt: bool
    keep_warm: bool
    seed: int


_PACING = (
    click.option("--limit", type=click.IntRange(1), help="Read so many requests of the trace."),
    click.option("--duration", "duration_s", type=SOME_TIME, help="Send nothing after this long."),
    click.option(
        "--speed",
        default=1.0,
        show_default=True,
        type=PACE,
        help="How much faster than the trace: its times, and recorded think times.",
    ),
    click.option(
        "--rate",
        type=PACE,
        help="Rescale the trace's times to so many requests a second on average.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        help="Closed loop: so many sessions at once, each a turn at a time.  [default: open loop]",
    ),
    click.option(
        "--think",
        type=ThinkType(),
        help="Closed loop: time between an answer and the next turn, or 'recorded'.  "
        "[default: recorded if the trace has sessions, else 0]",
    ),
    click.option(
        "--max-think", "max_think_s", type=DURATION, help="Closed loop: think no longer than this."
    ),
    click.option(
        "--max-in-flight",
        type=click.IntRange(1),
        help="Open loop: hold requests back while so many are unanswered.  [default: never]",
    ),
    click.option(
        "--tokens-per-block",
        type=click.IntRange(1, 2**24),
        help="Make every block of the trace so long, to shrink prompts without changing who "
        "shares what.",
    ),
    click.option(
        "--max-prompt-tokens",
        type=click.IntRange(1),
        help="Leave out longer prompts, as sent; they are counted.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1),
        help="Ask for answers of at most so many tokens.  [default: the trace's lengths]",
    ),
    click.option(
        "--encoding",
        type=click.Choice(get_args(Encoding)),
        help="Prompts as token ids, exact, or as words.  [default: tokens for completions]",
    ),
    click.option(
        "--token-range",
        "tokens",
        type=TokenRangeType(),
        default="1000-30000",
        show_default=True,
        help="Ids to draw from, both included.",
    ),
    click.option(
        "--salt", help="Salt of the run's prompts, to repeat a run.  [default: drawn anew]"
    ),
    click.option(
        "--reset", is_flag=True, help="Empty the target's cache first, instead of salting prompts."
    ),
    click.option(
        "--cache-salt", is_flag=True, help="Send a cache_salt, instead of salting prompts."
    ),
    click.option(
        "--keep-warm", is_flag=True, help="Hit what earlier runs left in the cache; salt nothing."
    ),
    click.option(
        "--seed", default=0, show_default=True, help="For arrivals that the trace does not give."
    ),
)


def pacing_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags of `Pacing`; the command gets it as `pacing`."""

    @functools.wraps(command)
    def with_pacing(
        *args: object,
        limit: int | None,
        duration_s: float | None,
        speed: float,
        rate: float | None,
        concurrency: int | None,
        think: Think | None,
        max_think_s: float | None,
        max_in_flight: int | None,
        tokens_per_block: int | None,
        max_prompt_tokens: int | None,
        max_tokens: int | None,
        encoding: Encoding | None,
        tokens: TokenRange,
        salt: str | None,
        reset: bool,
        cache_salt: bool,
        keep_warm: bool,
        seed: int,
        **others: object,
    ) -> R:
        pacing = Pacing(
            limit=limit,
            duration_s=duration_s,
            speed=speed,
            rate=rate,
            concurrency=concurrency,
            think=think,
            max_think_s=max_think_s,
            max_in_flight=max_in_flight,
            tokens_per_block=tokens_per_block,
            max_prompt_tokens=max_prompt_tokens,
            max_tokens=max_tokens,
            encoding=encoding,
            tokens=tokens,
            salt=salt,
            reset=reset,
            cache_salt=cache_salt,
            keep_warm=keep_warm,
            seed=seed,
        )
        return command(*args, pacing=pacing, **others)

    return with_options(_PACING, with_pacing)
