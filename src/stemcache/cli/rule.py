"""`stemcache rule`: the page of one rule, or the list of all."""

import json
from typing import Any, Literal

import click
from rich.console import Console

from stemcache.cli.lint_values import complete_rules
from stemcache.lint.catalogue import find, rules
from stemcache.lint.rule import LintRule

__all__ = ["rule"]

_WIDEST = 100


@click.command()
@click.argument("code", required=False, shell_complete=complete_rules)
@click.option(
    "--output-format",
    type=click.Choice(["full", "json"]),
    default="full",
    show_default=True,
    help="For people or for programs.",
)
def rule(*, code: str | None, output_format: Literal["full", "json"]) -> None:
    """Explain the rule CODE, a code or a name; without one, list all rules.

    \b
    Examples:
      stemcache rule
      stemcache rule STM101
      stemcache rule tool-order
    """
    if code is None:
        if output_format == "json":
            click.echo(json.dumps([_told(each) for each in rules()], indent=2))
        else:
            _list(rules())
        return
    found = find(code)
    if output_format == "json":
        click.echo(json.dumps(_told(found), indent=2))
        return
    _show(found)


def _list(all_rules: tuple[LintRule, ...]) -> None:
    width = max((len(each.name) for each in all_rules), default=0)
    for each in all_rules:
        click.echo(f"{each.code}  {each.name:<{width}}  {each.summary}")


def _show(found: LintRule) -> None:
    """The page, set on a terminal, as it is written elsewhere."""
    head, page = f"{found.code} {found.name}", found.page.strip()
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal:
        click.echo(f"{head}\n\n{page}")
        return
    from rich.markdown import Markdown  # noqa: PLC0415  only a terminal needs it

    console.print(head, style="bold", highlight=False)
    console.print()
    console.print(Markdown(page, code_theme="ansi_dark"), width=min(console.width, _WIDEST))


def _told(found: LintRule) -> dict[str, Any]:
    needs = {
        "bodies": found.needs_bodies,
        "usage": found.needs_usage,
        "times": found.needs_times,
        "key order": found.needs_key_order,
        "parameters": found.needs_parameters,
    }
    return {
        "code": found.code,
        "name": found.name,
        "kind": found.kind,
        "summary": found.summary,
        "help": found.help,
        "worst": found.worst.value,
        "needs": [name for name, needed in needs.items() if needed],
        "page": found.page.strip(),
    }
