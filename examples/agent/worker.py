"""A process that serves turns, as one of several behind a load balancer does.

Turns come as lines of JSON and go back so. Processes differ in `PYTHONHASHSEED`, as they do in
production, where Python draws one for each; conversations are kept in files between turns.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from examples.agent.endpoint import Endpoint
from examples.agent.loop import Asked, Sent, Target, serve_turn
from examples.agent.script import CUSTOMERS, moment, schedule
from examples.agent.shop import FULL, SMALL
from examples.agent.steps import STEPS

__all__ = ["Job", "Workers", "workers"]

_ROOT = Path(__file__).parents[2]
_MOST_REQUESTS = 8
"""Of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All turns of one agent for one target."""

    step: str
    target: Target
    small: bool = False
    url: str | None = None
    """Where the model is; without one, `answers` are what it says."""
    answers: Sequence[str] = ()
    """In order of the requests; begun again where there are too few."""


class Workers:
    """Several processes. Made by `workers`."""

    def __init__(self, processes: "Sequence[subprocess.Popen[str]]") -> None:
        self._processes = processes

    def serve(self, job: Job) -> list[Sent]:
        """Serve the whole script, one turn after another, each in the next process."""
        with tempfile.TemporaryDirectory() as store:
            return self._serve(job, store)

    def _serve(self, job: Job, store: str) -> list[Sent]:
        sent: list[Sent] = []
        shop = SMALL if job.small else FULL
        for number, (customer, turn) in enumerate(schedule(shop.turns)):
            process = self._processes[number % len(self._processes)]
            assert process.stdin is not None and process.stdout is not None, "they are pipes"
            told = {**asdict(job), "store": store, "customer": customer, "turn": turn}
            told["answers"] = list(
                islice(cycle(job.answers), len(sent), len(sent) + _MOST_REQUESTS)
            )
            print(json.dumps(told), file=process.stdin, flush=True)
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"a worker ended with {process.wait()}; its error is above")
            for request, (body, asked) in enumerate(json.loads(line)):
                at = moment(customer, turn, request)
                sent.append(Sent(customer, turn, at, body, Asked(**asked)))
        return sent


@contextmanager
def workers(seeds: Sequence[int] = (1, 2, 3, 4, 5)) -> Iterator[Workers]:
    """Start a process for each hash seed, and end them."""
    command = [sys.executable, "-m", "examples.agent.worker"]
    processes = [
        subprocess.Popen(  # noqa: S603  # this module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        for seed in seeds
    ]
    try:
        yield Workers(processes)
    finally:
        for process in processes:
            assert process.stdin is not None and process.stdout is not None, "they are pipes"
            process.stdin.close()
            process.wait(60)
            process.stdout.close()


def _served(told: Mapping[str, Any], endpoints: dict[str, Endpoint]) -> list[Any]:
    """Serve one turn: where its conversation is kept, for whom it is written, who answers."""
    customer, turn, url = told["customer"], told["turn"], told["url"]
    shop = SMALL if told["small"] else FULL
    agent = STEPS[told["step"]](shop, CUSTOMERS[customer])
    kept = Path(told["store"], customer)
    if kept.exists():
        agent.resume(kept)
    if url is None:
        ask = _replayed(told["answers"])
    else:
        if url not in endpoints:
            endpoints[url] = Endpoint(url)
        ask = endpoints[url].ask
    sent = serve_turn(agent, shop, customer, turn, target=Target(**told["target"]), ask=ask)
    agent.save(kept)
    return [(one.body, asdict(one.asked)) for one in sent]


def _replayed(answers: Iterable[str]) -> Callable[[Mapping[str, Any]], Asked]:
    said = iter(answers)
    return lambda _body: Asked(next(said))


def main() -> None:
    """Serve turns until there are no more."""
    endpoints: dict[str, Endpoint] = {}
    for line in sys.stdin:
        print(json.dumps(_served(json.loads(line), endpoints)), flush=True)  # noqa: T201  # the answer
    for endpoint in endpoints.values():
        endpoint.close()


if __name__ == "__main__":
    main()
