"""The linters that read a log, each with its form and its command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import executable

from benchmarks.peers_matrix.peers.asked import INSIDE, QUIET, Environment
from benchmarks.peers_matrix.peers.kvlint import tokenizer

__all__ = ["STEMCACHE", "Tool", "peers"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One column of the table."""

    name: str
    title: str
    """The command, as a reader would type it."""
    form: str
    """Of `logs.FORMS`."""
    command: tuple[str, ...]
    """`LOG` stands for the log, `STORE` for what `before` made of it."""
    before: tuple[str, ...] = ()
    """A command that brings the log into the tool's own store; measured apart."""
    environment: Mapping[str, str] = field(default_factory=dict)


STEMCACHE = Tool(
    "stemcache",
    "stemcache lint LOG --output-format json",
    "calls",
    (executable, "-m", "stemcache", "lint", "LOG", "--isolated", "--output-format", "json"),
)


def peers(environment: Environment, folder: Path) -> list[Tool]:
    """Those of an environment that can read a log at all; cachecanary reads pairs."""
    bin_ = environment.folder / "bin"
    python, model = str(bin_ / "python"), str(tokenizer(environment, folder))
    return [
        Tool(
            "promptcachelint",
            "promptcachelint report TRACE --json",
            "trace",
            (str(bin_ / "promptcachelint"), "report", "LOG", "--json"),
        ),
        Tool(
            "cachelint",
            "cachelint analyze LOG",
            "claude bodies",
            (str(bin_ / "cachelint"), "analyze", "LOG", "--provider", "anthropic"),
        ),
        Tool(
            "prefixguard",
            "PrefixGuard().observe(…) for each call",
            "sessions",
            (python, str(INSIDE / "prefixguard_log.py"), "LOG"),
        ),
        Tool(
            "ctxdiff",
            "ctxdiff cache --project TRACE",
            "sessions",
            (str(bin_ / "ctxdiff"), "cache", "--project", "STORE"),
            (python, str(INSIDE / "ctxdiff_log.py"), "LOG", "STORE"),
        ),
        Tool(
            "kvlint",
            "kvlint lint LOG --model TOKENIZER",
            "chat bodies",
            (str(bin_ / "kvlint"), "lint", "LOG", "--model", model),
            environment=QUIET,
        ),
    ]
