"""Projects with prefixes, in temporary folders, and `stemcache prefix` run in them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.errors import StemcacheError
from tests.cli.trace_runs import Run

__all__ = ["RULES", "Project"]

RULES = "".join(f"Rule {number}: be kind to customer {number}.\n" for number in range(600))


class Project:
    """A folder with settings. The current directory has to be in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def settings(self, prefixes: str, lock: str = "") -> None:
        """`stemcache.toml` with these tables."""
        self.write("stemcache.toml", f"[prefixes]\n{prefixes}\n[lock]\n{lock}\n")

    def text(self, text: str, version: str = "1", lock: str = "") -> None:
        """One prefix, `triage`, that is a file of text."""
        self.write("triage.md", text)
        self.settings(f'triage = {{ path = "triage.md", version = "{version}" }}', lock)

    def run(self, *arguments: object) -> Run:
        """`stemcache prefix` with these arguments, as `main` would run it."""
        result = CliRunner().invoke(stemcache, ["prefix", *map(str, arguments)])
        if isinstance(result.exception, StemcacheError):
            return Run(2, result.stdout, f"{result.stderr}stemcache: {result.exception}\n")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Run(result.exit_code, result.stdout, result.stderr)

    def fails(self, *arguments: object) -> str:
        """What is said by a command that exits with 2 and prints nothing."""
        done = self.run(*arguments)
        assert (done.code, done.out) == (2, "")
        return done.err.strip()

    def told(self, *arguments: object) -> dict[str, Any]:
        """The same as JSON."""
        done = self.run(*arguments, "--output-format", "json")
        assert done.code in {0, 1}, done.err
        found: dict[str, Any] = json.loads(done.out)
        return found

    def commit(self) -> str:
        """All files, in git; the name of the commit."""
        if not (self.folder / ".git").exists():
            self._git("init", "-q", "-b", "main")
        self._git("add", "-A")
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        self._git(*who, "commit", "-q", "-m", "state")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout
