"""What is shown of an image that changed: kind and length of the whole, on both sides."""

from stemcache.lint.rules import image_changed
from stemcache.trace.divergence.compare import compare
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from tests.lint.changes import pair_of


def _prompt(data: str) -> Prompt:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    body = {"model": "claude-opus-5", "messages": [{"role": "user", "content": content}]}
    return prompt_of(body, Api.MESSAGES)


def test_both_sides_are_images_of_their_full_length() -> None:
    """The window is cut at some thousand characters; the shape is not that of the window."""
    parent, child = _prompt("A" * 8_000), _prompt("B" * 9_000)
    (change,) = compare(parent, child).changes
    cause = image_changed.explains(change, pair_of(parent.spans, child.spans, change))
    assert cause is not None
    assert cause.old.startswith("image, 8,0")
    assert cause.new.startswith("image, 9,0")
    assert cause.message == "an image differs in message 0 (user)"
