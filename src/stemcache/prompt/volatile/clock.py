"""Which times and dates are a clock's, and which are a handbook's.

| said by words beside it | changes |
|---|---|
| `the current time is 05:14`, `now: …` | with each request; a bare date with the conversation |
| `It is 05:14:01.`, where a sentence begins; a line `Time: 05:14:01` | the same |
| `updated: 3 minutes ago`, `uptime: 4:12`, `as of 30 November 2026, 05:14` | with each request |
| `generated at 05:14:01`, `session started: …` | with the conversation |

By its form alone, a time to the second, with or without a date, unless the second is 00 or the last
of a day, as people write them; what begins a line as `Date:` or `Time:`; and a date with a time, or
an age, that is all of its line, unless the time is a quarter of an hour's, as of plans. Law,
changelog, opening hours, versions and deadlines are none of these.
"""

import re

from stemcache.prompt.volatile.lines import Line, is_supposed
from stemcache.prompt.volatile.sight import Sight
from stemcache.text.volatile.detector import Family, Token
from stemcache.text.volatile.phrase import finest, phrase

__all__ = ["clock_sight"]

_GAP = (
    r"(?:(?!\b(?:not|must|may|should|before|after|until|earlier|later|between|since|from)\b)"
    r"[^.;!?\n]){0,48}$"
)
_NOW = re.compile(
    r"(?:\b(?:current|present|local|server|system|actual|user'?s?(?:\slocal)?|today'?s)[\s_-]{0,3}"
    r"(?:local[\s_-]|utc[\s_-]|calendar[\s_-])?(?:date|time|datetime|day|weekday|timestamp|clock)s?"
    r"|\btoday\b['\"]?\s{0,2}(?:is|[:=,(>-]|->)"
    r"|\b(?:right\s)?now\b['\"]?\s{0,2}(?:is|it\sis|[:=(>]|->)"
    r"|\b(?:it\sis|it's)\s(?:now|currently|presently)\b"
    r"|\bas\sof\s(?:now|today|this\smoment)\b"
    r"|\b(?:date|time)[\s_-]?(?:now|today)\b"
    r"|^\W{0,8}now\b|\bcurrently\s(?:is\s|it'?s\s)"
    r"|\bthe\s(?:date|time|date\sand\stime|day)\s(?:is|today\sis)\b)" + _GAP,
    re.IGNORECASE,
)
_IT_IS = re.compile(
    r"(?:^|[.!?:;(>]\s{0,2})\W{0,4}(?:it\sis|it's)\s(?:(?:about|already|exactly|just)\s)?$",
    re.IGNORECASE,
)
"""Where a sentence begins: `as it is 10:07 there` may be anything's."""
_AGE = re.compile(
    r"(?:\b(?:last|latest)[\s_-]?\w{2,16}|\b(?:updated|modified|edited|opened|sent|seen|active"
    r"|changed|synced|visited|logged\sin|asked|joined))(?:[\s_-]at)?\W{0,4}$",
    re.IGNORECASE,
)
_COLUMN = re.compile(r"[:=(\[|]\s{0,4}$")
_RUNNING = re.compile(
    r"\b(?:uptime|up|elapsed(?:[\s_-]time)?|time[\s_-](?:elapsed|left|remaining|spent)"
    r"|remaining[\s_-]time|idle(?:[\s_-](?:for|since|time))?|running\s(?:for|since)"
    r"|session[\s_-]age|age)\W{1,4}$",
    re.IGNORECASE,
)
_STAMP = re.compile(
    r"\b(?:generated|rendered|retrieved|fetched|queried|captured|printed|compiled|loaded|exported"
    r"|snapshot|refreshed|computed|taken|cached|synced|built)\b" + _GAP,
    re.IGNORECASE,
)
_STARTED = re.compile(
    r"\b(?:session|conversation|chat|process|server|run)[\s_-](?:started|start|began|begin|opened"
    r"|created|date|time)(?:[\s_-](?:at|on|time|date))?\W{1,8}$"
    r"|\bstarted[\s_-]at\W{1,4}$",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?:^|[{,<])[\s\W]{0,8}(?:date|time|datetime|date\sand\stime|day|timestamp|ts|clock)"
    r"[\"']?\s?[:=>*]{1,4}[\s\"'*]{0,4}$",
    re.IGNORECASE,
)
_UNIX = re.compile(
    r"\b(?:timestamp|ts|now|epoch|unix(?:[\s_-]time)?|time)[\"']?\s?[:=]\s?[\"']?$"
    r"|\b(?:timestamp|epoch|unix[\s_-]time)\s(?:is\s)?$",
    re.IGNORECASE,
)
_AS_OF = re.compile(r"\bas\sof\W{1,4}(?:the\s)?$", re.IGNORECASE)
_BARE = re.compile(r"[^\w|-]*")
_QUARTER = re.compile(r"\d\d?:(?:00|15|30|45)(?![:\d])")
_DATED = frozenset({"HTTP date", "Unix date line", "ISO time", "date", "date in words"})
_SECONDS = re.compile(r"\d:[0-5]\d:[0-5]\d")
"""Not `09:00-17:30`, hours that look like a time with its zone."""
_BY_HAND = re.compile(r"\d\d?:\d\d:00(?!\d)(?![.,]\d{0,8}[1-9])|23:59:59")


