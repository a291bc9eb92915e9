"""The rule by which a call is judged where the log or the provider does not say enough for its own.

| what is missing | what is assumed |
|---|---|
| the provider | a cache of the longest common prefix without minimum: no markers are judged |
| a rule that could be tested | the same, as every such provider describes itself |
| tools, system prompt, markers, parameters (a transcript) | that all of the parent could be read |
"""

from dataclasses import replace

from stemcache.provider.rule import Key, Range, Rule
from stemcache.wire.section import Section

__all__ = ["UNRESOLVED", "assumed"]

_NO_MINIMUM = Range(0, 0, 0, ())
_MODEL = Key(("/model",), "model", Section.TOOLS)

UNRESOLVED = Rule(
    name="",
    provider="",
    kind="units",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=_NO_MINIMUM,
    guaranteed=False,
    keys=(_MODEL,),
    write_factor={},
    read_factor=0.0,
)
"""For calls whose provider nothing tells."""


def assumed(rule: Rule, *, whole: bool) -> Rule:
    """The rule itself where the log shows whole requests and the provider has one; O(1).

    Caches with explicit objects keep implicit ones beside them, which is what requests without an
    object's name fall to.
    """
    if whole and rule.kind != "usage-only":
        return rule
    return replace(
        rule,
        kind="units",
        minimum_tokens=rule.minimum_tokens if whole else _NO_MINIMUM,
        unit_tokens=1,
        most_markers=None,
        look_back=None,
        guaranteed=False,
        keys=tuple(key for key in rule.keys if whole or key.name == "model"),
    )
