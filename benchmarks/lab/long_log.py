"""Write a log of chat requests to stdout: agents that send their whole history on every turn.

    python -m benchmarks.lab.long_log BYTES > log.jsonl

Agents share a system prompt of 8,000 characters, take 1 to 60 turns of about 1,500 characters, and
64 of them are at work at any time. Words come from a fixed seed.
"""

import json
import sys
from random import Random

SEED = 20261130
AT_WORK = 64
WORDS = [f"w{number:x}" for number in range(4096)]


def text(random: Random, characters: int) -> str:
    """Words to about that length."""
    return " ".join(random.choices(WORDS, k=max(1, characters // 5)))


def main() -> None:
    """Write until there are enough bytes."""
    random = Random(SEED)
    wanted, written, at_s = int(sys.argv[1]), 0, 0.0
    system = json.dumps({"role": "system", "content": text(random, 8000)})
    agents: list[tuple[str, int]] = []
    while written < wanted:
        at_s += random.expovariate(2.0)
        if len(agents) < AT_WORK:
            agents.append((system, random.randint(1, 60)))
        number = random.randrange(len(agents))
        history, turns = agents[number]
        ask = json.dumps({"role": "user", "content": text(random, random.randint(90, 1500))})
        body = f'{{"model": "m", "messages": [{history}, {ask}]}}'
        line = f'{{"timestamp": {at_s:.3f}, "body": {body}}}\n'
        sys.stdout.write(line)
        written += len(line)
        answer = json.dumps(
            {"role": "assistant", "content": text(random, random.randint(50, 1500))}
        )
        if turns > 1:
            agents[number] = (f"{history}, {ask}, {answer}", turns - 1)
        else:
            agents[number] = agents[-1]
            agents.pop()


if __name__ == "__main__":
    main()
