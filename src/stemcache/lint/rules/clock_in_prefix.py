"""A time, a date or an age stands in front of text that is sent again.

## What it finds

Text that differs from the request before in nothing but clocks: ISO times and dates, HTTP dates,
dates in words, clock times, Unix times, ages (`3 minutes ago`), uptimes and durations. It may be
a line of the system prompt, a tool's description, the head of the only user message, or an old
message that is rendered anew with the time passed since.

## Why it costs

A cache is read up to the first difference. A clock with seconds is new with every request, so
nothing behind it is ever read; one with minutes loses a prefix a minute; a date loses one a day.
Where writes are billed above input, each request also pays for writing what nobody will read.

## Example

```diff
  system
- Current time: 2026-11-30T05:14:01Z
+ Current time: 2026-11-30T05:14:31Z
  You are a support assistant. …
```

## Use instead

Put the time at the end of the newest user message, behind the last cache marker, and store that
message as it was sent: when it is replayed, the old time has to be in it still. Or set it once
when the session starts. Where a rough time will do, give the date only. Write times of old
messages as absolute times: an age changes by itself.

```diff
  system
+ You are a support assistant. …
  user
  Where is my order?
+ (sent 2026-11-30 05:14)
```

## Limits

A class is given only where it explains all that differs: a sentence that changed together with a
date is an edit. Digits alone are no clock where a word for time is missing nearby, so that
prices, phone numbers and versions stay what they are. A date that a person edited looks like a
clock.

## References

- goruck/home-generative-agent#617: the time at the head of the system prompt, read 0
- earendil-works/pi#1873, adolfousier/opencrabs#657, elie222/rakazo#936: seconds in the system
  prompt
- joshuadavidthomas/opencode-agent-memory#29: three digits of milliseconds
- vellum-ai/vellum-assistant#22241: ages rendered into old messages
- dbeaver/dbeaver#41322, n8n-io/n8n#32414, allenhutchison/obsidian-gemini#618
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM101",
    name="clock-in-prefix",
    kind="clock",
    summary="A time, a date or an age in front of text that is sent again.",
    help=(
        "Move the {what} behind the last cache marker, to the end of the newest user message, and"
        " store it with that message, so that its replay is the same bytes. Or set it once a"
        " session and drop what is finer than a day."
    ),
    page=__doc__ or "",
)
