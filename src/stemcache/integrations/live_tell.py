"""How a finding is said while the program runs: logged, warned of, or given to who asks.

```
STM101 clock-in-prefix: a time with seconds stands at character 11 of the system prompt
  (call 3, /system/0/text:11); 5,120 tokens lost in 2 requests, $0.02. Say the time …
  (stemcache rule STM101)
```
No text of a prompt is in it.
"""

import logging
import warnings
from typing import Final

from stemcache.lint.figures import count_of
from stemcache.lint.finding import Finding
from stemcache.lint.render_concise import loss, place
from stemcache.lint.visible import visible

__all__ = ["CacheWarning", "logged", "sentence", "warned"]

_LOGGER: Final = logging.getLogger("stemcache.live")


class CacheWarning(UserWarning):
    """A prompt loses, over and over, what it could have read from a provider's cache."""


def logged(finding: Finding) -> None:
    """As a warning of the logger `stemcache.live`; what a program does not set up goes to stderr.

    The record has `stemcache_code`, for filters.
    """
    _LOGGER.warning("%s", sentence(finding), extra={"stemcache_code": finding.code})


def warned(finding: Finding) -> None:
    """As a `CacheWarning`, which filters of `warnings` can hide or turn into an error.

    An error is raised where calls are judged, in a thread of its own, and so breaks no call.
    """
    where = f"<{finding.location.file} {finding.location.line}>"
    warnings.warn_explicit(sentence(finding), CacheWarning, filename=where, lineno=1)


def sentence(finding: Finding) -> str:
    """What is wrong, where, what it cost so far, and what mends it."""
    spot = place(finding.location)
    where = f"{finding.location.file} {finding.location.line}" + (f", {spot}" if spot else "")
    cost = ", ".join(loss(finding))
    lost = f"; {cost} lost in {count_of(finding.count, 'request')}" if cost else ""
    return (
        f"{finding.code} {finding.name}: {visible(finding.message)} ({where}){lost}. "
        f"{finding.help} (stemcache rule {finding.code})"
    )
