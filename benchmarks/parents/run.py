"""The true parent's share, over airline conversations that are interleaved, forked and rewritten.

    python -m benchmarks.parents.run --trajectories tau_bench_airline.json.gz

A conversation's first request has no parent of its own: it is not counted, whatever is found.
"""

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.parents.traffic import Message, Sent, traffic
from stemcache.trace.parents.index import ParentIndex
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import sketch
from stemcache.wire.api import Api

__all__ = ["Score", "main", "score", "trajectories"]


@dataclass(slots=True)
class Score:
    """How it went."""

    asked: Counter[str] = field(default_factory=Counter)
    """Requests with a true parent, by what is between the two."""
    right: Counter[str] = field(default_factory=Counter)
    firsts: int = 0
    cold: int = 0
    """First requests for which nothing was found."""
    seconds: float = 0.0
    """Spent in `find` and `add`."""

    @property
    def share(self) -> float:
        """True parents found over requests that have one."""
        return self.right.total() / self.asked.total()

    def __str__(self) -> str:
        kinds = ", ".join(f"{k} {self.right[k]}/{n}" for k, n in sorted(self.asked.items()))
        return (
            f"{self.share:.2%} of {self.asked.total()} ({kinds}); "
            f"{self.firsts} first requests, {self.cold} of them cold"
        )


def trajectories(path: Path) -> list[list[Message]]:
    """The conversations of a file of tau-bench."""
    with gzip.open(path) as stream:
        return [each["traj"] for each in json.load(stream)]


def score(requests: Iterable[Sent]) -> Score:
    """Play requests through an index, each answered before the next is sent."""
    index, result = ParentIndex(), Score()
    for sent in requests:
        prompt = prompt_of({"model": "m", "messages": sent.messages}, Api.CHAT)
        found = sketch(prompt)
        start = time.perf_counter()
        parent = index.find(found, scope="", now_s=None, prompt=prompt)
        index.add(found, scope="", answered_s=None, prompt=prompt)
        result.seconds += time.perf_counter() - start
        if sent.parent is None:
            result.firsts += 1
            result.cold += parent is None
            continue
        result.asked[sent.how] += 1
        result.right[sent.how] += parent is not None and parent.number == sent.parent
    return result


def main() -> None:
    """Print a line for each number of conversations at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    conversations = trajectories(args.trajectories)
    for at_once in (8, 50):
        result = score(traffic(conversations, at_once=at_once, seed=args.seed))
        each_ms = 1e3 * result.seconds / (result.asked.total() + result.firsts)
        print(f"{at_once:>3} at once: {result}; {each_ms:.2f} ms a request")


if __name__ == "__main__":
    main()
