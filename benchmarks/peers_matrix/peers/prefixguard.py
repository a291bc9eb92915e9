"""prefixguard: its guard observes both requests, and lints the first, as it does by default."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import Environment, one_a_line
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["PrefixGuard"]


class PrefixGuard:
    """`PrefixGuard().observe(messages=…, system=…, tools=…)`."""

    name = "prefixguard"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it of a session of the two."""
        if case.form == "bedrock":
            return Answer(refused="knows no Bedrock")
        log = one_a_line(folder / "bodies.jsonl", bodies)
        done = self._environment.script("prefixguard_probe.py", log, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"prefixguard failed: {done.stderr.strip()}")
        return Answer(
            tuple(
                Alarm(head=f"{cause} {block}", words=f"{cause} {block}: {detail}")
                for turn in json.loads(done.stdout)
                for cause, block, detail in turn["findings"]
            )
        )
