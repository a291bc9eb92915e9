"""Which ids are one request's or one conversation's, and which name a thing for good.

| said by the name before it | changes |
|---|---|
| `request id: …`, `nonce=…`, `this is turn 7`, a billing header | with each request |
| `session id: …`, `thread=…` | with the conversation |

By its form alone: a UUID, a ULID, 32 digits of hexadecimal that are no checksum, a long `req_…`,
`<Agent object at 0x7f6a…>`, an address or a path of one session, and a `user id:` that begins a
line. Catalogues, commits, colours and names of models are none of these.
"""

import re

from stemcache.prompt.volatile.lines import Line, is_supposed
from stemcache.prompt.volatile.sight import Sight
from stemcache.text.volatile.detector import Family, Token
from stemcache.text.volatile.phrase import phrase

__all__ = ["id_sight"]

_REQUEST = re.compile(
    r"(?:nonce|cch|cb|csrf|cachebust(?:er)?|salt|rand(?:om)?|prev[_-]?req|cc_prev_req"
    r"|trace[_-]?parent|rid|tid"
    r"|(?:request|req|trace|span|run|message|msg|correlation|call|transaction|invocation|turn"
    r"|execution|job)(?:[ _-]?(?:id|key|token|uuid|guid|hash))?)$",
    re.IGNORECASE,
)
_CONVERSATION = re.compile(
    r"(?:sid|(?:session|conversation|thread|chat)(?:[ _-]?(?:id|key|token|uuid|guid|hash))?)$",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"(?:user|customer|tenant|account|organi[sz]ation|org|client|device|workspace)"
    r"[ _-]?(?:id|uuid|guid)$",
    re.IGNORECASE,
)
_SUFFIXED = re.compile(r"(?:id|key|token|uuid|guid|hash|nonce|cch|req|parent)$", re.IGNORECASE)
_NAMED = re.compile(r"(.+?)\"?\s?[=:]\s?[\"']?(.*)", re.DOTALL)
_BEGINS = re.compile(
    r"(?:^|[{,;(\[<|])[^\w]{0,8}(?:(?:your|this|the|current|x)[\s_-]){0,2}$", re.IGNORECASE
)
_OF_THIS = re.compile(
    r"\b(?:this\sis|you\sare\s(?:on|at|in)|current(?:ly)?(?:\son)?|now\s(?:on|at))"
    r"\s?(?:the\s)?\W{0,4}$",
    re.IGNORECASE,
)
_OF_A_REQUEST = re.compile(
    r"\b(?:nonce|(?:request|req|trace|span|run|correlation|invocation|call|transaction|message)"
    r"[\s_-]?(?:id|uuid|key|token)?)\W{0,6}(?:is\s)?$",
    re.IGNORECASE,
)
_OF_A_CONVERSATION = re.compile(
    r"\b(?:session|conversation|thread|chat)[\s_-]?(?:id|uuid|key|token)?\W{0,6}(?:is\s)?$",
    re.IGNORECASE,
)
_CHECKSUM = re.compile(
    r"(?:sha-?\d{0,3}|md5|digest|checksum|hash|commit|revision|rev|integrity|fingerprint|blob|tree"
    r"|etag|image|@)[\w\s:=@/\"'`(-]{0,24}$",
    re.IGNORECASE,
)
_FILLED_IN = re.compile(r"(?:12345678-1234-|(?P<one>[0-9a-f])(?P=one){7}-)", re.IGNORECASE)
"""UUIDs that stand for one, as all noughts do."""
_OBJECT = re.compile(r"<[^<>\n]{1,80}\sat\s$")
"""Ahead of an address: how Python shows an object that has no text of its own."""
_RUNS = re.compile(r"[0-9A-Za-z]+")
_PLAIN = re.compile(r"\d+[A-Za-z]*|[A-Za-z]+\d+")
_ADDRESS = re.compile(r"https?://\S*$")
_ONE_SESSION = re.compile(
    r"[/?&](?:sessions?|threads?|runs?|sid|session_?id)[/=_-][^/?&=]{0,80}\d", re.IGNORECASE
)
_COUNTER = re.compile(
    r"(?:turn|iteration|tick|poll|requests?|messages|counter|seq)[\s\w.]{0,12}[:=]\s?#?\d{1,9}",
    re.IGNORECASE,
)
"""`turn: 7`, `request count=12`, but not `message 1`, a heading."""
_HEX_DIGITS = 32
_LONG_TAIL = 12
_RANDOM_PATH = re.compile(
    r"/var/folders/|/tmp/(?:[\w.-]{0,60}/)?tmp[a-z0-9_]{6,}|[0-9a-f]{8}-[0-9a-f]{4}-"
)


