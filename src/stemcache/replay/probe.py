"""What is asked of the target before the load: is it there, what does it serve, does it answer.

Each of these ends with one error that says what to do, before a single prompt of the trace is sent.
"""

from http import HTTPStatus

import msgspec

from stemcache.errors import UsageError
from stemcache.replay.events import error_message
from stemcache.replay.fetch import Fetcher, FetchError, Reply
from stemcache.replay.outcome import Outcome
from stemcache.replay.quote import quoted
from stemcache.replay.scrape import Counters, read_counters
from stemcache.replay.target import Target

__all__ = ["NoCountersError", "check_answer", "find_model", "reset_cache", "scrape"]

_RESET_PATHS = ("/reset_prefix_cache", "/flush_cache")
"""stemcache's and vLLM's; SGLang's."""


class NoCountersError(Exception):
    """The target's own counters are not known; the message says why, to follow its name."""


class _Card(msgspec.Struct):
    id: str


class _Cards(msgspec.Struct):
    data: list[_Card]


class _Reset(msgspec.Struct):
    success: bool = True


async def find_model(fetcher: Fetcher, asked: str | None) -> str:
    """The model to name in requests; also shows whether the target can be reached at all.

    Raises UsageError if nothing answers, the key is refused, or none was `asked` for and the target
    does not list exactly one.
    """
    target = fetcher.target
    try:
        reply = await fetcher.fetch("GET", target.models_path)
    except FetchError as error:
        if asked is not None and error.kind == "timeout":
            return asked  # something took the connection; the probe will tell
        raise UsageError(_unreachable(target, error)) from None
    refused = reply.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    if asked is not None:
        return asked  # some gateways refuse or lack the list; the probe will tell
    if refused:
        raise UsageError(
            f"{target.origin} refuses the key ({_said(fetcher, reply)}); "
            "set --api-key or the variable it is read from"
        )
    try:
        models = [card.id for card in msgspec.json.decode(reply.body, type=_Cards).data]
    except (msgspec.DecodeError, UnicodeDecodeError):
        models = []
    if reply.status != HTTPStatus.OK or not models:
        raise UsageError(
            f"{target.origin}{target.models_path.removesuffix(target.query)} answers "
            f"{reply.status} and lists no model; name one with --model, or check --target"
        )
    if len(models) > 1:
        shown = ", ".join(models[:5]) + (", …" if len(models) > 5 else "")
        raise UsageError(f"the target serves {len(models)} models; choose with --model: {shown}")
    return models[0]


def check_answer(target: Target, outcome: Outcome) -> None:
    """Raise UsageError if the first, tiny request was not answered."""
    if outcome.error is None:
        return
    raise UsageError(
        f"a first request to {target.url} failed with {outcome.error}: "
        f"{outcome.detail}; check {_suspects(outcome)}, or skip this with --no-probe"
    )


def _suspects(outcome: Outcome) -> str:
    match outcome.status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return "--api-key"
        case HTTPStatus.NOT_FOUND:
            return "--model and --api"
        case HTTPStatus.BAD_REQUEST | HTTPStatus.UNPROCESSABLE_ENTITY:
            return "--token-range, --encoding and --extra-body"
        case _:
            return "--target and --api"


async def reset_cache(fetcher: Fetcher) -> str:
    """Make the target forget all prefixes; return the path that did. Raises UsageError."""
    target = fetcher.target
    statuses = []
    for path in _RESET_PATHS:
        try:
            reply = await fetcher.fetch("POST", target.root + path)
        except FetchError as error:
            raise UsageError(_unreachable(target, error)) from None
        if reply.status == HTTPStatus.OK:
            try:
                done = msgspec.json.decode(reply.body, type=_Reset).success
            except (msgspec.DecodeError, UnicodeDecodeError):
                done = True  # SGLang says it in prose
            if not done:
                raise UsageError(
                    f"{target.origin} could not empty its cache (POST {path}): it is in use; "
                    "wait until it is idle, or salt the run instead of --reset"
                )
            return target.root + path
        statuses.append(f"{path} {reply.status}")
    raise UsageError(
        f"{target.origin} has no way to empty its cache ({', '.join(statuses)}); start vLLM with "
        "VLLM_SERVER_DEV_MODE=1, or leave --reset out so that the run is salted"
    )


async def scrape(fetcher: Fetcher, path: str) -> Counters:
    """The target's own counters. Raises NoCountersError."""
    try:
        reply = await fetcher.fetch("GET", path)
    except FetchError as error:
        if error.kind == "timeout":
            raise NoCountersError(f"did not answer within {fetcher.timeout_s:g} s") from None
        raise NoCountersError(f"could not be read ({error.kind}: {error})") from None
    if reply.status != HTTPStatus.OK:
        raise NoCountersError(f"answered {reply.status}")
    counters = read_counters(reply.body.decode(errors="replace"))
    if counters is None:
        raise NoCountersError("has no counters of cached tokens that are known")
    return counters


def _unreachable(target: Target, error: FetchError) -> str:
    if error.kind == "timeout":
        return (
            f"{target.origin} takes connections and did not answer in time ({error}); "
            "see whether it is busy or still starting, or check --target"
        )
    if error.kind == "tls":
        return f"{target.origin} cannot be spoken to over TLS: {error}; check --target"
    begun = error.kind in {"dropped", "head_too_large", "not_http", "too_large"}
    what = "no answer that is HTTP comes from" if begun else "nothing answers at"
    return f"{what} {target.origin} ({error.kind}: {error}); start the server, or check --target"


def _said(fetcher: Fetcher, reply: Reply) -> str:
    message = quoted(error_message(reply.body), fetcher.credentials.redacted)
    return f"{reply.status}: {message}"
