"""Marks put into a body that is made: a copy, of which only what bears a mark is another object.

```
/system            "You are …"      ──►  [{"type": "text", "text": "You are …", "cache_control": …}]
/messages/3        {"content": "…"} ──►  {"content": [{"type": "text", …, "cache_control": …}]}
/messages/3/content/1  {…}          ──►  {…, "cache_control": …}
/messages/3/content/1  (Converse)   ──►  the block, and behind it {"cachePoint": …}
```
In Chat and Responses texts become lists of one part, marked or not, wherever a mark could come to
stand, as our renderers write them: then a mark that moves on changes nothing that it leaves behind.
What the API takes as a string only stays one: answers in Responses, and outputs of its own tools.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.render.openai import breakpoint_of, with_cache_options
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api

__all__ = ["written"]

_LISTED = {Api.CHAT: ("messages", "text"), Api.RESPONSES: ("input", "input_text")}
"""By API, the name of its messages, and the type of a text that is sent."""
_OUTPUTS = frozenset({"custom_tool_call_output", "function_call_output"})
"""Items of Responses whose `output` is a text or a list of parts; of others it is a text."""
_STRINGS = {Api.CHAT: "function", Api.RESPONSES: "assistant"}
"""By API, the role whose texts are strings: a list of an answer needs the API's annotations."""


def written(
    body: Mapping[str, Any], prompt: Prompt, placement: Placement, *, breakpoints: bool
) -> dict[str, Any]:
    """A copy with the marks. `prompt` is what the body was read into: boundary i is span i - 1.

    `breakpoints`: marks are OpenAI's, also in chats; else they are Anthropic's `cache_control`.
    Raises UsageError for boundaries that there are not, where a message or an item has no place for
    a mark, and for an API that has no marks.
    """
    made = dict(body)
    api = prompt.api
    if api is Api.GENERATE or api is Api.COMPLETIONS:
        if placement.marks:
            raise UsageError(f"{api} has no marks; place none, or make an object of the prefix")
        return made
    if breakpoints:
        made = with_cache_options(made, placement)
    if api in _LISTED:  # also without a mark: the next request may have its first
        _list_all(made, api)
    for mark in reversed(placement.marks):  # from the end: cache points are inserted
        if not 0 < mark.boundary <= len(prompt.spans):
            raise UsageError(
                f"a mark at boundary {mark.boundary}, among {len(prompt.spans)} blocks; "
                "boundaries go from 1 to the number of blocks"
            )
        _write(made, prompt, mark, breakpoints=breakpoints)
    return made


def _write(body: dict[str, Any], prompt: Prompt, mark: Placed, *, breakpoints: bool) -> None:
    span = prompt.spans[mark.boundary - 1]
    ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
    keys = span.pointer.split("/")[1:]
    if prompt.api is Api.CONVERSE:
        holder = _opened(body, keys[:-1])
        holder.insert(int(keys[-1]) + 1, {"cachePoint": {"type": "default", **ttl}})
        return
    member = breakpoint_of(mark) if breakpoints else {"cache_control": {"type": "ephemeral", **ttl}}
    if keys == ["system"]:
        body["system"] = [{"type": "text", "text": span.text, **member}]
        return
    node = _opened(body, keys)
    for name in ("content", "output"):
        inside = node.get(name)
        is_string = isinstance(inside, str) and prompt.api not in _LISTED
        if is_string and node.get("type") not in {"tool_result", "text"}:
            node[name] = [{"type": "text", "text": inside, **member}]
            return
        if isinstance(inside, list) and inside and len(keys) < 3 and prompt.api in _LISTED:
            node[name] = [*inside[:-1], {**inside[-1], **member}]
            return
    if prompt.api in _LISTED and len(keys) == 2:
        raise UsageError(
            f"a mark at boundary {mark.boundary}, where {prompt.api} lets none stand; "
            "place it behind a text of a user's, a developer's or a tool's"
        )
    node.update(member)


def _opened(body: dict[str, Any], keys: Sequence[str]) -> Any:
    """The node there, with all on the way to it copied, so that it may be changed."""
    node: Any = body
    for key in keys:
        at: Any = int(key) if isinstance(node, list) else key
        inner = node[at]
        node[at] = list(inner) if isinstance(inner, list) else dict(inner)
        node = node[at]
    return node


def _list_all(body: dict[str, Any], api: Api) -> None:
    name, _ = _LISTED[api]
    messages = body.get(name)
    if isinstance(messages, list):
        body[name] = [_listed(one, api) for one in messages]


def _listed(item: Any, api: Api) -> Any:
    name = _text_member(item, api) if isinstance(item, dict) else None
    text = None if name is None else item.get(name)
    if not isinstance(text, str) or not text:
        return item
    return {**item, name: [{"type": _LISTED[api][1], "text": text}]}


def _text_member(item: Mapping[str, Any], api: Api) -> str | None:
    """The member of a message, or an item, that may be a list of parts as well as a string."""
    kind = item.get("type")
    if api is Api.RESPONSES and isinstance(kind, str) and kind != "message":
        return "output" if kind in _OUTPUTS else None
    return None if item.get("role") == _STRINGS[api] else "content"
