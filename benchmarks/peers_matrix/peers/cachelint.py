"""cachelint: two bodies as they are."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import Environment, numbered
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["CacheLint"]


class CacheLint:
    """`cachelint diff LEFT RIGHT`. It always exits with 0; what it found is in its text.

    A prompt that has something behind the whole first request is growth, not a break: that is told
    by where it diverges.
    """

    name = "cachelint"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it of two bodies; Bedrock's are Anthropic's to it."""
        if case.form == "bedrock":
            return Answer(refused="knows Anthropic and OpenAI")
        provider = "anthropic" if case.form == "anthropic" else "openai"
        left, right = numbered(folder, bodies)
        done = self._environment.run(
            "cachelint", "diff", left, right, "--provider", provider, cwd=folder
        )
        if done.returncode:
            return Answer(refused=done.stderr.strip().rpartition("error: ")[2])
        fields = dict(
            line.split(": ", 1) for line in done.stdout.splitlines() if re.match(r"[A-Z].*: ", line)
        )
        alarms = []
        where = fields["First divergence"]
        if where != "none" and not _growth(where, len(bodies[0]["messages"])):
            head = re.sub(r", offset \d+", "", where)
            alarms.append(Alarm(head=head, words=f"{where}; {_kind(head)}"))
        context = fields["Context differences"]
        if context != "none":
            words = f"context differs: {context}"
            alarms.append(Alarm(head=words, words=words, note="tool_choice" not in context))
        if "below" in fields.get("Estimate vs minimum", ""):
            words = "estimate below the documented model minimum"
            alarms.append(Alarm(head=words, words=words, note=True))
        return Answer(tuple(alarms))


def _growth(where: str, messages: int) -> bool:
    return where.startswith(f"messages[{messages}]") and "inserted" in where


def _kind(head: str) -> str:
    kind = head.rpartition("(")[2].rstrip(")")
    return {"inserted": "a component was added", "removed": "a component was removed"}.get(
        kind, kind
    )
