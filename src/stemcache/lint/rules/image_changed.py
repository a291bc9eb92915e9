"""An image or a file was encoded anew, replaced by a text, or left out.

## What it finds

An image or document that is not the one of the request before at the same place: other bytes,
another address, a text such as a path in its stead, or nothing.

## Why it costs

An image counts by its bytes: encoding the same picture again gives others. All behind it is
computed again; an image in the first message costs the history. On some providers adding or
removing any image also drops the cached messages.

## Example

```diff
  messages/0/content/1
- image, 158,694 bytes
+ text: [image saved to disk]
```

## Use instead

Encode once and keep the bytes, or use the provider's file store and send the same id; signed
addresses change, so do not send those. Replace images by text only where the history is compacted
anyway, or before they are sent for the first time.

## Limits

Whether two files show the same picture is not looked at: bytes are compared.

## References

- anthropics/claude-code#91705: an image replaced by a pointer, 158,694 tokens written anew
- QwenLM/qwen-code#11627, QwenLM/qwen-code#11640: 7.85% to 99%
- zeroclaw-labs/zeroclaw#10701, cardstack/boxel#5789
- Anthropic, *Prompt caching*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import Span, SpanKind

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM305",
    name="image-changed",
    kind="image-changed",
    summary="An image or a file was encoded anew, replaced by a text, or left out.",
    help=(
        "Encode an image once and send the same bytes on every turn. To save tokens, replace images"
        " only where the history is compacted anyway, all of them at once, or before they are first"
        " sent."
    ),
    page=__doc__ or "",
)

_MEDIA = frozenset({SpanKind.IMAGE, SpanKind.DOCUMENT})
_ENDS = ("/source/data", "/source/url", "/image_url/url", "/image_url", "/inlineData/data")
_ENDS_TOO = ("/inline_data/data", "/file/file_data", "/file_data", "/source/bytes", "/fileUri")


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims images and files that are not what they were."""
    del pair
    if change.kind in {ChangeKind.REORDERED, ChangeKind.KEY_ORDER}:
        return None
    old = [span for span in change.before if span.kind in _MEDIA]
    new = [span for span in change.after if span.kind in _MEDIA]
    if old and len(old) == len(change.before) and not change.after:
        verb, detail = "is missing", "missing"
    elif old and len(change.before) == 1 and len(new) == len(change.after) == 1:
        verb, detail = "differs", "differs"
    elif old and not new and len(change.before) <= len(change.after):
        verb, detail = "was replaced by another block", "replaced"
    elif change.pointer.endswith(_ENDS + _ENDS_TOO) or change.old.startswith("data:"):
        verb, detail = "differs", "differs"
    else:
        return None
    what = "a document" if old and old[0].kind is SpanKind.DOCUMENT else "an image"
    return content_cause(
        RULE,
        change,
        f"{what} {verb} {where(change)}",
        detail,
        old=_shape(old),
        new=_shape(new),
    )


def _shape(media: list[Span]) -> str | None:
    """Kind and length, of the whole data; None where the window has to tell."""
    if not media:
        return None
    what = "document" if media[0].kind is SpanKind.DOCUMENT else "image"
    return f"{what}, {sum(len(span.text) for span in media):,} chars"
