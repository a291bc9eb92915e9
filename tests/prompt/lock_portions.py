"""Portions of prefixes, by hand and at random."""

from random import Random

from stemcache.prompt.lock.portions import Pinned, Portion, estimated_tokens, pinned
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["SECTIONS", "edited", "lock", "portion", "portions"]

SECTIONS = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)
_WORDS = ("stem", "leaf", "root", "branch", "größe", "木", "cache\n", "prompt", "a", "7")


def portion(
    name: str,
    text: str,
    *,
    section: Section = Section.SYSTEM,
    version: str | None = None,
    kind: SpanKind = SpanKind.TEXT,
) -> Portion:
    """One portion, its tokens estimated."""
    return Portion(
        name=name,
        section=section,
        kind=kind,
        text=text,
        tokens=estimated_tokens(text),
        version=version,
    )


def lock(*given: Portion, name: str = "support", version: str | None = None) -> Pinned:
    """What is pinned of them."""
    return pinned(name, given, version=version)


def portions(random: Random, *, most: int = 5) -> list[Portion]:
    """Some texts, no two alike, some of them long."""
    count = random.randint(1, most)
    return [
        portion(f"part{number}", f"{number} " + _text(random), section=random.choice(SECTIONS))
        for number in range(count)
    ]


def edited(random: Random, given: list[Portion]) -> list[Portion]:
    """The same with a few edits: of texts, of the order, of what is there."""
    made = list(given)
    for _ in range(random.randint(0, 3)):
        at = random.randrange(len(made))
        match random.randrange(5):
            case 0:
                made.insert(at, portion(f"new{random.random():.9f}", _text(random)))
            case 1 if len(made) > 1:
                del made[at]
            case 2:
                made.append(made.pop(at))
            case _:
                one = made[at]
                char = random.randint(0, len(one.text))
                text = one.text[:char] + "±" + one.text[char + random.randint(0, 9) :]
                made[at] = portion(one.name, text, section=one.section)
    return made


def _text(random: Random) -> str:
    return " ".join(random.choices(_WORDS, k=random.choice((1, 8, 300, 900))))
