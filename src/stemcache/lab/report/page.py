"""The page: its parts in the order in which people ask for them, in one template."""

import importlib.resources
from typing import Any

from stemcache import __version__
from stemcache.lab.report.curves import lifetimes, miss_ratios
from stemcache.lab.report.glossary import glossary
from stemcache.lab.report.histograms import reuse_distances, reuse_times
from stemcache.lab.report.summary import facts, lead
from stemcache.lab.report.tables import results_table, tenants_table
from stemcache.lab.report.tree import icicle_plot

__all__ = ["page"]

_TEMPLATE = "page.html.jinja"
_STYLE = "page.css"


def page(answer: dict[str, Any], *, command: str | None) -> str:
    """The whole file. Raises ModuleNotFoundError where jinja2 or matplotlib is missing."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # the extra `report`
    from markupsafe import Markup  # noqa: PLC0415  # comes with jinja2

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    plots = [lifetimes(answer), reuse_times(answer), reuse_distances(answer), icicle_plot(answer)]
    return environment.from_string(_file(_TEMPLATE)).render(
        trace=str(answer["trace"]),
        # Our own file and matplotlib's output; texts in the latter it has escaped.
        style=Markup(_file(_STYLE)),  # noqa: S704
        svg=Markup,
        lead=lead(answer),
        facts=facts(answer),
        curve=miss_ratios(answer),
        results=results_table(answer),
        plots=[plot for plot in plots if plot is not None],
        tenants=tenants_table(answer),
        glossary=glossary(answer),
        command=command,
        version=__version__,
    )


def _file(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text("utf-8")
