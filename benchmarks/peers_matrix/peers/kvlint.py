"""kvlint: an OpenAI log, and a tokenizer that is made here, since any one must be given."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body, chat
from benchmarks.peers_matrix.peers.asked import Environment, one_a_line
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["KvLint", "tokenizer"]


def tokenizer(environment: Environment, folder: Path) -> Path:
    """Make a tokenizer in `folder`; raises where that fails."""
    sample = one_a_line(folder / "sample.jsonl", [chat(8)])
    made = folder / "tokenizer"
    done = environment.script("kvlint_tokenizer.py", sample, made, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"no tokenizer could be made: {done.stderr.strip()}")
    return made


class KvLint:
    """`kvlint lint LOG --model TOKENIZER --json REPORT`."""

    name = "kvlint"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._kept = tempfile.TemporaryDirectory()
        self._model = tokenizer(environment, Path(self._kept.name))

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it of a log of the two. Its low severity is what any log has."""
        del case
        log = one_a_line(folder / "bodies.jsonl", bodies)
        report = folder / "report.json"
        done = self._environment.run(
            "kvlint", "lint", log, "--model", str(self._model), "--json", report, cwd=folder
        )
        if not report.exists():
            lines = (done.stdout + done.stderr).strip().splitlines()
            said = lines[-1].strip(" │") if lines else "no report"
            return Answer(refused=said.rpartition(f"{log.name}:")[2])
        return Answer(
            tuple(
                Alarm(
                    head=found["rule_id"],
                    words=f"{found['rule_id']}: {found['evidence'].partition(':')[0]}",
                    note=found["severity"] == "low",
                )
                for found in json.loads(report.read_text(encoding="utf-8"))["findings"]
            )
        )
