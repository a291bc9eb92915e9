"""Text that is new with every request stands in front of text that is not.

## What it finds

Memories, retrieved passages, a user's name or profile, the question itself, or any block that one
request has and the next has not, ahead of a corpus, a history or instructions that both share.

## Why it costs

What requests share can be read only as far as it is at the front. One line that is the request's
own, ahead of a corpus of 100,000 tokens, makes each request pay for the corpus.

## Example

```diff
  user
- Question: what is the notice period?
+ Question: who may sign?
  <corpus> … 100,000 tokens … </corpus>
```

## Use instead

Order a prompt by how seldom its parts change: instructions and corpus, then what a user or a
session shares, then memories and passages, and the question last. Put a marker where the shared
part ends. Retrieved passages that must stand first are better kept in the order of their ids than
of their scores, so that equal sets are equal texts.

```diff
  user
  <corpus> … 100,000 tokens … </corpus>
+ Question: who may sign?
```

## Limits

Where a system prompt differs, an edit and a varying passage look alike. It is called varying where
a heading names memory, documents, a question, a profile or the like, where long passages have few
words in common, and where a first line is a question, is new altogether, or holds an id or a clock
as well. Else it is `edited-prompt`, unless a log shows several texts that alternate in that place,
such as the names of users. Text that differs at the very end of a prompt costs nothing and
is no finding.

## References

- NousResearch/hermes-agent#1203, jayzeng/pi-memory#12, Yeachan-Heo/gajae-code#2340: memory first
- open-webui/open-webui#30239, superlinear-ai/raglite#49: retrieved passages first
- bastani-inc/atomic#2493: the criterion before the shared body, 5.2% to 78.4% once moved
- Systemorph/MeshWeaver#2108: 53% to 98.2% once moved behind the history
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
"""

import re
from dataclasses import replace

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.change_class import class_of
from stemcache.lint.content_cause import content_cause
from stemcache.lint.history import follows, leads_messages
from stemcache.lint.place import around, earlier_on_line, where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["RULE", "alternating_cause", "explains"]

RULE = LintRule(
    code="STM104",
    name="varying-context",
    kind="varying-context",
    summary="Text that is new with every request, in front of text that is not.",
    help=(
        "Order the prompt by how often its parts change: first what all requests share, byte for"
        " byte, then what a user or session shares, last what only this request has. Move the text"
        " {where} behind the shared part, and put a marker between the two."
    ),
    page=__doc__ or "",
)

