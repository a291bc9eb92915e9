"""Keep-alive and compaction on real coding sessions, under Anthropic's and OpenAI's rules.

    python -m benchmarks.compaction.run --traces DIR [--only keepalive|histories]

Planners learn from the first 60% of the sessions in the file; every figure is of the others, at
list prices, request by request against the provider's simulated cache. All is the same every run.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.compaction import histories as histories_
from benchmarks.compaction import keepalive
from benchmarks.compaction.sessions import Session, read
from benchmarks.machine import machine
from stemcache.provider.book import load_book
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

RESULTS = Path(__file__).with_name("results.json")
SESSIONS = "claude_code_sessions_rle.jsonl.gz"
EARLIER = 0.6


@dataclass(frozen=True, slots=True)
class Scene:
    """One provider's model, and how its entries end."""

    provider: str
    model: str
    ends: str = "as stated"
    """`as stated`; `at the minimum` takes a minimum for the whole lifetime; `never`."""

    def rule(self) -> Rule:
        """The rule that the cache goes by."""
        rule = load_book().rule_for(self.provider, self.model, marked=True)
        assert rule is not None, f"no rule for {self.model}"
        if self.ends != "at the minimum":
            return rule
        return replace(rule, ttls=tuple(replace(ttl, high_s=ttl.low_s) for ttl in rule.ttls))

    def price(self) -> Price:
        """The list price."""
        price = load_book().price(self.provider, self.model)
        assert price is not None, f"no price for {self.model}"
        return price

    def gone_after_s(self) -> float | None:
        """What the planner is told."""
        return None if self.ends == "as stated" else self.rule().ttls[0].low_s


SCENES = (
    Scene("anthropic", "claude-opus-4-5"),
    Scene("anthropic", "claude-opus-5-5"),
    Scene("openai", "gpt-5.6", "at the minimum"),
    Scene("openai", "gpt-6.1-sol", "at the minimum"),
    Scene("openai", "gpt-5.6", "never"),
)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--only", choices=("keepalive", "histories"))
    chosen = parser.parse_args()
    path = chosen.traces / SESSIONS
    sessions = list(read(path))
    cut = int(len(sessions) * EARLIER)
    report: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    report |= {"machine": machine(), "sessions": {"earlier": cut, "later": len(sessions) - cut}}
    report["requests"] = {
        "earlier": sum(len(session.visits) for session in sessions[:cut]),
        "later": sum(len(session.visits) for session in sessions[cut:]),
    }
    if chosen.only != "histories":
        report["keepalive"] = pinged(sessions, cut)
    if chosen.only != "keepalive":
        report["histories"] = shortened(path, sessions, cut)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def pinged(sessions: Sequence[Session], cut: int) -> list[dict[str, Any]]:
    """Every scene's rows."""
    prior = keepalive.learned(sessions[:cut])
    found = []
    for scene in SCENES:
        rows = keepalive.measured(
            scene.rule(),
            scene.price(),
            gone_after_s=scene.gone_after_s(),
            sessions=sessions[cut:],
            prior=prior,
        )
        found.append(_scene(scene, rows))
        _show(found[-1])
    return found


def shortened(path: Path, sessions: Sequence[Session], cut: int) -> list[dict[str, Any]]:
    """Every scene's rows but for caches that never forget, which change nothing here."""
    grown = histories_.histories(path, sessions)
    matches: histories_.Matches = {}
    found = []
    for scene in SCENES:
        if scene.ends == "never":
            continue
        rows = histories_.measured(
            scene.rule(),
            scene.price(),
            earlier=grown[:cut],
            later=grown[cut:],
            matches=matches,
        )
        found.append(_scene(scene, rows))
        _show(found[-1])
    return found


def _scene(scene: Scene, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "provider": scene.provider,
        "model": scene.model,
        "ends": scene.ends,
        "rows": list(rows),
    }


def _show(scene: dict[str, Any]) -> None:
    print(scene["model"], scene["ends"])
    for row in scene["rows"]:
        print("  ", " ".join(f"{key}={value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
