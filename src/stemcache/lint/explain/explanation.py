"""What is said of two requests: a value, for two renderers.

```
Explanation
├── old, new          who they are, and what their usage says
├── differences       in prefix order, each with its cause, both views, and the tokens lost to it
├── refusals          for which the API answers with a 400
├── cache             the provider's rule, what each marker found, what keys the cache
├── reading           what should have been read, what was, and the reasons that remain
├── diagnosis         the provider's own word, beside the bytes
└── spellings         what differs in the JSON only, and costs nothing
```
Figures that are not known are None. Texts of prompts are in `Excerpt` and `View.text` alone,
for `--show-text`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stemcache.lint.explain.diagnosis import Joined
from stemcache.lint.explain.spelling import Spelling
from stemcache.trace.calls.call import Fidelity
from stemcache.wire.section import Section

__all__ = [
    "Cache",
    "Difference",
    "Excerpt",
    "Explanation",
    "Keyed",
    "Marked",
    "Party",
    "Reading",
    "Reason",
    "Refused",
    "View",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One of the two requests."""

    name: str
    file: str
    line: int
    """Of the log; 1 for a file that is one body."""
    fidelity: Fidelity
    api: str
    model: str | None
    tokens: int
    """Prompt tokens."""
    tokens_reported: bool
    """Whether the provider said so; else they are estimated from the length of the text."""
    read_tokens: int | None
    """Reported."""
    written_tokens: int | None
    time_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A piece of a text, and what stands around it on its line."""

    before: str
    text: str
    after: str
    before_chars: int
    """From the beginning of the whole string, of which `before` is the end."""
    after_chars: int
    exact_start: int
    """Within `text`: the characters that differ, the rest of the word or number left out."""
    exact_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request's side of a difference."""

    file: str
    line: int | None
    """Of the file, counted from 1; None where the file does not hold the body as text."""
    column: int | None
    """Character of that line, counted from 1."""
    pointer: str
    """JSON pointer into the body."""
    char: int | None
    """Character of the string at `pointer`, counted from 0; None where it is no string."""
    shape: str
    """Class and length of what stands there: `ISO time, 20 chars`. Empty where nothing does."""
    excerpt: Excerpt | None = None
    """None where it is no string, or nothing stands there."""
    text: str = ""
    """What stands there where it is no string, for `--show-text` only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One cause, in the words of lint's rule for it."""

    code: str
    name: str
    kind: str
    message: str
    help: str
    old: View | None
    new: View
    lost_tokens: int
    by_section: Mapping[Section, int]
    """How those divide."""
    joint: int = 0
    """How many differences behind it have to be mended as well before any of these tokens are read:
    those of `uncosted` that are `needed`, as far as they stand before the next that costs."""
    needed: bool = False
    """Whether the loss of an earlier difference stays unless this one is mended, too."""
    content: bool = True
    """Whether what is sent differs; False where only the place of a marker is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A reason for which the API does not answer."""

    code: str
    name: str
    message: str
    pointer: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A marker of the second request, and what it found of what the first one left."""

    pointer: str
    """Of the block that it stands on."""
    ttl: str | None
    tokens: int
    """Of the prompt, up to there."""
    found: str | None
    """Pointer of the block whose end was found, None for nothing."""
    found_tokens: int
    note: str
    """Why nothing was found, in a sentence; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """A parameter whose value is part of the cache's key."""

    name: str
    pointer: str
    section: Section
    """Everything from there on is keyed by it."""
    same: bool
    present: bool
    """Whether the second request has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """The rule that the second request is judged by."""

    rule: str
    """Its name; empty where nothing tells the provider."""
    kind: str
    words: str
    """What such a cache does, in a sentence."""
    minimum_tokens: int
    minimum_contested: bool
    unit_tokens: int
    look_back: int | None
    ttls: tuple[str, ...]
    guaranteed: bool
    markers: tuple[Marked, ...]
    found: str | None
    """Pointer of the furthest block that was found, None for nothing or where it is in between."""
    keys: tuple[Keyed, ...]
    routing: tuple[tuple[str, bool], ...]
    """What chooses the server, and whether both requests say the same there."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why something was not read that the rule says is there."""

    label: str
    """`expired`, `raced`, `routed`, `marker-dropped`, `unexplained`, `rounding`."""
    tokens: int
    message: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the rule says that the second request reads, and what was reported."""

    predicted_tokens: int
    reported_tokens: int | None
    shared_tokens: int
    """What both have in common, were it all found."""
    appended_tokens: int
    """What the second request adds behind all that the first has."""
    appended_blocks: int
    reasons: tuple[Reason, ...]
    whole_log: bool
    """Whether all earlier calls of the log were looked at, or these two alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that is said."""

    old: Party
    new: Party
    lost_tokens: int
    """To all differences together."""
    differences: tuple[Difference, ...]
    """Those to which tokens are lost, in prefix order, faults of markers last; the first hundred.
    """
    uncosted: tuple[Difference, ...]
    """What else differs, in prefix order, and costs nothing more: too little is shared behind it,
    or its loss is that of another difference before it. The first hundred."""
    more_differences: int
    """How many there are beyond those."""
    unkeyed: tuple[str, ...]
    """Pointers of parameters that differ and are part of no cache's key."""
    refusals: tuple[Refused, ...]
    cache: Cache
    reading: Reading
    diagnosis: Joined | None
    spellings: tuple[Spelling, ...]
    spelling_known: bool
    """Whether the texts of both were there to compare."""
    remarks: tuple[str, ...] = ()

    @property
    def costs(self) -> bool:
        """Whether anything costs that could be mended, or makes the API refuse.

        A prompt that is too short to be kept is no fault by itself.
        """
        return bool(self.refusals) or any(
            one.lost_tokens and one.kind != "below-minimum" for one in self.differences
        )