_CONTEXT = re.compile(
    r"memor(?:y|ies)|recall|remember|retriev|context|document|passage|knowledge|search results?"
    r"|profile|preferences?|persona|user[ _]?(?:info|data|name)|customer|about the user|facts?"
    r"|relevant|snippets?|chunks?|excerpts?|sources?|references?|\brag\b|reminder|criteri(?:on|a)"
    r"|question|query|request|task",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t]{0,8}(?:</?[\w:-][\w: -]{0,60}|#{1,6} [^\n]{1,80}"
    r"|\[[^\n\]]{1,60}\]|[^\n:.<*-][^\n:.]{0,60}:)",
    re.MULTILINE,
)
"""A line that says what follows: a tag, a heading, words with a colon."""
_HEADING_CHARS = 800
_LONG_CHARS = 160
_HEAD_CHARS = 24
"""On the first line of a prompt a shorter text is enough: that is where requests put theirs."""


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims text of system and users ahead of the shared part, where it does not look edited."""
    if change.section is Section.TOOLS:
        return None
    sort = _of_system(change, pair) if change.section is Section.SYSTEM else _of_user(change, pair)
    if sort is None:
        return None
    place = where(change)
    message = {
        "inserted": f"text that only this request has stands {place}",
        "request": f"text of this request alone stands {place}, ahead of shared text",
        "passage": f"a passage differs from request to request {place}",
    }[sort]
    if change.kind is ChangeKind.REPLACED:
        message = f"the text differs from here on {place}"
    return content_cause(RULE, change, message, sort, fields=(("where", where(change)),))


def alternating_cause(cause: Cause) -> Cause:
    """What looked edited in each pair, where the log shows that several texts come and go.

    One pair cannot tell a release from a user's name; a group of them can. Place, shapes, texts and
    group stay as they are.
    """
    place = "in the system prompt"
    return replace(
        cause,
        rule=RULE,
        kind=RULE.kind,
        message=f"different texts alternate {place}",
        fields=(("where", place),),
    )


def _of_system(change: Change, pair: Pair) -> str | None:
    if change.kind in {ChangeKind.INSERTED, ChangeKind.REMOVED}:
        spans = change.after or change.before
        told = any(_headed(span.text[:_HEADING_CHARS], first=True) for span in spans)
        return "inserted" if told else None
    if _under_context(change):
        return "passage"
    near = around(change)
    head = change.char is not None and "\n" not in near.before and change.char < _HEADING_CHARS
    if head and near.line.rstrip().endswith("?"):
        return "passage"
    if _unlike(change.old, change.new, _HEAD_CHARS if head else _LONG_CHARS):
        return "passage"
    # A line with a clock or an id in it is written for the request as a whole.
    return "passage" if any(map(_varies, earlier_on_line(change, pair))) else None


def _varies(change: Change) -> bool:
    return class_of(change) is not None or _under_context(change)


def _of_user(change: Change, pair: Pair) -> str | None:
    if change.kind is ChangeKind.REORDERED or change.kind is ChangeKind.KEY_ORDER:
        return None
    span = next(iter(change.after or change.before), None)
    if span is None or span.role not in {"user", "system", "developer"}:
        return None
    if span.kind not in {SpanKind.TEXT, SpanKind.DOCUMENT}:
        return None
    if _went_on(change, pair):
        return None
    if change.kind is ChangeKind.INSERTED:
        return "inserted"
    if change.after and not follows(change.after[0], pair.child):
        return "request"
    index = change.after_index if change.after else change.before_index
    if change.kind is ChangeKind.REMOVED or not leads_messages(pair.child, index):
        return None
    if _under_context(change) and _unlike(change.old, change.new, _HEAD_CHARS):
        return "passage"
    return None


def _went_on(change: Change, pair: Pair) -> bool:
    """Whether the place is in the parent's newest message, and the conversation went on from it.

    What the two requests then have in common behind it, such as a reminder that is put behind each
    newest message, is nothing that a question should be moved behind.
    """
    spans, at = pair.parent.spans, change.before_index
    if not 0 <= at < len(spans) or spans[at].message != spans[-1].message:
        return False
    if not change.after:
        return False
    there = change.after[-1]
    if change.before and there.text and there.text in change.before[0].text:
        return True
    return there.message > spans[-1].message


def _under_context(change: Change) -> bool:
    """Whether the nearest heading above the place names memory, documents or the like."""
    near = around(change)
    own = near.before[-_HEADING_CHARS:] + change.new[:_LONG_CHARS].partition("\n")[0]
    if _headed(own, first=False):
        return True
    windows = (change.old or change.new, change.new or change.old)
    return all(_headed(window[:_HEADING_CHARS], first=True) for window in windows)


def _headed(text: str, *, first: bool) -> bool:
    """Whether the first (or the last) heading in a text names what varies, and is not closed."""
    headings = _HEADING.findall(text)
    if not headings:
        return False
    heading: str = headings[0 if first else -1].strip()
    return not heading.startswith("</") and _CONTEXT.search(heading) is not None


def _unlike(old: str, new: str, least: int) -> bool:
    """Whether two texts of some length have fewer words in common than an edit would leave."""
    if len(old) < least or len(new) < least:
        return False
    ours, theirs = set(old.split()), set(new.split())
    return len(ours & theirs) * 2 < min(len(ours), len(theirs))
