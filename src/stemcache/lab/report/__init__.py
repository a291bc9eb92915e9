"""A simulation as one HTML file that needs nothing else: no network, no script, no font.

```
    answer ── summary · tables ──────────────┐
       └───── curves · histograms · tree ────┴── page.html.jinja ── one file
```

Needs the extra `report`. Equal answers give equal bytes.
"""

from importlib import import_module
from typing import Any

from stemcache.errors import UsageError

__all__ = ["render", "require"]


def render(answer: dict[str, Any], *, command: str | None = None) -> str:
    """The page for what `lab.answer.as_json` gave, also after a way through JSON.

    `command` is shown as the command line that made it. While it draws, matplotlib's settings are
    those of the report, so not for a thread beside others that draw.
    """
    require()
    from stemcache.lab.report.page import page  # noqa: PLC0415  # only who draws pays for it

    return page(answer, command=command)


def require() -> None:
    """Raise UsageError unless what drawing takes is installed; for before a long simulation."""
    for package in ("jinja2", "matplotlib"):
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise UsageError(
                f"the HTML report needs the package {package}, which is not installed; "
                "run: pip install 'stemcache[report]'"
            ) from None
