"""Holds random conversations, saves, resumes, forks and renders them, and prints digests of it all.

    python -m tests.prompt.round_trip COUNT [--first N] [--order SEED] [--each]

Prints the SHA-256 of what all of them came to; with `--each` a line for each conversation. Two
processes with other hash seeds, locales or orders of dictionaries must print the same.
"""

import argparse
import json
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from stemcache.prompt.answer.parts import turns_of
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.conversation.file import load, save
from stemcache.wire.api import Api
from tests.prompt.conversations import APIS, LISTS, Order, body, step


def sent(conversation: Conversation, api: Api, order: Order) -> bytes:
    """The bytes of a request as an official client makes them of a body: no keys sorted."""
    made = body(conversation, api, order)
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"), default=_blob)
    return text.encode()


def _blob(value: Any) -> str:
    assert isinstance(value, bytes), f"a body holds a {type(value).__name__}"
    return b64encode(value).decode()


def hold(number: int, directory: Path, order: Order) -> Iterator[bytes]:
    """One conversation's life, as byte strings: requests, and files. Asserts that they agree."""
    rng = Random(f"conversation {number}")
    api = rng.choice(APIS)
    path = directory / f"{number}.jsonl"
    conversation = Conversation()
    forks: list[Conversation] = []
    for _ in range(rng.randrange(2, 12)):
        step(rng, conversation, api, order)
        if rng.random() < 0.3:
            save(conversation, path)
            resumed = load(path)
            assert resumed == conversation, f"{number}: resumed otherwise than saved"
            assert resumed.messages == conversation.messages, f"{number}: equal digests only"
            if rng.random() < 0.5:
                conversation = resumed
        if rng.random() < 0.2:
            forks.append(conversation.fork(rng.randrange(len(conversation) + 1)))
        if conversation.messages[-1].speaker == "user":
            yield from _request(conversation, path, api, order, number)
    save(conversation, path)
    yield path.read_bytes()
    for i, fork in enumerate(forks):
        shared = fork.fork()
        for _ in range(rng.randrange(4)):
            step(rng, fork, api, order)
        assert fork.begins_with(shared), f"{number}: a fork has lost its beginning"
        if len(fork) and fork.messages[-1].speaker == "user":
            yield from _request(fork, directory / f"{number}.{i}.jsonl", api, order, number)


def _request(
    conversation: Conversation, path: Path, api: Api, order: Order, number: int
) -> Iterator[bytes]:
    request = sent(conversation, api, order)
    save(conversation, path)
    for other in (load(path), conversation.fork(), Conversation(conversation.messages)):
        assert sent(other, api, order) == request, f"{number}: rendered otherwise"
    made = body(conversation, api, order)
    before = conversation.digest
    found = conversation.extend_from(api, made[LISTS[api]])
    assert found.replay, f"{number}: its own request brings something new"
    assert found.covered == len(conversation), f"{number}: its own request is shorter"
    assert conversation.digest == before, f"{number}: changed by its own request"
    again = Conversation()
    again.extend_from(api, made[LISTS[api]])
    assert turns_of(made[LISTS[api]], api), f"{number}: nothing was read"
    assert sent(again, api, order) == request, f"{number}: taken from the request, it is another"
    yield request


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--order", type=int, default=0)
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    everything = sha256()
    for number in range(options.first, options.first + options.count):
        one = sha256()
        with tempfile.TemporaryDirectory() as directory:
            for data in hold(number, Path(directory), Order(options.order)):
                one.update(len(data).to_bytes(8, "big") + data)
        if options.each:
            sys.stdout.write(f"{number} {one.hexdigest()}\n")
        everything.update(one.digest())
    sys.stdout.write(f"{everything.hexdigest()}\n")


if __name__ == "__main__":
    main()
