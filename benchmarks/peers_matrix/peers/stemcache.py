"""stemcache: a log of bare bodies. Its kinds are compared exactly, not by words."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import one_a_line
from benchmarks.peers_matrix.verdict import Alarm, Answer, Grade

__all__ = ["Stemcache", "exact"]

_OPTIONS = ("--isolated", "--output-format", "json")


class Stemcache:
    """`stemcache lint LOG --output-format json`."""

    name = "stemcache"

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask for the report on a log of the two."""
        del case
        log = one_a_line(folder / "bodies.jsonl", bodies)
        done = subprocess.run(
            [sys.executable, "-m", "stemcache", "lint", str(log), *_OPTIONS],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in {0, 1}:
            raise RuntimeError(f"stemcache failed: {done.stderr.strip()}")
        return Answer(
            tuple(
                Alarm(
                    head=found["kind"],
                    words=f"{found['code']} {found['kind']}: {found['message']} at "
                    f"{found['location']['pointer']}",
                    note=found["severity"] == "note",
                )
                for found in json.loads(done.stdout)["findings"]
            )
        )


def exact(answer: Answer, kind: str | None) -> Grade:
    """Whether it said this kind and warned of no other."""
    said = {alarm.head for alarm in answer.alarms}
    warned = {alarm.head for alarm in answer.alarms if not alarm.note}
    if kind is None:
        return Grade.FALSE if warned else Grade.NAMED
    if kind in said:
        return Grade.NAMED if warned <= {kind} else Grade.SEEN
    return Grade.SEEN if warned else Grade.MISSED
