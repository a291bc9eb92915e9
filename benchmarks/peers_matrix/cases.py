"""The pairs, what is wrong with each by the vendor's rule, and which words say so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.peers_matrix.anthropic_pairs import ANTHROPIC_PAIRS, BEDROCK_PAIRS
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.openai_pairs import OPENAI_56_PAIRS, OPENAI_PAIRS
from benchmarks.peers_matrix.verdict import Truth

__all__ = ["CASES", "Case", "Form"]

Form = Literal["anthropic", "bedrock", "openai", "openai-5.6"]


@dataclass(frozen=True, slots=True)
class Case:
    """One pair in one form."""

    form: Form
    name: str
    title: str
    truth: Truth
    make: Callable[[], list[Body]]
    bedrock_alike: bool = True
    """Whether Bedrock's rule says the same of the Anthropic body."""

    @property
    def id(self) -> str:
        """Form and name, as a file may be called."""
        return f"{self.form}-{self.name}"


_TITLES = {
    "clean": "clean append, moving marker",
    "timestamp": "timestamp in system",
    "uuid": "uuid at system tail",
    "billing": "billing header block",
    "git-status": "git status",
    "trailing-space": "trailing space",
    "tools-reordered": "tools reordered",
    "tool-added": "tool added",
    "tool-description": "tool description",
    "schema-keys": "shuffled schema keys",
    "truncated": "history truncated",
    "edited": "history edited",
    "compaction": "compaction",
    "image-encoded": "image re-encoded",
    "image-pointer": "image to pointer",
    "thinking-stripped": "thinking blocks stripped",
    "varying-suffix": "marker after a varying suffix",
    "tool-choice": "tool_choice",
    "thinking": "thinking switched on",
    "effort": "effort",
    "model": "model switch",
    "look-back": "look-back exceeded, 24 serial blocks",
    "fan-out": "fan-out of 26 parallel calls",
    "ttl-order": "TTL order",
    "below-minimum": "below minimum",
    "no-marker": "no marker",
    "benign": "benign parameters",
    "growing-message": "one message that grows",
}

_SYSTEM = r"\bsystem\b"
_TOOLS = r"\btool"
_FIRST = r"messages\[0\]"
_MARKER = r"marker|breakpoint|checkpoint|cache point|cache_control"

_ANTHROPIC = {
    "clean": Truth(kind=None),
    "timestamp": Truth(
        kind="clock", cause=r"\bISO\b|\bdate|\btime\b|timestamp|clock", place=_SYSTEM
    ),
    "uuid": Truth(kind="injected-id", cause=r"uuid|\bids?\b|identifier|random", place=_SYSTEM),
    "billing": Truth(
        kind="injected-id", cause=r"\bids?\b|identifier|random|digest|hash|nonce", place=_SYSTEM
    ),
    "git-status": Truth(kind="environment", cause=r"\bgit\b|environment|snapshot", place=_SYSTEM),
    "trailing-space": Truth(kind="whitespace", cause=r"white ?space|trailing|blank", place=_SYSTEM),
    "tools-reordered": Truth(kind="tool-order", cause=r"order", place=_TOOLS),
    "tool-added": Truth(
        kind="tool-set",
        cause=r"tool.?set|\badded\b|insert|\b6 -> 7\b|additional tool|new tool",
        place=_TOOLS,
    ),
    "tool-description": Truth(
        kind="tool-changed", cause=r"description|definition|schema", place=_TOOLS
    ),
    "schema-keys": Truth(kind="key-order", cause=r"key.?order|order of (the )?keys", place=_TOOLS),
    "truncated": Truth(
        kind="history-truncated",
        cause=r"truncat|dropp|shrank|shorter|\bslid|trimm|history.?drop|evict|removed",
        place=_FIRST,
    ),
    "edited": Truth(
        kind="history-edited",
        cause=r"edited|rewrit|modified|in place|history.?changed",
        place=_FIRST,
    ),
    "compaction": Truth(
        kind="compaction", cause=r"compact|summar|shrank|shorter|replaced", place=_FIRST
    ),
    "image-encoded": Truth(kind="image-changed", cause=r"image|media", place=_FIRST),
    "image-pointer": Truth(kind="image-changed", cause=r"image|media", place=_FIRST),
    "thinking-stripped": Truth(
        kind="thinking-dropped", cause=r"thinking|reasoning", place=r"messages\[1\]"
    ),
    "varying-suffix": Truth(
        kind="marker-placement", cause=rf"(?<!no[- ])({_MARKER})", place=_FIRST
    ),
    "tool-choice": Truth(kind="parameter:tool_choice", cause=r"tool.?choice"),
    "thinking": Truth(kind="parameter:thinking", cause=r"thinking"),
    "effort": Truth(kind="parameter:effort", cause=r"effort"),
    "model": Truth(kind="parameter:model", cause=r"\bmodel\b"),
    "look-back": Truth(kind="look-back", cause=r"look.?back|positions appended|blocks were added"),
    "fan-out": Truth(kind=None),
    "ttl-order": Truth(kind="ttl-order", cause=r"ttl"),
    "below-minimum": Truth(
        kind="below-minimum",
        cause=r"minimum|too.?short|below|short.prefix|caches from \d",
        place=_SYSTEM,
    ),
    "no-marker": Truth(kind="no-marker", cause=rf"no[- ](explicit )?(cache )?({_MARKER})"),
    "benign": Truth(kind=None),
}

