"""An id, a nonce or a counter stands in front of text that is sent again.

## What it finds

Text that differs from the request before in nothing but identifiers: UUIDs, ULIDs, hex digests,
ids with a known prefix (`req_`, `msg_`, `toolu_`, `resp_`), values named as ids (`session=`,
`nonce:`), session addresses, temporary paths, random tokens and suffixes, counters of turns or
requests, and the line `x-anthropic-billing-header`.

## Why it costs

The id is new with every request or session, and the cache is read up to it only. At the head of
the system prompt it loses everything; in a tool's description it loses the system prompt and the
history as well, since tools come first.

## Example

```diff
  system
- x-anthropic-billing-header: cc_version=2.1.117; cch=71fea;
+ x-anthropic-billing-header: cc_version=2.1.117; cch=ea6aa;
  You are a support assistant. …
```

## Use instead

Send ids as headers or as the request's metadata, not as text. Where a client adds the line
itself, switch that off or strip it at the gateway, on any line of the text and not only the
first. Use one path for scratch files that does not carry the session's id; a fork keeps its
parent's. What the model has to repeat goes to the end of the newest user message.

## Limits

An id is told by its form or by the name in front of it. Words, plain numbers and versions are
none, so an id made of words alone is an edit to this rule.

## References

- anthropics/claude-code#68900, EasyMetaAu/helm-api#208, CaddyGlow/ccproxy-api#61: the billing
  line
- teamchong/pxpipe#180: the line is no longer the first, and holds the id of the request before
- musistudio/claude-code-router#1342, waybarrios/vllm-mlx#277: the same through proxies
- anthropics/claude-code#87137: a session's address in a tool's description
- anthropics/claude-code#77306: a session's id in a scratch path
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM102",
    name="injected-id",
    kind="injected-id",
    summary="An id, a nonce or a counter in front of text that is sent again.",
    help=(
        "Leave the {what} out of the prompt: send it as a header or as metadata, or strip the line"
        " at the gateway. Where the model needs it, put it at the end of the newest user message."
        " Ids of calls and messages in a history are replayed as they came."
    ),
    page=__doc__ or "",
)
