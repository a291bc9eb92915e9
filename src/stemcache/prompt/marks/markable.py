"""Behind which pieces an API lets a mark stand, by the types of its official client.

```
            tool   system   user's text, image, file   result   call   answer's text   thought
messages     ●       ●                 ●                 ●       ●          ●             ○
converse     ●       ●                 ●                 ●       ●          ●             ○
chat         ○       ●                 ●                 ●       ○          ●             ○
responses    ○       ●                 ●                 ●       ○          ○             ○
generate     ○    its end     the end of a message: an object holds whole contents
```
Whether OpenAI takes one on an answer's text in a chat is contested: its types have the member
there, others say that it is refused. Servers of `cache_control` take theirs, so it is allowed here;
where a rule has breakpoints `place` sets none on answers (`breakpoints.without_answers`).

Never behind an empty text, nor behind what is passed on byte for byte: a mark would change it. In
Chat and Responses the mark of a result stands on its last part, so that one of nothing has none.
"""

from stemcache.prompt.message import Speaker
from stemcache.prompt.part import Document, Native, Part, Text, Thinking, ToolCall, ToolResult
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["is_markable"]


def is_markable(
    api: Api | None, section: Section, part: Part | None, speaker: Speaker, *, ends: bool
) -> bool:
    """`part` is None for a tool; `ends`: it ends its message or section. `api` None: any API."""
    if api is Api.COMPLETIONS:
        return False
    if api is Api.GENERATE:
        return ends and section is not Section.TOOLS
    if isinstance(part, Thinking | Native) or (isinstance(part, Text) and _is_blank(part)):
        return False
    if api is Api.CONVERSE and isinstance(part, Document) and part.media_type != "application/pdf":
        return False  # Bedrock takes their text first, and answers 400 to a mark behind one
    if api is Api.CHAT or api is Api.RESPONSES:
        if part is None or isinstance(part, ToolCall):
            return False
        if isinstance(part, ToolResult) and _ends_blank(part):
            return False
        return speaker == "user" or api is Api.CHAT
    return True


def _ends_blank(result: ToolResult) -> bool:
    """Whether there is nothing in it, or white space at its end. Empty texts are not sent."""
    sent = [part for part in result.parts if not isinstance(part, Text) or part.text]
    return not sent or (isinstance(sent[-1], Text) and _is_blank(sent[-1]))


def _is_blank(part: Text) -> bool:
    return not part.text.strip()
