"""ctxdiff: both requests recorded by its wrapper, then its report on the cache's prefix."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import Environment, one_a_line
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["CtxDiff"]

_COLON = re.compile(": '.*")


class CtxDiff:
    """`ctxdiff cache --project TRACE`."""

    name = "ctxdiff"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it of a run of the two."""
        if case.form == "bedrock":
            return Answer(refused="reads Bedrock's Converse form only")
        log = one_a_line(folder / "bodies.jsonl", bodies)
        store = folder / "run.ctrace"
        api = "anthropic" if case.form == "anthropic" else "openai"
        done = self._environment.script("ctxdiff_record.py", log, api, store, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"ctxdiff could not record: {done.stderr.strip()}")
        said = self._environment.run("ctxdiff", "cache", "--project", store, cwd=folder)
        if said.returncode not in {0, 1}:
            raise RuntimeError(f"ctxdiff failed: {said.stderr.strip()}")
        return Answer(tuple(_alarms(said.stdout, bodies)))


def _alarms(said: str, bodies: Sequence[Body]) -> list[Alarm]:
    """A warning has its head, an excerpt and what differs; a hint may stand below all."""
    alarms = []
    lines = said.splitlines()
    for number, line in enumerate(lines):
        if "warning: [" in line:
            excerpt, detail = (*lines[number + 1 : number + 3], "", "")[:2]
            # Behind the colon stand the texts that differ; the role behind a slash is no place.
            words = f"{line} {_COLON.sub('', detail.strip())}".replace("/system", "")
            place = _place(excerpt.strip().strip("'").rstrip("…"), bodies)
            alarms.append(Alarm(f"{line} {excerpt}", f"{words.replace('_', ' ')}{place}"))
        elif line.startswith("hint:"):
            alarms.append(Alarm("hint", line, note=True))
    return alarms


def _place(excerpt: str, bodies: Sequence[Body]) -> str:
    """Which message the excerpt shows: ctxdiff has no paths, but shows how the block begins."""
    for body in reversed(bodies):
        for number, message in enumerate(body["messages"]):
            content = message["content"]
            for block in content if isinstance(content, list) else [content or ""]:
                shown = block if isinstance(block, str) else json.dumps(block, sort_keys=True)
                image = isinstance(block, dict) and block["type"] in {"image", "image_url"}
                flat = " ".join(shown.split())
                if excerpt and (flat.startswith(excerpt) or (image and "[image" in excerpt)):
                    return f" at messages[{number}]"
    return ""
