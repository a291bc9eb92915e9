"""Parameters whose value is part of a cache's key, read from a request and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from stemcache.provider.rule import Key, Rule
from stemcache.trace.spans.span import Prompt

__all__ = ["KeyChange", "KeyValue", "changed_keys", "key_values", "section_start"]


@dataclass(frozen=True, slots=True)
class KeyValue:
    """What one parameter says."""

    key: Key
    pointer: str
    """Where it stands; the first place where it could where it is absent."""
    spelt: bytes
    """Its value as compact JSON, empty where it is absent or says what absence says."""

    @property
    def salt(self) -> int:
        """The value as a number to mix into chains."""
        digest = blake2b(self.key.name.encode() + b"\0" + self.spelt, digest_size=8).digest()
        return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One parameter with another value than in the parent."""

    before: KeyValue
    after: KeyValue
    span: int
    """Number of the child's first span that is lost by it."""

    @property
    def name(self) -> str:
        """What findings call the parameter."""
        return self.after.key.name

    @property
    def pointer(self) -> str:
        """Where it stands in the child, or stood in the parent."""
        return self.after.pointer if self.after.spelt else self.before.pointer


def key_values(
    rule: Rule, prompt: Prompt, model: str | None, *, ordered: bool = True
) -> tuple[KeyValue, ...]:
    """The values of all of the rule's keys, in the rule's order.

    `ordered`: whether an object's keys are in the order that was sent, so that another order is
    another value.
    """
    return tuple(_value(key, prompt.parameters, model, ordered=ordered) for key in rule.keys)


def _value(
    key: Key, parameters: Mapping[str, object], model: str | None, *, ordered: bool
) -> KeyValue:
    for pointer in key.pointers:
        if pointer == "/model" and model is not None:
            return KeyValue(key, pointer, _spelt(model, ordered=True))
        value = parameters.get(pointer)
        if value is not None:
            if any(value == same for same in key.equal_to_absent):
                return KeyValue(key, pointer, b"")
            return KeyValue(key, pointer, _spelt(value, ordered=ordered))
    return KeyValue(key, key.pointers[0], b"")


def _spelt(value: object, *, ordered: bool) -> bytes:
    try:
        return msgspec.json.encode(value, order=None if ordered else "sorted")
    except (TypeError, ValueError):  # half a surrogate pair, which some decoders let pass
        return ascii(value).encode()
    except RecursionError:
        return b"null"  # that it was there is all that is known of it


def section_start(prompt: Prompt, key: Key) -> int:
    """Number of the first span of the key's section or of one behind it."""
    ranks = {section: rank for rank, section in enumerate(prompt.order)}
    rank = ranks.get(key.section, 0)
    for i, span in enumerate(prompt.spans):
        if ranks.get(span.section, 0) >= rank:
            return i
    return len(prompt.spans)


def changed_keys(
    before: tuple[KeyValue, ...], after: tuple[KeyValue, ...], child: Prompt
) -> list[KeyChange]:
    """Those that differ, in the order in which they cut the prompt."""
    old = {value.key.name: value for value in before}
    changes = [
        KeyChange(old[value.key.name], value, section_start(child, value.key))
        for value in after
        if value.key.name in old and old[value.key.name].spelt != value.spelt
    ]
    return sorted(changes, key=lambda change: change.span)
