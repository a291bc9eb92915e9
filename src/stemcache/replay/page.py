"""A page that is complete in itself: figures as SVG in the text, one style sheet, no script.

Needs the extra `report`; everything here imports it when called.
"""

import importlib.util
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stemcache.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Section", "Table", "check_extra", "inline_svg", "make_page"]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; numbers are aligned to the right from the second column on."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, and under it what there is of words, tables and a figure."""

    title: str
    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    svg: str = ""


def check_extra() -> None:
    """Raise UsageError if what pages are made with is not installed."""
    for package in ("jinja2", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"--html needs {package}, which is not installed; "
                "run: pip install 'stemcache[report]'"
            )


def inline_svg(figure: "Figure", name: str) -> str:
    """The figure as an SVG element. `name` keeps its ids apart from those of other figures."""
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"stemcache {name}"}):
        figure.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight")
    text = out.getvalue()
    return text[text.index("<svg") :]


def make_page(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """HTML. Whatever is passed as text is escaped."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # an extra

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_PAGE).render(title=title, facts=facts, sections=sections)


_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 60rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
thead th { color: #59636e; font-weight: 500; border-bottom: 1px solid #d1d9e0; }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1.2rem; }
dt { color: #59636e; } dd { margin: 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<dl>
{% for name, value in facts.items() %}
<dt>{{ name }}</dt><dd>{{ value }}</dd>
{% endfor %}
</dl>
{% for section in sections %}
<section>
<h2>{{ section.title }}</h2>
{% for line in section.words %}
<p>{{ line }}</p>
{% endfor %}
{% for table in section.tables %}
<table>
<thead><tr>{% for head in table.heads %}<th>{{ head }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
{{ section.svg | safe }}
</section>
{% endfor %}
</body>
</html>
"""