_CHAT_FIRST = r"messages\[1\]"
_OPENAI_ONLY = {
    "truncated": Truth(
        kind="history-truncated", cause=_ANTHROPIC["truncated"].cause, place=_CHAT_FIRST
    ),
    "edited": Truth(kind="history-edited", cause=_ANTHROPIC["edited"].cause, place=_CHAT_FIRST),
    "compaction": Truth(kind="compaction", cause=_ANTHROPIC["compaction"].cause, place=_CHAT_FIRST),
    "image-encoded": Truth(kind="image-changed", cause=r"image|media", place=_CHAT_FIRST),
    "image-pointer": Truth(kind="image-changed", cause=r"image|media", place=_CHAT_FIRST),
    "tool-choice": Truth(kind=None),
    **{
        name: Truth(
            kind=_ANTHROPIC[name].kind,
            cause=_ANTHROPIC[name].cause,
            place=rf"{_SYSTEM}|messages\[0\]",
        )
        for name in (
            "timestamp", "uuid", "billing", "git-status", "trailing-space", "below-minimum",
        )
    },
}  # fmt: skip
_OPENAI = {name: _OPENAI_ONLY.get(name, _ANTHROPIC[name]) for name in OPENAI_PAIRS}
_OPENAI_56 = {
    "clean": Truth(kind=None),
    "growing-message": Truth(
        kind="extended-message", cause=r"extend|grow|longer|append", place=_CHAT_FIRST
    ),
    "effort": Truth(kind="parameter:effort", cause=r"effort"),
}
_BEDROCK = {
    "clean": Truth(kind=None),
    "fan-out": Truth(kind="look-back", cause=_ANTHROPIC["look-back"].cause),
}


def _cases(
    form: Form, truths: dict[str, Truth], pairs: dict[str, Callable[[], list[Body]]]
) -> list[Case]:
    assert truths.keys() == pairs.keys(), truths.keys() ^ pairs.keys()
    return [
        Case(form, name, _TITLES[name], truths[name], make, name != "fan-out")
        for name, make in pairs.items()
    ]


CASES = [
    *_cases("anthropic", _ANTHROPIC, ANTHROPIC_PAIRS),
    *_cases("bedrock", _BEDROCK, BEDROCK_PAIRS),
    *_cases("openai", _OPENAI, OPENAI_PAIRS),
    *_cases("openai-5.6", _OPENAI_56, OPENAI_56_PAIRS),
]
