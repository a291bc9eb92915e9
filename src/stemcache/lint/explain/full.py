"""The explanation for people: the place like a compiler shows one, then what hangs on it.

```
b.json against a.json · claude-opus-5 · anthropic

STM101 clock-in-prefix: an ISO time with seconds differs in the system prompt
  --> b.json:7:41  /system/0/text char 31
   |
 A | [31 chars] [ISO time, 20 chars] [43,210 chars]
   |            ^^^^^^^^^^^^^^^^^^^^
 B | [31 chars] [ISO time, 20 chars] [43,210 chars]
   |            ^^^^^^^^^^^^^^^^^^^^
   = lost to it: 12,896 tokens of 13,402 (tools 0, system 11,172, messages 1,724)
```
No text of a prompt is in it unless asked for: then the two lines are the texts, with the exact
characters underlined.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from textwrap import wrap

from stemcache.lint.explain.drawing import around_place, masked, shown
from stemcache.lint.explain.explanation import (
    Difference,
    Explanation,
    Keyed,
    Marked,
    View,
)
from stemcache.lint.explain.spelling import Spelling
from stemcache.lint.figures import count_of
from stemcache.lint.pointers import without_keys
from stemcache.lint.visible import visible

__all__ = ["render"]

Paint = Callable[[str, str], str]
"""Text and the name of a style to the text in that style."""

_GUTTER = "   "
_NARROWEST = 40
_LONGEST_FILE = 1024
_MOST_FURTHER = 8
_MOST_HELPS = 3
_NOTICEABLE_TOKENS = 256
_SPELT = {
    "white-space": "white space between tokens",
    "escapes": "escapes in strings",
    "numbers": "spelling of numbers",
    "key-order": "order of keys",
    "repeated-keys": "keys that an object repeats",
}


def _plain(text: str, style: str) -> str:
    del style
    return text


def render(
    explanation: Explanation,
    *,
    show_text: bool = False,
    width: int = 80,
    paint: Paint = _plain,
) -> Iterator[str]:
    """The page, in lines. O(what is said)."""
    page = _Page(explanation, show_text=show_text, width=max(width, _NARROWEST), paint=paint)
    for block in page.blocks():
        yield from block
        yield ""


class _Page:
    def __init__(
        self, explanation: Explanation, *, show_text: bool, width: int, paint: Paint
    ) -> None:
        self._told = explanation
        self._show_text = show_text
        self._width = width
        self._paint = paint

    def blocks(self) -> Iterator[list[str]]:
        """Paragraphs, none of them empty."""
        told = self._told
        made = [
            self._head(),
            self._first(),
            self._first_content(),
            self._further(),
            self._refused(),
            self._diagnosis(),
            self._reading(),
            self._cache(),
            self._unkeyed(),
            self._spelling(),
            self._help(),
            chain.from_iterable(self._wrapped(f"note: {each}") for each in told.remarks),
        ]
        for block in made:
            lines = list(block)
            if lines:
                yield lines

    def _head(self) -> Iterator[str]:
        told = self._told
        rule = told.cache.rule or "provider unknown"
        model = visible(told.new.model, most_characters=80) if told.new.model else "no model named"
        names = f"B {_name(told.new.name)} against A {_name(told.old.name)}"
        yield self._paint(names, "bold")
        yield from self._wrapped(
            f"{model}, by the rule {rule}" if told.cache.rule else f"{model}, {rule}"
        )

    def _first(self) -> Iterator[str]:
        told = self._told
        if told.differences:
            yield from self._difference(told.differences[0])
        elif not told.uncosted:
            yield from self._wrapped(
                "Nothing differs that the provider sees" + _growth(self._told) + "."
            )

    def _first_content(self) -> Iterator[str]:
        """The first place where texts differ, if what costs is none."""
        told = self._told
        if not told.uncosted or any(one.content for one in told.differences):
            return
        if told.differences:
            yield "What differs first, and costs nothing more:"
        else:
            yield from self._wrapped("Nothing that differs costs anything. What differs first:")
        yield from self._difference(told.uncosted[0])

    def _difference(self, one: Difference) -> Iterator[str]:
        told = self._told
        yield (
            f"{self._paint(one.code, 'yellow')} {self._paint(one.name, 'bold')}: "
            f"{visible(one.message)}"
        )
        yield f"  --> {_place(one.new)}{'' if self._show_text else around_place(one.new)}"
        if one.old is not None and _place(one.old) != _place(one.new):
            yield f"  was {_place(one.old, of=one.new)}"
        if one.content:
            yield f"{_GUTTER}|"
            for label, view, style in (("A", one.old, "red"), ("B", one.new, "green")):
                yield from self._line(label, view, style)
        if one.lost_tokens:
            about = "" if told.new.tokens_reported else "about "
            parts = ", ".join(f"{section} {n:,}" for section, n in one.by_section.items())
            text = f"{about}{one.lost_tokens:,} tokens of {told.new.tokens:,} ({parts})"
            also = count_of(one.joint, "other")
            where = f"lost to it and {also} behind it" if one.joint else "lost to it"
            yield from self._wrapped(f"{where}: {text}", indent=5, label=f"{_GUTTER}= ")

    def _line(self, label: str, view: View | None, style: str) -> Iterator[str]:
        if view is None or not (view.shape or view.excerpt or view.text):
            yield f" {label} | nothing"
            return
        drawn = shown(view, self._width - 5) if self._show_text else masked(view)
        yield f" {label} | {drawn.before}{self._paint(drawn.text, style)}{drawn.after}"
        yield f"{_GUTTER}| {' ' * drawn.start_cell}{self._paint('^' * drawn.cells, style)}"

    def _further(self) -> Iterator[str]:
        costing = self._told.differences[1:]
        shown = 0 if any(one.content for one in self._told.differences) else 1
        rest = self._told.uncosted[shown:]
        if not costing and not rest:
            return
        yield self._paint("further differences", "bold")
        both = (*costing, *rest)
        for one in both[:_MOST_FURTHER]:
            lost = "has to be mended as well" if one.needed else "nothing more lost"
            if one.lost_tokens:
                lost = f"{one.lost_tokens:,} tokens more"
            text = f"{one.code} {one.name}: {visible(one.message)}; {lost}"
            yield from self._wrapped(text, indent=4, label="  ")
            yield f"    --> {_place(one.new)}"
        more = max(len(both) - _MOST_FURTHER, 0) + self._told.more_differences
        if more:
            yield f"  and {more:,} more; --output-format json lists the first hundred of each sort"

    def _refused(self) -> Iterator[str]:
        for one in self._told.refusals:
            yield (
                f"{self._paint(one.code, 'red')} {self._paint(one.name, 'bold')}: the API refuses "
                f"B: {visible(one.message)}"
            )
            yield f"  --> {visible(one.pointer)}"
            yield from self._wrapped(
                visible(one.help, most_characters=2000), indent=8, label="  help: "
            )

    def _diagnosis(self) -> Iterator[str]:
        found = self._told.diagnosis
        if found is None:
            return
        yield from self._wrapped(
            visible(found.sentence, most_characters=1000), label="diagnosis: ", indent=2
        )
        counts = []
        if found.said.missed_tokens is not None:
            counts.append(f"{found.said.missed_tokens:,} tokens missed")
        if found.said.reusable_tokens is not None:
            counts.append(f"{found.said.reusable_tokens:,} reusable")
        if counts:
            ours = self._told.lost_tokens + sum(one.tokens for one in self._told.reading.reasons)
            yield f"  by its count {', '.join(counts)}; by the rule {ours:,} missed"

    def _reading(self) -> Iterator[str]:
        told, reading = self._told, self._told.reading
        about = "" if told.new.tokens_reported else "about "
        should = f"{about}{reading.predicted_tokens:,}" if reading.predicted_tokens else "nothing"
        text = f"by the rule B reads {should} of {about}{told.new.tokens:,} tokens"
        if reading.reported_tokens is None:
            text += "; what it did read is not recorded"
        else:
            text += f"; reported are {reading.reported_tokens:,}"
            if reading.reported_tokens > reading.predicted_tokens + _NOTICEABLE_TOKENS:
                text += ", more than A left, so other calls left it"
        text += f". Both share {about}{reading.shared_tokens:,}."
        if reading.appended_blocks and (told.differences or told.uncosted):
            blocks = count_of(reading.appended_blocks, "block")
            text += f" B appends {blocks} of {about}{reading.appended_tokens:,}."
        yield from self._wrapped(text, label="read: ", indent=2)
        for reason in reading.reasons:
            yield from self._wrapped(
                f"{reason.tokens:,} tokens {reason.label}: {visible(reason.message)}",
                indent=4,
                label="  ",
            )
            yield from self._wrapped(
                visible(reason.help, most_characters=2000), indent=10, label="    help: "
            )
        if reading.reasons and not reading.whole_log:
            yield from self._wrapped("told by these two requests alone", indent=4, label="  ")

    def _cache(self) -> Iterator[str]:
        cache = self._told.cache
        parts = [cache.words]
        if cache.minimum_tokens:
            contested = " (sources differ)" if cache.minimum_contested else ""
            parts.append(f"at least {cache.minimum_tokens:,} tokens{contested}")
        if cache.ttls:
            parts.append(f"kept for {' or '.join(cache.ttls)}")
        if not cache.guaranteed:
            parts.append("not guaranteed")
        yield from self._wrapped(
            "; ".join(parts), label=f"cache {cache.rule or 'assumed'}: ", indent=2
        )
        for marker in cache.markers:
            yield from self._wrapped(_marker(marker, cache.look_back), indent=4, label="  ")
        if cache.kind == "markers" and not cache.markers:
            yield "  B has no markers"
        if cache.kind == "breakpoints":
            yield f"  furthest breakpoint found: {cache.found or 'none'}"
        if cache.keys:
            yield from self._wrapped(f"keyed by {_keys(cache.keys)}", indent=4, label="  ")
        for name, same in cache.routing:
            said = "the same in both" if same else "another value, so perhaps another server"
            yield from self._wrapped(f"routed by {visible(name)}: {said}", indent=4, label="  ")

    def _unkeyed(self) -> Iterator[str]:
        if self._told.unkeyed:
            names = ", ".join(visible(name, most_characters=60) for name in self._told.unkeyed[:20])
            yield from self._wrapped(f"differs and is part of no key: {names}", indent=2)

    def _spelling(self) -> Iterator[str]:
        told = self._told
        if not told.spellings:
            return
        yield self._paint("differs in spelling only: no provider sees it", "bold")
        for one in told.spellings:
            yield from self._wrapped(_spelt(one), indent=4, label="  ")

    def _help(self) -> Iterator[str]:
        """Of each rule once, named where it is not that of the first difference."""
        told = {one.code: one.help for one in self._told.differences}
        for number, (code, text) in enumerate(list(told.items())[:_MOST_HELPS]):
            label = f"help for {code}: " if number else "help: "
            yield from self._wrapped(visible(text, most_characters=2000), label=label, indent=6)

    def _wrapped(self, text: str, *, indent: int = 0, label: str = "") -> Iterator[str]:
        lines = wrap(
            text,
            max(self._width, indent + 20),
            initial_indent=label,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from lines


def _name(name: str) -> str:
    return visible(name, most_characters=_LONGEST_FILE)


def _place(view: View, of: View | None = None) -> str:
    """File, line and column, then the place in the body, unless that is the same as `of`'s."""
    spot = _name(view.file)
    if view.line is not None:
        spot += f":{view.line}:{view.column}"
    if of is not None and (of.pointer, of.char) == (view.pointer, view.char):
        return spot
    pointer = visible(without_keys(view.pointer)) or "/"
    char = "" if view.char is None else f" char {view.char}"
    return f"{spot}  {pointer}{char}"


