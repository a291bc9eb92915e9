"""The five output formats by name."""

from collections.abc import Iterator
from typing import Literal, assert_never

from stemcache.lint import render_concise, render_full, render_github, render_sarif, report_json
from stemcache.lint.finding import Report

__all__ = ["OutputFormat", "show"]

OutputFormat = Literal["full", "concise", "json", "github", "sarif"]


def show(
    report: Report,
    output_format: OutputFormat,
    *,
    show_text: bool = False,
    width: int = 80,
    color: bool = False,
    quiet: bool = False,
) -> Iterator[str]:
    """The report in lines. Only `full` looks at width, colour and `quiet`."""
    match output_format:
        case "full":
            return render_full.render(
                report, show_text=show_text, width=width, color=color, quiet=quiet
            )
        case "concise":
            return render_concise.render(report)
        case "json":
            return report_json.render(report, show_text=show_text)
        case "github":
            return render_github.render(report)
        case "sarif":
            return render_sarif.render(report, show_text=show_text)
        case _:
            assert_never(output_format)
