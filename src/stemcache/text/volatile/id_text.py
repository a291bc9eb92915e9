"""Forms of identifiers that are new with every request or session.

An id is told by its form (a UUID, a known prefix, digits and letters mixed as no word is) or by the
name in front of it (`nonce=`, `session:`). Words, version numbers and plain numbers are none.
"""

import re
from re import Match

from stemcache.text.volatile.detector import Detector, Family

__all__ = ["IDS"]

_PREFIX = (
    "(?:req|request|msg|message|toolu|srvtoolu|call|resp|sess|session|conv|conversation|chatcmpl"
    "|cmpl|run|thread|trace|span|step|evt|event|txn|job|task|batch|gen|inv|corr|rs|fc|ws|ctx"
    "|user|usr|chat|exec|pid|sid|rid|tid|uid)"
)
_NAME = (
    r"(?:cch|nonce|salt|seed|rand(?:om)?|csrf|etag|cachebust(?:er)?|cb|sig(?:nature)?|checksum"
    r"|digest|fingerprint|sid|rid|tid|guid|uuid"
    r"|(?:session|request|req|trace|span|run|message|msg|conversation|thread|correlation|call"
    r"|transaction|invocation|job|chat|turn|execution)(?:[ _-]?(?:id|key|token|uuid|guid|hash))?"
    r"|(?:user|customer|tenant|account|organi[sz]ation|org|client|device|workspace)"
    r"[ _-]?(?:id|uuid|guid)|prev[_-]?req|cc_prev_req|trace[_-]?parent)"
)


def _mixed(text: str) -> int:
    """How often letters and digits, or cases inside a word, take turns."""
    turns = 0
    last = ""
    for char in text:
        sort = "d" if char.isdigit() else "u" if char.isupper() else "l" if char.isalpha() else ""
        # One capital before small letters begins a word, as in camelCase.
        turns += bool(sort and last and sort != last and (last, sort) != ("u", "l"))
        last = sort or last
    return turns


def _hex(found: Match[str]) -> bool:
    text = found.group()
    digits = sum(map(str.isdigit, text))
    if not 0 < digits < len(text):
        return False
    # 3e10 and 2024abc are hexadecimal too, but long runs or frequent turns are not written by hand.
    return len(text) >= 16 or _mixed(text) >= 2


def _random(found: Match[str]) -> bool:
    text = found.group()
    digits = sum(map(str.isdigit, text))
    if digits < 2 or digits == len(text.replace("-", "").replace("_", "")):
        return False
    cased = text.lower() != text and text.upper() != text
    return cased and _mixed(text) * 4 >= len(text)


def _prefixed(found: Match[str]) -> bool:
    tail = re.split(r"[_-]", found.group(), maxsplit=1)[1]
    return any(map(str.isdigit, tail)) and (_mixed(tail) >= 2 or len(tail) >= 16)


def _named(found: Match[str]) -> bool:
    value = re.split(r"[=:]\s?[\"']?", found.group(), maxsplit=1)[-1]
    if any(map(str.isdigit, value)):
        return len(value) >= 4 or value.isdigit()
    return len(value) >= 8 and _mixed(value) >= 3


def _suffix(found: Match[str]) -> bool:
    text = found.group()
    return _mixed(text) >= 3 and text[:1] != "v"


IDS = (
    Detector(
        "billing header",
        Family.ID,
        r"(?m:^)[ \t]{0,8}x-anthropic-billing-header:[^\n]{0,600}",
    ),
    Detector(
        "UUID",
        Family.ID,
        r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        r"|[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12})(?![0-9A-Za-z])",
    ),
    Detector(
        "session address",
        Family.ID,
        r"\bhttps?://[^\s\"'<>]{1,200}?[/?&=](?:sessions?|share|threads?|runs?|chats?|code|sid"
        r"|session_id|sessionId)[/=_-][^\s\"'<>]{3,200}",
        lambda found: any(map(str.isdigit, found.group().rsplit("/", 1)[-1])),
    ),
    Detector(
        "temporary path",
        Family.ID,
        r"(?<![\w/])(?:/private)?(?:/var/folders|/tmp|/var/tmp)/[\w.@+-]{1,80}"
        r"(?:/[\w.@+-]{1,80}){0,12}"
        r"|(?<![\w/])[\w./~-]{0,80}/(?:scratchpad|sessions?|worktrees)/[\w.@+-]{4,80}"
        r"(?:/[\w.@+-]{1,80}){0,8}",
        lambda found: any(map(str.isdigit, found.group())) or "tmp" in found.group()[4:],
    ),
    Detector(
        "request id",
        Family.ID,
        rf"(?<![A-Za-z0-9]){_PREFIX}[_-][A-Za-z0-9]{{6,64}}(?![A-Za-z0-9])",
        _prefixed,
    ),
    Detector(
        "id",
        Family.ID,
        rf"(?<![A-Za-z0-9])(?i:{_NAME})\"?\s?[=:]\s?[\"']?[A-Za-z0-9+/_.-]{{1,128}}={{0,2}}",
        _named,
    ),
    Detector(
        "ULID",
        Family.ID,
        r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])",
        lambda found: _mixed(found.group()) >= 4,
    ),
    Detector(
        "hex digest",
        Family.ID,
        r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9a-f]{6,128}|[0-9A-F]{6,128})(?![0-9A-Za-z])",
        _hex,
    ),
    Detector(
        "counter",
        Family.ID,
        r"(?<![A-Za-z])(?i:turn|iteration|attempt|round|request|message|messages|counter|seq"
        r"|sequence|tick|poll|invocation|call|requests)"
        r"(?:\s(?i:number|no\.?|count|id|so\sfar))?\s?[:=#]?\s?#?\d{1,9}(?![\w.]|,\d)",
    ),
    Detector(
        "random token",
        Family.ID,
        r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,512}={0,2}(?![A-Za-z0-9+/_=-])",
        _random,
    ),
    Detector(
        "random suffix",
        Family.ID,
        r"(?<=[-_])[a-z0-9]{6,16}(?![A-Za-z0-9])",
        _suffix,
    ),
)
"""Most telling first: at one place the first that matches wins."""
