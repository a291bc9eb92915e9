"""matplotlib figures as markup that goes into a page: its colours, its font, names of its own.

Every colour is drawn as a stand-in and then replaced by a variable of the page's style sheet, so
one figure serves light and dark. Texts stay texts. Only this file knows matplotlib's output.
"""

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stemcache.lab.report.wording import compact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FAINT", "GRID", "INK", "MARKERS", "SERIES", "count_axis", "draw", "share_axis"]

INK, FAINT, GRID = "#010101", "#010102", "#010103"
SERIES = tuple(f"#0102{number:02x}" for number in range(1, 9))
"""Stand-ins for colours that differ in hue and in lightness."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
"""As many as there are colours, so that no series is known by its colour alone."""

_VARIABLES = {INK: "ink", FAINT: "faint", GRID: "grid"} | {
    color: f"series-{number}" for number, color in enumerate(SERIES, start=1)
}
_WIDTH_PT = 470
_FONT_PT = 9
_SETTINGS: dict[str, Any] = {
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "figure.facecolor": "none",
    "font.size": _FONT_PT,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": _FONT_PT,
    "svg.fonttype": "none",
    "svg.hashsalt": "stemcache",  # names of parts follow from what they hold, not from chance
    "text.color": INK,
    "text.parse_math": False,  # a name with two dollars is a name
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}
_LEAVE_OUT = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL
)


def draw(name: str, plot: Callable[["Figure"], None], *, height_pt: int) -> str:
    """Let `plot` fill a figure; its SVG. `name` keeps its parts' names apart on the page."""
    import matplotlib as mpl  # noqa: PLC0415  # comes with the extra `report`
    from matplotlib.figure import Figure  # noqa: PLC0415

    markup = io.StringIO()
    settings: Any = mpl.rcParams
    with mpl.rc_context():
        mpl.rcdefaults()  # a matplotlibrc of the user's must not change the page
        settings.update(_SETTINGS)
        figure = Figure(figsize=(_WIDTH_PT / 72, height_pt / 72), layout="constrained")
        plot(figure)
        figure.savefig(markup, format="svg", metadata={"Date": None})
    return _for_a_page(markup.getvalue(), name)


def share_axis(axes: "Axes", label: str) -> None:
    """The y axis is a share, 0 to 1, written in percent."""
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def count_axis(axes: "Axes", label: str) -> None:
    """The y axis counts whole things, from none."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: compact(value))


def _for_a_page(markup: str, name: str) -> str:
    start, end = markup.index("<svg"), markup.index(">", markup.index("<svg"))
    head = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", markup[start:end])
    body = _LEAVE_OUT.sub("", markup[end:])
    for color, variable in _VARIABLES.items():
        body = body.replace(color, f"var(--{variable})")
    used = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', body))
    body = re.sub(
        r' id="([^"]+)"',
        lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "",
        body,
    )
    body = body.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    return re.sub(r"\n\s*", "\n", head + body).strip()
