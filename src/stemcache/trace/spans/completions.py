"""OpenAI's older completions: a text, token ids, or a list of them.

A list of several prompts asks for one answer each. They are one request in a log, so they are the
spans of one prompt, and only the first has nothing before it.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["completions_parts"]


def completions_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where there is no prompt."""
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        drafts = [Draft("/prompt", "/prompt", "user", SpanKind.TEXT, prompt, prompt)]
    elif isinstance(prompt, list) and prompt:
        if all(type(item) is int for item in prompt):
            drafts = [_tokens(prompt, "/prompt")]
        else:
            drafts = [_one(item, f"/prompt/{i}") for i, item in enumerate(prompt)]
    else:
        raise BadBodyError("prompt is neither a text nor a list that holds one")
    spans = list(finished(Section.MESSAGES, 0, drafts))
    return Parts({Section.MESSAGES: spans}, frozenset({"prompt"}))


def _one(item: Any, pointer: str) -> Draft:
    if isinstance(item, str):
        return Draft(pointer, pointer, "user", SpanKind.TEXT, item, item)
    if isinstance(item, list) and all(type(token) is int for token in item):
        return _tokens(item, pointer)
    return structure(pointer, "user", SpanKind.OTHER, item)


def _tokens(ids: list[int], pointer: str) -> Draft:
    try:
        text = " ".join(map(str, ids))
    except ValueError:  # thousands of digits are not written out
        raise BadBodyError("prompt has token ids that are out of all bounds") from None
    return Draft(pointer, pointer, "user", SpanKind.TOKENS, text, ids)
