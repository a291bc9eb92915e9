"""Prompts and rules for tests of provider caches: blocks written as short words."""

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from stemcache.provider.rule import Kind, Range, Rule, Ttl
from stemcache.provider.shape import Mark, Position, Run, Shape
from stemcache.wire.api import Api
from stemcache.wire.section import Section

FIVE_MINUTES = Ttl(name="5m", low_s=300.0, high_s=300.0)
ONE_HOUR = Ttl(name="1h", low_s=3_600.0, high_s=3_600.0)
HALF_AN_HOUR = Ttl(name="30m", low_s=1_800.0, high_s=1_800.0)
ALL = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)


def a_rule(kind: Kind, *, minimum: int = 0, **more: Any) -> Rule:
    """A rule with nothing but what is said."""
    return Rule(
        name="test",
        provider="test",
        kind=kind,
        order=ALL,
        minimum_tokens=Range(minimum, minimum, minimum, ()),
        write_factor={},
        read_factor=0.1,
        **more,
    )


ANTHROPIC = a_rule(
    "markers",
    minimum=1_024,
    ttls=(FIVE_MINUTES, ONE_HOUR),
    ttl_order=True,
    most_markers=4,
    look_back=20,
    runs_collapse=True,
)
BEDROCK = replace(ANTHROPIC, look_back=22, runs_collapse=False)
QWEN = replace(ANTHROPIC, runs_collapse=False, ttls=(FIVE_MINUTES,), readable_after="answer-ends")
OPENAI = a_rule("breakpoints", minimum=1_024, ttls=(HALF_AN_HOUR,), most_markers=4)
OLDER_OPENAI = a_rule("units", minimum=1_024, unit_tokens=128, guaranteed=False)
DEEPSEEK = a_rule("persisted-units", minimum=64, unit_tokens=64, keeps_answer=True)
VLLM = a_rule("units", unit_tokens=16, keeps_answer=True)
GEMINI = a_rule("objects", minimum=1_024, ttls=(ONE_HOUR,))


def block(
    text: str,
    tokens: int,
    role: str = "user",
    *,
    mark: Mark | str | None = None,
    run: Run | None = None,
    ends: bool = True,
) -> dict[str, Any]:
    """One content block: what it says is its identity."""
    return {
        "text": text,
        "tokens": tokens,
        "role": role,
        "mark": Mark(mark) if isinstance(mark, str) else mark,
        "run": run,
        "ends": ends,
    }


def shape(*blocks: dict[str, Any], fine_tokens: int = 64, **more: Any) -> Shape:
    """The prompt that these blocks are, with a fine cut every few tokens of each."""
    positions: list[Position] = []
    fine_chain: list[int] = []
    fine_at: list[int] = []
    chain, at, message = 0, 0, -1
    new_message = True
    for one in blocks:
        section = {
            "": Section.TOOLS,
            "system": Section.SYSTEM,
            "developer": Section.SYSTEM,
        }.get(one["role"], Section.MESSAGES)
        if new_message and section is not Section.TOOLS:
            message += 1
        new_message = one["ends"]
        words = one["text"].split()
        # A block of several words is several stretches, so that two blocks may part within.
        length = one["tokens"] // len(words)
        for number, word in enumerate(words):
            last = number + 1 == len(words)
            stretch = one["tokens"] - length * (len(words) - 1) if last else length
            for step in range(0, stretch, fine_tokens):
                taken = min(fine_tokens, stretch - step)
                ending = last and step + taken == stretch
                chain = _chained(chain, f"{word}/{step}/{taken}/{one['role'] if ending else ''}")
                at += taken
                fine_chain.append(chain)
                fine_at.append(at)
        positions.append(
            Position(
                chain=chain,
                end_tokens=at,
                section=section,
                role=one["role"],
                ends_message=one["ends"],
                mark=one["mark"],
                run=one["run"],
                message=message if section is not Section.TOOLS else -1,
            )
        )
    return Shape(
        positions=tuple(positions),
        fine_chain=np.array(fine_chain, dtype=np.uint64),
        fine_tokens=np.array(fine_at, dtype=np.int64),
        api=Api.CHAT,
        **more,
    )


def _chained(chain: int, text: str) -> int:
    data = chain.to_bytes(8, "big") + text.encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
