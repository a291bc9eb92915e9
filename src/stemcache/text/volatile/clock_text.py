"""Forms in which times, dates, ages and durations are written.

A bare pair of numbers is no clock: where digits alone would match prices, scores, phone or part
numbers, a word for time has to stand near by on the same line.
"""

import re
from re import Match

from stemcache.text.volatile.detector import Detector, Family

__all__ = ["CLOCKS"]

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = (
    "(?:Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:rs?(?:day)?)?|Fri(?:day)?"
    "|Sat(?:urday)?|Sun(?:day)?)"
)
_YEAR = r"(?:19|20)\d\d"
_MM = "(?:0[1-9]|1[0-2])"
_DD = r"(?:0[1-9]|[12]\d|3[01])"
_HOUR = r"(?:2[0-3]|[01]?\d)"
_HALF = r"(?:\s?[AaPp]\.?[Mm]\b\.?)"
_ZONE = (
    r"(?:\s?(?:Z\b|UTC\b|GMT\b|CES?T\b|[ECMP][SD]T\b|BST\b|IST\b|JST\b)"
    r"|\s?(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?(?!\d)){0,2}"
)
_SECONDS = r"(?::[0-5]\d(?:[.,]\d{1,9})?)"
_TIME = rf"{_HOUR}:[0-5]\d(?!\d){_SECONDS}?{_HALF}?{_ZONE}"
_UNIT = (
    "(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w"
    "|months?|mos?|years?|yrs?|y)"
)

