"""The flags of `stemcache lint`, joined with the settings file: a flag wins over the file."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar, get_args

import click

from stemcache.cli.lint_values import (
    USD,
    check_format,
    complete_rules,
    complete_thresholds,
    field_pointers,
    format_option,
)
from stemcache.errors import UsageError
from stemcache.lint.fail_on import Threshold, parse_threshold
from stemcache.lint.options import Options
from stemcache.lint.select import check_selectors
from stemcache.lint.settings import Settings, find_settings, read_settings
from stemcache.lint.show import OutputFormat

__all__ = ["Wishes", "lint_options"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked for, by flags and file, read and checked."""

    options: Options
    output_format: OutputFormat = "full"
    output: Path | None = None
    baseline: Path | None = None
    baseline_source: str = "--baseline"
    """The flag, or the file that names the baseline."""
    write_baseline: Path | None = None
    calls: Path | None = None
    format: str | None = None
    format_source: str = "--format"
    """The flag, or the file that says it; of these likewise."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    mapping_source: str = "--map"
    provider_source: str = "--provider"
    settings_source: str = ""
    """Name of the settings file."""
    thresholds: tuple[Threshold, ...] = ()
    show_text: bool = False
    exit_zero: bool = False
    quiet: bool = False
    progress: bool | None = None


def lint_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags to a command, which gets them as one argument, `wishes`."""

    @click.option(
        "--output-format",
        type=click.Choice(get_args(OutputFormat)),
        default="full",
        show_default=True,
        help="For people, for grep, for programs, for GitHub's workflows, for code scanning.",
    )
    @click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the report there.  [default: stdout]",
    )
    @click.option(
        "--select",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Rules to show: codes, beginnings of codes (STM1), names; commas between.  "
        "[default: all]",
    )
    @click.option(
        "--ignore",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Rules to leave out; what is named more exactly wins over --select.",
    )
    @click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Leave out findings that this file has.",
    )
    @click.option(
        "--write-baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the findings of this run to a baseline, and exit with 0 for them.",
    )
    @click.option(
        "--calls",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a line of JSON for every call: predicted and reported reads, what was lost.",
    )
    @click.option(
        "--provider",
        metavar="NAME",
        help="Provider or rule of all calls.  [default: told by each call's host and model]",
    )
    @format_option
    @click.option(
        "--map",
        "fields",
        multiple=True,
        metavar="FIELD=POINTER",
        help="Where JSON of your own has something: request=/payload/body, response=/answer, "
        "time=/ts. May be repeated, or given with commas.",
    )
    @click.option(
        "--show-text",
        is_flag=True,
        help="Show the texts that differ, in full, json and sarif. Else no text of a prompt is "
        "shown.",
    )
    @click.option(
        "--fail-on",
        multiple=True,
        metavar="EXPR",
        shell_complete=complete_thresholds,
        help="Exit with 1 where it is true: 'hit_rate<0.8', 'lost_tokens>1M'. May be repeated.",
    )
    @click.option(
        "--fail-on-cost",
        type=USD,
        metavar="USD",
        help="Exit with 1 where more than this is lost.",
    )
    @click.option(
        "--bill",
        type=USD,
        metavar="USD",
        help="What the provider's bill says; the report tells the gap to the log.",
    )
    @click.option(
        "--warning-share",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Share of the input spend from which a finding is a warning.  [default: 0.01]",
    )
    @click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
    @click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Settings to read.  [default: the nearest stemcache.toml, or pyproject.toml with "
        "[tool.stemcache]]",
    )
    @click.option("--isolated", is_flag=True, help="Read no settings file.")
    @click.option("-q", "--quiet", is_flag=True, help="Show findings and nothing else.")
    @click.option(
        "--progress/--no-progress",
        default=None,
        help="Show how far the log was read, on a terminal.  [default: for large logs]",
    )
    @functools.wraps(command)
    def with_wishes(
        *args: object,
        output_format: OutputFormat,
        output: Path | None,
        select: tuple[str, ...],
        ignore: tuple[str, ...],
        baseline: Path | None,
        write_baseline: Path | None,
        calls: Path | None,
        provider: str | None,
        log_format: str | None,
        fields: tuple[str, ...],
        show_text: bool,
        fail_on: tuple[str, ...],
        fail_on_cost: float | None,
        bill: float | None,
        warning_share: float | None,
        exit_zero: bool,
        config: Path | None,
        isolated: bool,
        quiet: bool,
        progress: bool | None,
        **kwargs: object,
    ) -> R:
        settings = _settings(config, isolated=isolated)
        mapping = field_pointers(fields)
        wishes = Wishes(
            options=Options(
                today=date.min,
                provider=provider or settings.provider,
                aliases=settings.aliases,
                overrides=settings.overrides,
                select=_selectors("select", select, settings.select, settings),
                ignore=_selectors("ignore", ignore, settings.ignore, settings),
                route_ignores={
                    route: check_selectors(names, source=f"{settings.source}, routes")
                    for route, names in settings.route_ignores.items()
                },
                warning_share=_first(warning_share, settings.warning_share, 0.01),
                overlap=_first(settings.overlap, 0.25),
                subscription=bool(settings.subscription),
                bill_usd=bill,
            ),
            output_format=output_format,
            output=output,
            baseline=baseline or settings.baseline,
            baseline_source="--baseline" if baseline else f"{settings.source}, baseline",
            write_baseline=write_baseline,
            calls=calls,
            # One says where the other looks, so a flag for either leaves the file's out.
            format=log_format or (None if mapping else settings.format),
            format_source="--format" if log_format else f"{settings.source}, format",
            mapping=mapping or ({} if log_format else settings.map),
            mapping_source="--map" if mapping else f"{settings.source}, map",
            provider_source="--provider" if provider else f"{settings.source}, provider",
            settings_source=settings.source,
            thresholds=_thresholds(fail_on, fail_on_cost, settings),
            show_text=show_text,
            exit_zero=exit_zero,
            quiet=quiet,
            progress=progress,
        )
        check_format(wishes.format, source=wishes.format_source)
        return command(*args, wishes=wishes, **kwargs)

    return with_wishes


def _settings(config: Path | None, *, isolated: bool) -> Settings:
    if config is not None and isolated:
        raise UsageError("--config and --isolated are both given; leave one out")
    if config is not None:
        return read_settings(config)
    return Settings() if isolated else find_settings(Path.cwd())


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _selectors(
    name: str, flags: tuple[str, ...], filed: tuple[str, ...], settings: Settings
) -> tuple[str, ...]:
    if flags:
        parts = [part for flag in flags for part in flag.split(",") if part.strip()]
        return check_selectors(parts, source=f"--{name}")
    return check_selectors(filed, source=f"{settings.source}, {name}")


def _thresholds(
    flags: tuple[str, ...], cost_usd: float | None, settings: Settings
) -> tuple[Threshold, ...]:
    source = "--fail-on" if flags else f"{settings.source}, fail-on"
    found = [parse_threshold(text, source=source) for text in flags or settings.fail_on]
    most = settings.fail_on_cost_usd if cost_usd is None else cost_usd
    if most is not None:
        found.append(Threshold(f"lost_cost_usd>{most:g}", "lost_cost_usd", ">", most))
    return tuple(found)
