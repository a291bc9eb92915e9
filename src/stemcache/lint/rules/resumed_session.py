"""A resumed or forked session rebuilt its prompt in another way.

## What it finds

A request that goes on from one of another session (its log names both), or whose text says that a
session was resumed, and whose system prompt or history differs from what that session sent.

## Why it costs

The history is there, but rendered anew: other paths, dates, reminders, order of blocks. A fork or
a wake-up pays for the whole conversation again instead of reading it.

## Example

```diff
  session a, then its fork b
  system
- Scratch files: /tmp/session-a
+ Scratch files: /tmp/session-b
  … 300,000 tokens of history
```

## Use instead

Store requests as they were sent, and resume and fork from those bytes. Keep tools, system prompt,
parameters and the key for routing of the parent. Put what is new behind the history.

## Limits

Needs the log to name sessions, or a text that says so; else such a change is an edit to the other
rules. What is a clock or an id by itself is found as that.

## References

- anthropics/claude-code#42338, anthropics/claude-code#43657, anthropics/claude-code#67497: resume
- anthropics/claude-code#88412, anthropics/claude-code#91971: each wake of a fork writes anew
- anthropics/claude-code#77306, openai/codex#24704: forks
- nicobailon/pi-subagents#1682, langchain-ai/deepagents#2907: sub-agents
"""

import re

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM307",
    name="resumed-session",
    kind="resume",
    summary="A resumed or forked session rebuilt its prompt in another way.",
    help=(
        "Store the request as it was sent and resume from that: the same tools, system prompt and"
        " messages, byte for byte, and what is new behind them. A fork keeps its parent's session"
        " id, paths and key wherever they are part of the prompt."
    ),
    page=__doc__ or "",
)

_RESUMED = re.compile(
    r"(?:session|conversation)\s(?:was\s|is\s|has\sbeen\s|is\sbeing\s)?(?:resumed|restored|forked"
    r"|continued)|\bresum(?:ed|ing)\s(?:the\s|a\s|from\s)?(?:session|conversation|previous)",
    re.IGNORECASE,
)
_LEAST_SPANS = 3
_MARK_CHARS = 2000


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims changes of a history where the log, or the text, says that a session was resumed."""
    if change.section is Section.TOOLS:
        return None
    named = pair.child_call.session, pair.parent_call.session
    other = None not in named and named[0] != named[1]
    if other and _shares_history(pair):
        message = f"a session that goes on from another differs {where(change)}"
        return content_cause(RULE, change, message, "session")
    texts = [change.new[:_MARK_CHARS], *(span.text[:_MARK_CHARS] for span in change.after[:2])]
    if change.section is Section.MESSAGES and any(map(_RESUMED.search, texts)):
        return content_cause(RULE, change, f"a resumed session differs {where(change)}", "mark")
    return None


def _shares_history(pair: Pair) -> bool:
    """Whether a few spans of messages are the parent's. Looks no further than it has to."""
    shared = 0
    for span, at in zip(pair.child.spans, pair.divergence.aligned, strict=False):
        shared += span.section is Section.MESSAGES and at >= 0
        if shared == _LEAST_SPANS:
            return True
    return False