_TIME_WORD = re.compile(
    r"(?<![a-z])(?:time|times|timestamp|date|dates|datetime|now|today|clock|ts|tstamp|epoch|unix"
    r"|updated|created|started|generated|modified|sent|received|seen|since|as of|current|day"
    r"|weekday|when|local|utc|expires?|until|exp|iat|at)(?![a-z])",
    re.IGNORECASE,
)
_DURATION_WORD = re.compile(
    r"(?<![a-z])(?:up|uptime|elapsed|running|age|idle|since|duration|took|spent|session|online"
    r"|active|runtime|latency|last|remaining|expires? in)(?![a-z])",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(
    r"(?<![a-z])(?:order|phone|tel|fax|call|isbn|ean|sku|invoice|account|part|serial|number|no"
    r"|id|ticket|card|customer|mobile|model)[\s.:#=_-]{0,3}$",
    re.IGNORECASE,
)


def _ahead(found: Match[str]) -> str:
    """What stands ahead of it on its line, 48 characters at most."""
    start = found.start()
    near = found.string[max(0, start - 48) : start]
    return near[near.rfind("\n") + 1 :]


def _time_word_near(found: Match[str]) -> bool:
    return _TIME_WORD.search(_ahead(found)) is not None


def _surely_clock(found: Match[str]) -> bool:
    text = found.group()
    if text.count(":") > 1 or text[-1:].isalpha() or text.endswith("."):
        return True
    return _time_word_near(found)


def _dated(found: Match[str]) -> bool:
    """Whether a date in words has a year, a weekday or a time, or is said to be a date."""
    text = found.group()
    if re.search(rf"{_YEAR}|:", text) or re.match(rf"{_DAY}\b", text):
        return True
    return _time_word_near(found)


def _unix(found: Match[str]) -> bool:
    text = found.group()
    whole, _, fraction = text.partition(".")
    seconds = int(whole) / 10 ** (len(whole) - 10)
    if not 978_307_200 <= seconds < 4_133_980_800:  # 2001 to 2100
        return False
    ahead = _ahead(found)
    if _NUMBER_WORD.search(ahead):
        return False
    # Ten digits are a phone number, thirteen a bar code, unless something says otherwise.
    return bool(fraction) or len(whole) > 13 or _TIME_WORD.search(ahead) is not None


def _lasting(found: Match[str]) -> bool:
    return _DURATION_WORD.search(_ahead(found)) is not None


CLOCKS = (
    Detector(
        "HTTP date",
        Family.CLOCK,
        rf"\b{_DAY},\s\d\d?\s{_MONTH}\s{_YEAR}\s{_TIME}",
    ),
    Detector(
        "Unix date line",
        Family.CLOCK,
        rf"\b{_DAY}\s{_MONTH}\s{{1,2}}\d\d?\s{_TIME}(?:\s[A-Z]{{3,5}})?\s{_YEAR}\b",
    ),
    Detector(
        "ISO time",
        Family.CLOCK,
        rf"(?<!\d){_YEAR}[-/.]{_MM}[-/.]{_DD}(?:T|_|,?\s){_TIME}",
    ),
    Detector(
        "ISO time",
        Family.CLOCK,
        rf"(?<!\d){_YEAR}{_MM}{_DD}[T_-]?{_HOUR}[0-5]\d(?:[0-5]\d)?(?:\.\d{{1,9}})?Z?(?!\d)",
        lambda found: not found.group().isdigit() or _time_word_near(found),
    ),
    Detector("ISO date", Family.CLOCK, rf"(?<![\d.-]){_YEAR}[-/]{_MM}[-/]{_DD}(?!\d)"),
    Detector(
        "date",
        Family.CLOCK,
        rf"(?<![\d./-]){_DD}[./-]{_MM}[./-]{_YEAR}(?:,?\s(?:at\s)?{_TIME})?(?![\d/])"
        rf"|(?<![\d./-])(?:0?[1-9]|1[0-2])/(?:[12]\d|3[01]|0?[1-9])/{_YEAR}"
        rf"(?:,?\s(?:at\s)?{_TIME})?(?![\d/])",
    ),
    Detector(
        "date in words",
        Family.CLOCK,
        rf"\b(?:{_DAY},?\s)?(?:the\s)?{_MONTH}\.?\s\d\d?(?:st|nd|rd|th)?\b(?:,?\s{_YEAR}\b)?"
        rf"(?:,?\s(?:at\s)?{_TIME})?"
        rf"|\b(?:{_DAY},?\s)?(?:the\s)?\d\d?(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b\.?"
        rf"(?:,?\s{_YEAR}\b)?(?:,?\s(?:at\s)?{_TIME})?",
        _dated,
    ),
    Detector(
        "relative time",
        Family.CLOCK,
        rf"\b(?:(?:\d{{1,6}}|an?|one|two|three|four|five|six|a\sfew|several|half\san)\s?"
        rf"{_UNIT}[\s,]{{0,2}}(?:and\s)?){{1,3}}ago\b"
        r"|\b(?:just\snow|(?:a\s)?moments?\sago|yesterday(?:\sat\s\d\d?:\d\d)?)\b",
    ),
    Detector("clock time", Family.CLOCK, rf"(?<![\w:.]){_TIME}(?![\d:])", _surely_clock),
    Detector(
        "clock time", Family.CLOCK, rf"(?<![\w:.$])(?:1[0-2]|[1-9]){_HALF}(?!\w)", _time_word_near
    ),
    Detector("Unix time in ns", Family.CLOCK, r"(?<![\w.])\d{19}(?![\w.])", _unix),
    Detector("Unix time in µs", Family.CLOCK, r"(?<![\w.])\d{16}(?![\w.])", _unix),
    Detector("Unix time in ms", Family.CLOCK, r"(?<![\w.])\d{13}(?:\.\d{1,6})?(?![\w.])", _unix),
    Detector("Unix time", Family.CLOCK, r"(?<![\w.+])\d{10}(?:\.\d{3,9})?(?![\w]|\.\d)", _unix),
    Detector(
        "duration",
        Family.CLOCK,
        rf"(?<![\w.$])(?:\d{{1,7}}(?:\.\d{{1,3}})?\s?{_UNIT}\b[\s,:]{{0,2}}(?:and\s)?){{1,4}}"
        r"(?<![\s,:])",
        _lasting,
    ),
    Detector(
        "duration",
        Family.CLOCK,
        r"(?<![\w:.])\d{1,5}:[0-5]\d(?::[0-5]\d)?(?![\d:])",
        _lasting,
    ),
    Detector(
        "weekday",
        Family.CLOCK,
        r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b",
        _time_word_near,
    ),
)
"""Most telling first: at one place the first that matches wins."""
