"""promptcachelint: a trace in its own form, in a session that is named, as it advises."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import Environment, one_a_line
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["PromptCacheLint", "record"]


def record(body: Body, *, provider: str, at_s: float, session: str | None) -> dict[str, object]:
    """A line of its trace, without usage."""
    return {
        "provider": provider,
        "body": body,
        "at": at_s,
        "model": body["model"],
        "session_id": session,
        "session_explicit": session is not None,
    }


class PromptCacheLint:
    """`promptcachelint report TRACE --json`."""

    name = "promptcachelint"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask for the report on a trace of the two."""
        if case.form == "bedrock":
            return Answer(refused="knows the Claude API and OpenAI")
        provider = "anthropic" if case.form == "anthropic" else "openai"
        lines = [
            record(body, provider=provider, at_s=1_790_000_000.0 + 20 * number, session="one")
            for number, body in enumerate(bodies)
        ]
        trace = one_a_line(folder / "trace.jsonl", lines)
        done = self._environment.run("promptcachelint", "report", trace, "--json", cwd=folder)
        if done.returncode == 2:
            return Answer(refused=done.stderr.strip())
        alarms = []
        for session in json.loads(done.stdout)["sessions"]:
            for request in session["requests"]:
                for found in request["findings"]:
                    # A hint is advice for the code, but two of CL001's name what was found.
                    slid, edited = (
                        found["data"].get(key) for key in ("window_slid", "history_edited")
                    )
                    what = "; the window slid" * bool(slid) + "; history edited" * bool(edited)
                    alarms.append(
                        Alarm(
                            head=f"{found['code']} {found['path']}",
                            words=f"{found['message']} at {found['path']}{what}",
                            note=found["severity"] == "info",
                        )
                    )
        return Answer(tuple(alarms))
