"""Where two parts differ, and the error that says so. Pure.

```
kept    "… due at 12:00:01"      field text, character 15: kept '1', given '5'
given   "… due at 12:00:05"
```
What is compared is what a model reads. A block that an API wrote is compared as JSON, whatever the
order of its members and with nulls left out, for clients write both as they like; ids, texts,
arguments and images are compared character by character. A member beside a text or a call counts
where both sides have it: clients leave them out, and the one that is kept is the one that is sent.
"""

import json
from typing import Any, NamedTuple

from stemcache.errors import UsageError
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.wire.api import Api

__all__ = ["Difference", "RewrittenError", "difference"]

_TELL_FAILED = frozenset({Api.MESSAGES, Api.CONVERSE, Api.GENERATE})
_WHOLE = frozenset({"api", "failed", "speaker", "type"})
"""Fields that differ as a whole."""
_EXCERPT = 16
"""Characters of each side that an error may show."""


class Difference(NamedTuple):
    """The first difference of two parts."""

    field: str
    """`text`, `arguments`, `parts[0].text`; `type` where they are different things."""
    offset: int
    """Of the first character that differs, in the field as text."""
    kept: str = ""
    """At most 16 characters from there on; empty for images, files and blocks of an API."""
    given: str = ""
    hint: str = ""


class RewrittenError(UsageError):
    """A message that was there before is given otherwise, or no longer.

    `message` and `part` say where in the conversation, `field` and `offset` what differs and from
    which character on, `given` where in the list that was given. Nothing was appended.
    """

    def __init__(
        self, *, message: int, part: int, found: Difference | None, given: str, hint: str = ""
    ) -> None:
        self.message = message
        self.part = part
        self.field = "part" if found is None else found.field
        self.offset = 0 if found is None else found.offset
        self.given = given
        if found is None:
            what = f"is missing at {given}"
        else:
            from_on = "" if found.field in _WHOLE else f" from character {found.offset} on"
            place = found.field + from_on
            shown = f" (kept {found.kept!r}, given {found.given!r})" if any(found[2:4]) else ""
            what = f"differs in {place} at {given}{shown}"
        because = hint or ("" if found is None else found.hint)
        super().__init__(
            f"message {message}, part {part}, {what}{'; ' if because else ''}{because}; what was "
            f"sent once stays: give it as it was, or go on from conversation.fork({message})"
        )


def difference(kept: Part, given: Part, api: Api) -> Difference | None:
    """The first difference, None where there is none that `api` tells of. Linear."""
    match kept, given:
        case (Text(), Text()):
            return _texts("text", kept.text, given.text) or _beside(kept.beside, given.beside)
        case (Image(), Image()):
            return _media(kept, given)
        case (Document(), Document()):
            return _media(kept, given) or _names(kept.name, given.name, api)
        case (ToolCall(), ToolCall()):
            return (
                _texts("id", kept.id, given.id)
                or _texts("name", kept.name, given.name)
                or _arguments(kept.arguments, given.arguments)
                or _beside(kept.beside, given.beside)
            )
        case (ToolResult(), ToolResult()):
            return _results(kept, given, api)
        case (Thinking(), Thinking()):
            return _blocks(kept.api, kept.json, given.api, given.json)
        case (Native(), Native()):
            return _blocks(kept.api, kept.json, given.api, given.json)
    return Difference("type", 0, type(kept).__name__, type(given).__name__)


def _texts(field: str, kept: str, given: str, *, show: bool = True) -> Difference | None:
    if kept == given:
        return None
    low, high = 0, min(len(kept), len(given))
    while low < high:  # by halves: texts may be megabytes, and slices compare fast
        middle = (low + high + 1) // 2
        if kept[low:middle] == given[low:middle]:
            low = middle
        else:
            high = middle - 1
    if not show:
        return Difference(field, low)
    return Difference(field, low, kept[low : low + _EXCERPT], given[low : low + _EXCERPT])


def _media(kept: Image | Document, given: Image | Document) -> Difference | None:
    found = _texts("base64", kept.base64 or "", given.base64 or "", show=False)
    found = found or _texts("url", kept.url or "", given.url or "", show=False)
    if found is None and kept.base64 is not None:  # of an address the type is a guess
        found = _texts("media_type", kept.media_type, given.media_type)
    return found


def _names(kept: str, given: str, api: Api) -> Difference | None:
    """Names of files, which some APIs make up, and Converse wants unlike each other."""
    if not kept or not given or api is Api.CONVERSE:
        return None
    return _texts("name", kept, given)


def _results(kept: ToolResult, given: ToolResult, api: Api) -> Difference | None:
    found = _texts("call_id", kept.call_id, given.call_id)
    if found is None and kept.name and given.name:
        found = _texts("name", kept.name, given.name)
    if found is None and kept.failed != given.failed and api in _TELL_FAILED:
        found = Difference("failed", 0, str(kept.failed), str(given.failed))
    if found is not None:
        return found
    for i, (one, other) in enumerate(zip(kept.parts, given.parts, strict=False)):
        inside = difference(one, other, api)
        if inside is not None:
            return inside._replace(field=f"parts[{i}].{inside.field}")
    if len(kept.parts) != len(given.parts):
        at = min(len(kept.parts), len(given.parts))
        return Difference(f"parts[{at}]", 0)
    return None


def _arguments(kept: str, given: str) -> Difference | None:
    found = _texts("arguments", kept, given)
    if found is not None and _sorted(kept) == _sorted(given) is not None:
        return found._replace(
            hint="the same values in another order or with other blanks: pass on the string that "
            "the model wrote"
        )
    return found


def _beside(kept: Native | None, given: Native | None) -> Difference | None:
    if kept is None or given is None or kept.api is not given.api or kept.json == given.json:
        return None
    ours, theirs = _value(kept.json), _value(given.json)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        common = ours.keys() & theirs.keys()
        ours = {name: ours[name] for name in common}
        theirs = {name: theirs[name] for name in common}
    return _values("beside", ours, theirs)


def _blocks(kept_api: Api, kept: str, given_api: Api, given: str) -> Difference | None:
    if kept_api is not given_api:
        return Difference("api", 0, kept_api, given_api)
    if kept == given:
        return None
    ours, theirs = _value(kept), _value(given)
    if ours is None or theirs is None:
        return _texts("json", kept, given, show=False)
    return _values("json", ours, theirs)


def _values(field: str, kept: Any, given: Any) -> Difference | None:
    """The first difference of two JSON values, with the way to it: `json.content[0].text`."""
    if isinstance(kept, dict) and isinstance(given, dict):
        for name in sorted(kept.keys() | given.keys()):
            if name not in kept or name not in given:
                return Difference(f"{field}.{name[:40]}", 0)
            found = _values(f"{field}.{name[:40]}", kept[name], given[name])
            if found is not None:
                return found
        return None
    if isinstance(kept, list) and isinstance(given, list):
        for i, (one, other) in enumerate(zip(kept, given, strict=False)):
            found = _values(f"{field}[{i}]", one, other)
            if found is not None:
                return found
        same = len(kept) == len(given)
        return None if same else Difference(f"{field}[{min(len(kept), len(given))}]", 0)
    if isinstance(kept, str) and isinstance(given, str):
        return _texts(field, kept, given, show=False)
    # As texts: in Python, true equals 1.
    return _texts(field, _dumped(kept), _dumped(given), show=False)


def _sorted(text: str) -> str | None:
    value = _value(text)
    return None if value is None else _dumped(value)


def _value(text: str) -> Any:
    try:
        return _without_nulls(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
