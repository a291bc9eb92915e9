"""cachecanary: the bodies as Bedrock's InvokeModel takes them, both through `diff` and `lint`."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers_matrix.cases import Case
from benchmarks.peers_matrix.conversation import Body
from benchmarks.peers_matrix.peers.asked import Environment, numbered
from benchmarks.peers_matrix.verdict import Alarm, Answer

__all__ = ["CacheCanary"]

_NO_FAULT = frozenset({"prefix-identical"})


class CacheCanary:
    """`cachecanary --json diff PREVIOUS NEXT` and `cachecanary --json lint REQUEST`."""

    name = "cachecanary"

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def ask(self, case: Case, bodies: Sequence[Body], folder: Path) -> Answer:
        """Ask it of a pair that Bedrock would treat as the Claude API does."""
        if case.form not in {"anthropic", "bedrock"}:
            return Answer(refused="knows Bedrock")
        if not case.bedrock_alike and case.form == "anthropic":
            return Answer(refused="knows Bedrock, whose rule is another here")
        models = [_bedrock_name(str(body["model"])) for body in bodies]
        paths = numbered(
            folder,
            [
                {
                    "anthropic_version": "bedrock-2023-05-31",
                    "modelId": name,
                    **{key: value for key, value in body.items() if key != "model"},
                }
                for name, body in zip(models, bodies, strict=True)
            ],
        )
        alarms = self._said(folder, "diff", *paths)
        for path in paths:
            alarms += self._said(folder, "lint", path)
        return Answer(tuple(alarms))

    def _said(self, folder: Path, *arguments: str | Path) -> list[Alarm]:
        done = self._environment.run("cachecanary", "--json", *arguments, cwd=folder)
        if not done.stdout.strip():
            raise RuntimeError(f"cachecanary {arguments[0]} failed: {done.stderr.strip()}")
        said = json.loads(done.stdout)
        found = (
            said
            if isinstance(said, list)
            else next(value for value in said.values() if isinstance(value, list))
        )
        return [
            Alarm(
                head=f"{each.get('code') or each.get('rule')} {each['location']}",
                # What follows is said of every change of a system prompt.
                words=f"{each.get('code') or each.get('rule')}: "
                f"{each['message'].partition('(look for')[0]} at {each['location']}",
            )
            for each in found
            if (each.get("code") or each.get("rule")) not in _NO_FAULT
        ]


def _bedrock_name(model: str) -> str:
    return model if "." in model else f"us.anthropic.{model}-v1:0"
