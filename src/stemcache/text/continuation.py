"""A conversation whose last message is to be continued rather than answered.

The template is given the last message with a mark at its end, and the text ends where the mark
stands: whatever the template writes behind a message is left away.
"""

from collections.abc import Mapping, Sequence

from stemcache.errors import RequestError
from stemcache.text.chat_template import ChatTemplate

__all__ = ["render_continued"]

_MARK = "STEMCACHE_CONTINUES_HERE"


def render_continued(
    template: ChatTemplate,
    messages: Sequence[Mapping[str, object]],
    *,
    tools: Sequence[Mapping[str, object]] = (),
    values: Mapping[str, object] | None = None,
) -> str:
    """The text up to the end of the last message's content.

    Space at its end goes where the template trims it. Raises RequestError where there is no text
    to continue or the template leaves it out.
    """
    content = messages[-1].get("content") if messages else None
    marked: object
    if isinstance(content, str):
        marked = content + _MARK + " "
    elif isinstance(content, list) and content and isinstance(content[-1], Mapping):
        last = content[-1]
        marked = [*content[:-1], {**last, "text": f"{last.get('text', '')}{_MARK} "}]
    else:
        raise _nothing()
    text = template.render(
        [*messages[:-1], {**messages[-1], "content": marked}],
        tools=tools,
        add_generation_prompt=False,
        values=values,
    )
    at = text.rfind(_MARK)
    if at < 0:
        raise _nothing()
    kept = text[:at]
    return kept if text.startswith(" ", at + len(_MARK)) else kept.rstrip()


def _nothing() -> RequestError:
    return RequestError(
        "continue_final_message is set, but the last message has no text that the model's chat "
        "template writes; send one with content"
    )