def id_sight(line: Line, token: Token) -> Sight | None:
    """What an id of a line is, or None where it may stay."""
    ahead = line.ahead(token.start)
    if is_supposed(ahead) or _ADDRESS.search(line.text, max(0, token.start - 400), token.start):
        return None
    begins = _BEGINS.search(line.text, max(0, token.start - 48), token.start) is not None
    piece = line.text[token.start : token.end]
    shown = piece.startswith("0x") and _OBJECT.search(ahead) is not None
    told = (False, True) if shown else _told(token, piece, ahead, begins=begins)
    if told is None:
        return None
    said, each_request = told
    return Sight(
        at=token.start,
        family=Family.ID,
        what="an object's address" if shown else phrase(token.name, ""),
        said=said,
        each_request=each_request,
    )


def _told(token: Token, piece: str, ahead: str, *, begins: bool) -> tuple[bool, bool] | None:
    """Whether words say so, and whether it changes with each request."""
    if token.name == "billing header":
        return True, True
    if token.name == "id":
        return _counted(piece, begins=begins) or _named(piece, ahead, begins=begins)
    if token.name == "counter":
        return (True, True) if _OF_THIS.search(ahead) else _counted(piece, begins=begins)
    if token.name == "session address":
        return (False, False) if _ONE_SESSION.search(piece) else None
    if token.name == "temporary path":
        return (False, False) if _RANDOM_PATH.search(piece) else None
    if token.name in {"random token", "random suffix"}:
        return None
    if _FILLED_IN.match(piece) or not _is_machine_made(token, piece, ahead):
        return None
    if _OF_A_REQUEST.search(ahead):
        return True, True
    if _OF_A_CONVERSATION.search(ahead):
        return True, False
    return False, False


def _is_machine_made(token: Token, piece: str, ahead: str) -> bool:
    if token.name == "hex digest":
        return len(piece.removeprefix("0x")) == _HEX_DIGITS and not _CHECKSUM.search(ahead)
    if token.name == "request id":
        return len(re.split(r"[_-]", piece, maxsplit=1)[1]) >= _LONG_TAIL
    return True


def _counted(piece: str, *, begins: bool) -> tuple[bool, bool] | None:
    return (True, True) if begins and _COUNTER.fullmatch(piece) else None


def _named(piece: str, ahead: str, *, begins: bool) -> tuple[bool, bool] | None:
    if ahead[-1:] == "-":
        return None
    named = _NAMED.fullmatch(piece)
    assert named is not None, "an id is a name and a value"
    name, value = named.groups()
    random = _is_random(value)
    if _WHO.search(name):
        return (False, False) if begins else None
    if not random and not (begins and _SUFFIXED.search(name)):
        return None
    if _REQUEST.search(name):
        return True, True
    if _CONVERSATION.search(name):
        return True, False
    return None


def _is_random(value: str) -> bool:
    """`a8f3c1` and `9b2f0c1e-…`, but no version, date, number or name of a model."""
    return any(
        len(run) >= 6 and sum(map(str.isdigit, run)) >= 2 and not _PLAIN.fullmatch(run)
        for run in _RUNS.findall(value)
    )
