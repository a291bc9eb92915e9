"""What asking a linter needs: its environment, its commands, files for the bodies."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.verdict import Answer

__all__ = ["INSIDE", "QUIET", "Environment", "Linter", "numbered", "one_a_line"]

INSIDE = Path(__file__).with_name("inside")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment that holds the linters."""

    folder: Path

    def run(
        self, command: str, *arguments: str | Path, cwd: Path, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its commands. Whatever it exits with, the caller reads what it said."""
        return subprocess.run(
            [self.folder / "bin" / command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            timeout=timeout_s,
            env={**os.environ, **QUIET},
        )

    def script(
        self, name: str, *arguments: str | Path, cwd: Path, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of `inside/` with its Python."""
        return self.run("python", INSIDE / name, *arguments, cwd=cwd, timeout_s=timeout_s)

    def version(self, name: str) -> str:
        """Installed version of a distribution; raises where it is not installed."""
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        done = self.run("python", "-c", code, cwd=self.folder)
        if done.returncode:
            raise SystemExit(
                f"{name} is not installed in {self.folder}; install it there, "
                "or let scripts/lint-matrix make an environment"
            )
        return done.stdout.strip()


QUIET = {
    "COLUMNS": "400",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Linter(Protocol):
    """One column of the matrix."""

    name: str
    """Of the distribution."""

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it about a pair; `folder` is empty and is the linter's to write to."""


def one_a_line(path: Path, values: Sequence[Mapping[str, Any]]) -> Path:
    """Write JSON Lines, keys in their order."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def numbered(folder: Path, bodies: Sequence[Body]) -> list[Path]:
    """Write each body to a file of its own."""
    paths = [folder / f"request{number}.json" for number in range(len(bodies))]
    for path, body in zip(paths, bodies, strict=True):
        path.write_text(json.dumps(body), encoding="utf-8")
    return paths