def clock_sight(line: Line, token: Token) -> Sight | None:
    """What a clock of a line is, or None where it may stay."""
    piece = line.text[token.start : token.end]
    ahead = line.ahead(token.start)
    if is_supposed(ahead):
        return None
    fine = finest(token, piece)
    runs = token.name in {"duration", "clock time"} and _RUNNING.search(ahead) is not None
    told = (True, True) if runs else _told(line, token, ahead, fine)
    if told is None and fine and token.name in _DATED and _is_all(line, token):
        told = None if _QUARTER.search(piece) or _BY_HAND.search(piece) else (False, True)
    if told is None:
        return None
    said, each_request = told
    return Sight(
        at=token.start,
        family=Family.CLOCK,
        what="a duration" if runs else phrase(token.name, fine),
        said=said,
        each_request=each_request,
    )


def _told(line: Line, token: Token, ahead: str, fine: str) -> tuple[bool, bool] | None:
    """Whether words say so, and whether it changes with each request."""
    piece = line.text[token.start : token.end]
    if token.name == "relative time":
        aged = _AGE.search(ahead) or (_COLUMN.search(ahead) and any(map(str.isdigit, piece)))
        if aged:
            return True, True
        return (False, True) if _is_all(line, token) and any(map(str.isdigit, piece)) else None
    if token.name == "duration":
        return None
    now = _NOW.search(ahead)
    if now is not None:
        return None if is_supposed(ahead[: now.start()]) else (True, bool(fine))
    if _IT_IS.search(ahead):
        return True, bool(fine)
    if _STARTED.search(ahead):
        return True, False
    if fine and _STAMP.search(ahead):
        return True, False
    if fine and token.name in _DATED and _AS_OF.search(ahead):
        return None if _QUARTER.search(piece) else (True, True)
    if token.name.startswith("Unix time"):
        by_form = _UNIX.search(ahead) or (token.name == "Unix time" and "." in piece)
        return (False, True) if by_form else None
    to_the_second = _SECONDS.search(piece) is not None and not _BY_HAND.search(piece)
    if _FIELD.search(ahead):
        # A mail has its date for good; a time of day to the second is nobody's but a clock's.
        return to_the_second and token.name == "clock time", bool(fine)
    return (False, True) if to_the_second else None


def _is_all(line: Line, token: Token) -> bool:
    """Whether nothing but signs stands beside it on its line."""
    before, behind = line.text[: token.start], line.text[token.end :]
    return _BARE.fullmatch(before) is not None and _BARE.fullmatch(behind) is not None
