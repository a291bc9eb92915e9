r"""The same words stand there with other blanks.

## What it finds

Text that is equal to the request before once white space and invisible characters (byte order
mark, zero-width blanks) are left out: a blank at an end, another kind of line end, an empty line
more.

## Why it costs

To a tokenizer white space is text. One trailing newline that is there when a message is sent and
gone when it is replayed ends the shared prefix at that message, and all behind it is computed
again.

## Example

```diff
  user
- "Run the tests.\n"
+ "Run the tests."
```

## Use instead

Trim or normalise once, where a text is made, before it is first sent; then store and replay what
was sent. Two places that serialise the same message must share the code that does it.

## Limits

White space between the JSON's own tokens is no content: providers do not see it, and neither does
this rule.

## References

- anthropics/claude-code#48734: a trailing newline that differs
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM105",
    name="whitespace-change",
    kind="whitespace",
    summary="The same words with other blanks, line ends or trailing white space.",
    help=(
        "Normalise white space once, where the text is made, and store what was sent: a replayed"
        " message must be the same bytes, trailing blanks and line ends included."
    ),
    page=__doc__ or "",
)

_OTHER = frozenset({ChangeKind.REORDERED, ChangeKind.KEY_ORDER})
_UNSEEN = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\u00ad"))


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what is equal once white space and invisible characters are left out."""
    del pair
    if change.kind in {ChangeKind.INSERTED, ChangeKind.REMOVED}:
        spans = change.after + change.before
        blank = all(span.kind is SpanKind.TEXT and not _bare(span.text) for span in spans)
        if not spans or not blank:
            return None
    elif change.kind in _OTHER or not _same_words(change.old, change.new):
        return None
    return content_cause(RULE, change, f"only white space differs {where(change)}", "")


def _same_words(old: str, new: str) -> bool:
    return old != new and _bare(old) == _bare(new)


def _bare(text: str) -> str:
    return "".join(text.translate(_UNSEEN).split())
