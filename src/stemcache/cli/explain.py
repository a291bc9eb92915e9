"""`stemcache explain`: why one request could not read what another left in the cache."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.shell_completion import CompletionItem
from rich.console import Console

from stemcache.cli.lint_progress import reading
from stemcache.cli.lint_values import check_format, field_pointers, format_option
from stemcache.errors import UsageError
from stemcache.lint.settings import find_settings

if TYPE_CHECKING:
    from stemcache.lint.explain.explanation import Explanation

__all__ = ["explain"]

_COLORS = {"red": "red", "green": "green", "yellow": "yellow", "bold": None}


def _complete_files(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("a", metavar="A", shell_complete=_complete_files)
@click.argument("b", metavar="[B]", required=False, shell_complete=_complete_files)
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="LOG",
    help="Where A and B are, if they are ids or numbers of lines. May be repeated.",
)
@click.option(
    "--provider",
    metavar="NAME",
    help="Provider or rule of both.  [default: told by host and model]",
)
@format_option
@click.option(
    "--map",
    "fields",
    multiple=True,
    metavar="FIELD=POINTER",
    help="Where JSON of your own has something: request=/payload/body, response=/answer.",
)
@click.option(
    "--show-text",
    is_flag=True,
    help="Show the texts that differ. Else no text of a prompt is shown.",
)
@click.option(
    "--output-format",
    type=click.Choice(["full", "json"]),
    default="full",
    show_default=True,
    help="For people or for programs.",
)
def explain(
    *,
    a: str,
    b: str | None,
    logs: tuple[str, ...],
    provider: str | None,
    log_format: str | None,
    fields: tuple[str, ...],
    show_text: bool,
    output_format: Literal["full", "json"],
) -> None:
    """Explain why request B could not read what request A left in the cache.

    \b
    A and B are each one of
      a.json               a file that holds one request body, however it is laid out; - is stdin
      calls.jsonl:3        a line of a log of any format that lint reads
      calls.jsonl#msg_01   a call by the id of its answer, or by its custom_id
      3, msg_01            the same, with --log calls.jsonl
    Without B, a call of a log is compared with the earlier one that it goes on from.

    \b
    Examples:
      stemcache explain first.json second.json
      stemcache explain calls.jsonl:41 calls.jsonl:42 --show-text
      stemcache explain calls.jsonl:42                    # against its parent, as lint pairs them
      stemcache explain msg_01A msg_01B --log calls.jsonl
      jq .request call.json | stemcache explain first.json - --provider anthropic

    Shows the first difference in the order in which the provider reads a prompt, what is lost
    behind it by the provider's rule, what else differs, and what to change. Differences of JSON
    alone, such as white space or escapes, are listed apart: no provider sees them.

    Exits with 0 if nothing that differs costs, with 1 if something does, with 2 for what cannot be
    used.
    """
    asked = _Asked(
        a=a,
        b=b,
        logs=logs,
        provider=provider,
        format=log_format,
        mapping=field_pointers(fields),
    )
    told = _explained(asked)
    console = Console()
    color = console.is_terminal and not console.no_color and not console.is_dumb_terminal
    for line in _lines(told, output_format, show_text=show_text, width=console.width, color=color):
        click.echo(line, color=color)
    if told.costs:
        sys.exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    a: str
    b: str | None
    logs: tuple[str, ...]
    provider: str | None
    format: str | None
    mapping: Mapping[str, str]


def _explained(asked: _Asked) -> "Explanation":
    # --help waits for no numpy
    from stemcache.cli.explain_parent import read_with_parent  # noqa: PLC0415
    from stemcache.cli.explain_requests import (  # noqa: PLC0415
        ReadAs,
        parse_reference,
        read_requests,
    )
    from stemcache.cli.lint_book import alias_remarks, book_of  # noqa: PLC0415
    from stemcache.lint.explain import explain as explaining  # noqa: PLC0415
    from stemcache.lint.options import Options  # noqa: PLC0415

    settings = find_settings(Path.cwd())
    given = [each for each in (asked.a, asked.b) if each is not None]
    references = [parse_reference(each, asked.logs) for each in given]
    piped = [reference for reference in references if "-" in reference.logs]
    if len(piped) > 1 and not all(reference.in_log for reference in piped):
        raise UsageError("standard input is named twice and can be read once; put one in a file")
    overrides = settings.overrides
    provider = asked.provider or settings.provider
    book = book_of(
        overrides,
        settings=settings.source,
        provider=provider,
        provider_source="--provider" if asked.provider else f"{settings.source}, provider",
    )
    how = explaining.How(book=book, provider=provider, aliases=settings.aliases)
    log_format = asked.format or (None if asked.mapping else settings.format)
    check_format(log_format, source="--format" if asked.format else f"{settings.source}, format")
    remarks = tuple(alias_remarks(book, settings.aliases))
    with reading(wanted=None) as on_progress:
        read_as = ReadAs(
            format=log_format,
            mapping=asked.mapping or ({} if asked.format else settings.map),
            mapping_source="--map" if asked.mapping else f"{settings.source}, map",
            on_progress=on_progress,
        )
        if asked.b is not None:
            old, new = read_requests(references, read_as)
            told = explaining.explain(old, new, how=how)
            return replace(told, remarks=(*told.remarks, *remarks))
        if not references[0].in_log:
            raise UsageError(
                f"{asked.a} alone has nothing to be compared with; give a second request, or name "
                f"a line of a log, like {asked.a}:2, to compare it with its parent"
            )
        options = Options(
            today=datetime.now(UTC).date(),
            provider=how.provider,
            aliases=settings.aliases,
            overrides=overrides,
            overlap=0.25 if settings.overlap is None else settings.overlap,
        )
        paired = read_with_parent(references[0], read_as, options=options, book=book)
    told = explaining.explain(paired.parent, paired.child, how=how, row=paired.row)
    return replace(told, remarks=(*told.remarks, *remarks))


def _lines(
    told: "Explanation",
    output_format: Literal["full", "json"],
    *,
    show_text: bool,
    width: int,
    color: bool,
) -> Iterator[str]:
    from stemcache.lint.explain import as_json, full  # noqa: PLC0415

    if output_format == "json":
        yield from as_json.render(told, show_text=show_text)
    elif color:
        yield from full.render(told, show_text=show_text, width=width, paint=_paint)
    else:
        yield from full.render(told, show_text=show_text, width=width)


def _paint(text: str, style: str) -> str:
    return click.style(text, fg=_COLORS[style], bold=style in {"bold", "yellow"})
