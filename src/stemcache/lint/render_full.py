"""The report for people: what breaks the prefix, what it costs, what mends it; then the log.

```
headline           hit rate, what it could be, what is lost     ┐ on the first screen,
STM101 name        place, message, weight, bar                  │ costliest first
  examples         old and new shape                            │
  help:            what to change                               ┘
summary            calls, tokens, money, predicted against reported, remarks
```
Lines are as wide as the terminal; only places, which are there to be copied, may be longer, and
then stand on lines of their own.
"""

from collections.abc import Iterator
from io import StringIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from stemcache.lint.figures import count_of, percent
from stemcache.lint.finding import Finding, Location, Report, Severity
from stemcache.lint.render_concise import loss, place, together, weight
from stemcache.lint.summary_lines import headline, summary
from stemcache.lint.visible import visible

__all__ = ["render"]

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_BAR_CELLS = 20
_NARROWEST = 40
_LONGEST_FILE = 1024
_LABEL_CELLS = 14
_MOST_NOTES = 10
"""Who reads notes to the end wants a list."""


def render(
    report: Report,
    *,
    show_text: bool = False,
    width: int = 80,
    color: bool = False,
    quiet: bool = False,
) -> Iterator[str]:
    """The page, in lines; `quiet` leaves out all but the findings.

    O(findings), at most three examples each.
    """
    width = max(_NARROWEST, width)
    screen = _Screen(width, color=color)
    if not quiet:
        yield from screen.wrapped(headline(report), style="bold")
        yield ""
    notes = 0
    for finding in report.findings:
        notes += finding.severity is Severity.NOTE
        if notes <= _MOST_NOTES or finding.severity is not Severity.NOTE:
            yield from _finding(screen, finding, show_text=show_text)
            yield ""
    if notes > _MOST_NOTES:
        more = count_of(notes - _MOST_NOTES, "more note")
        yield from screen.wrapped(f"{more}; --output-format concise lists all")
        yield ""
    for name, values in () if quiet else summary(report):
        for line in values:
            yield from screen.wrapped(line, indent=_LABEL_CELLS, label=name)
            name = ""  # noqa: PLW2901  a label stands before the first line only


class _Screen:
    """Wraps by cells, so that wide characters fit, and colours if the reader can see it."""

    def __init__(self, width: int, *, color: bool) -> None:
        self.width = width
        self._color = color
        self._console = Console(file=StringIO(), width=width)  # for its rules of wrapping

    def line(self, *parts: tuple[str, str]) -> str:
        """One line of styled parts, however long."""
        if not self._color:
            return "".join(text for text, _ in parts)
        return "".join(_styled(text, style) for text, style in parts)

    def flowed(self, *parts: tuple[str, str], indent: int, behind: int) -> Iterator[str]:
        """Lines of parts with two blanks between, none of them broken.

        What does not fit goes on the next line, behind `behind` cells; the first has `indent`.
        """
        row: list[tuple[str, str]] = [(" " * indent, "")]
        used, begun = indent, False
        for text, style in parts:
            cells = cell_len(text)
            if begun and used + 2 + cells > self.width:
                yield self.line(*row)
                row, used, begun = [(" " * behind, "")], behind, False
            row += [("  " if begun else "", ""), (text, style)]
            used += cells + 2 * begun
            begun = True
        yield self.line(*row)

    def wrapped(
        self, text: str, *, indent: int = 0, label: str = "", style: str = ""
    ) -> Iterator[str]:
        """Lines of `text` behind `indent` cells, of which the first has the label in them."""
        room = max(_NARROWEST // 2, self.width - indent)
        for number, piece in enumerate(self._pieces(text, room)):
            head = label.ljust(indent) if number == 0 else " " * indent
            yield self.line((head, "bold" if label else ""), (piece, style))

    def _pieces(self, text: str, room: int) -> Iterator[str]:
        if cell_len(text) <= room:  # nearly always, and a hundred times as fast
            yield text
            return
        for piece in Text(text).wrap(self._console, room):
            yield piece.plain.rstrip()


def _styled(text: str, style: str) -> str:
    if not style or not text:
        return text
    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def _finding(screen: _Screen, finding: Finding, *, show_text: bool) -> Iterator[str]:
    style = _STYLES[finding.severity]
    head, spot = f"{finding.code} {finding.name}", _where(finding.location)
    name = (finding.code, style), (f" {finding.name}", "bold")
    if cell_len(f"{head}  {spot}") <= screen.width:
        yield screen.line(*name, ("  ", ""), (spot, "cyan"))
    else:
        yield screen.line(*name)
        yield screen.line(("  ", ""), (spot, "cyan"))
    yield from screen.wrapped(visible(finding.message), indent=2)
    yield from _weight(screen, finding)
    if finding.severity is not Severity.NOTE:
        yield from _examples(screen, finding, show_text=show_text)
    if finding.help:
        help_text = visible(finding.help, most_characters=2000)
        yield from screen.wrapped(help_text, indent=8, label="  help:")


def _weight(screen: _Screen, finding: Finding) -> Iterator[str]:
    parts = [", ".join(weight(finding))]
    if finding.route:
        parts.append(f"route {visible(finding.route, most_characters=60)}")
    yield from screen.wrapped(f"{finding.severity.value}: {'; '.join(parts)}", indent=2)
    if finding.needs:
        yield from screen.wrapped(together(finding), indent=2)
    share = finding.share
    if share is None or not 0 <= share <= 1 or not finding.lost_tokens:
        return
    of = "input spend" if finding.cost_usd is not None else "prompt tokens"
    told = f" {percent(share)} of {of}"
    cells = min(_BAR_CELLS, screen.width - 2 - len(told))
    filled = max(round(share * cells), 1 if share else 0)
    yield screen.line(
        ("  " + "█" * filled, _STYLES[finding.severity]),
        ("░" * (cells - filled), "dim"),
        (told, ""),
    )


def _examples(screen: _Screen, finding: Finding, *, show_text: bool) -> Iterator[str]:
    file = finding.location.file
    before = "", ""
    for example in finding.examples:
        spot = _where(example.location, file)
        against = f"against {_line(example.parent, file)}" if example.parent else ""
        places = [(f"{spot} {against}".rstrip(), "")]
        if 4 + cell_len(places[0][0]) > screen.width and against:
            places = [(spot, ""), (against, "")]
        losses = [(each, "dim") for each in loss(example)]
        yield from screen.flowed(*places, *losses, indent=4, behind=6)
        shapes = example.old, example.new
        if any(shapes) and shapes != before:  # what repeats is said once
            yield from _changed(screen, *shapes)
        before = shapes
        if show_text and (example.old_text or example.new_text):
            yield from _changed(screen, repr(example.old_text), repr(example.new_text))


def _changed(screen: _Screen, old: str, new: str) -> Iterator[str]:
    for sign, text, style in (("-", old, "red"), ("+", new, "green")):
        shown = visible(text) if text else "nothing"
        yield from screen.wrapped(shown, indent=8, label=f"      {sign}", style=style)


def _where(location: Location, known_file: str = "") -> str:
    spot = place(location)
    line = _line(location, known_file)
    return f"{line} {spot}" if spot else line


def _line(location: Location, known_file: str = "") -> str:
    if location.file == known_file:
        return f"line {location.line}"
    return f"{visible(location.file, most_characters=_LONGEST_FILE)}:{location.line}"