def _growth(told: Explanation) -> str:
    reading = told.reading
    if not reading.appended_blocks:
        return ""
    about = "" if told.new.tokens_reported else "about "
    blocks = count_of(reading.appended_blocks, "block")
    return f": B goes on where A ends, with {blocks} of {about}{reading.appended_tokens:,} tokens"


def _marker(marker: Marked, look_back: int | None) -> str:
    ttl = f" ({visible(marker.ttl, most_characters=20)})" if marker.ttl else ""
    over = "" if look_back is None else f" looks back over {look_back} blocks"
    found = f"found {marker.found}, {marker.found_tokens:,} tokens"
    said = found if marker.found is not None else f"found nothing: {marker.note}"
    return f"marker at {visible(marker.pointer)}{ttl}{over}: {said}"


def _keys(keys: tuple[Keyed, ...]) -> str:
    changed = [key for key in keys if not key.same]
    same = [key for key in keys if key.same]
    parts = [f"{key.name} (differs; all from {key.section} on)" for key in changed]
    if same:
        parts.append(f"{', '.join(key.name for key in same)} (the same)")
    return "; ".join(parts)


def _spelt(one: Spelling) -> str:
    times = f" at {one.count:,} places" if one.count > 1 else ""
    where = f", first at {visible(one.pointer)}" if one.pointer and one.count > 1 else ""
    where = where or (f" at {visible(one.pointer)}" if one.pointer else "")
    how = f": A {visible(one.old)}; B {visible(one.new)}" if one.old or one.new else ""
    return f"{_SPELT[one.kind]}{times}{where}{how}"
