"""Record a log of sessions with ctxdiff, each session an agent, as if clients had sent them."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def _client(api: str) -> Any:
    """A client that answers nothing. ctxdiff tells the provider by the module of its class."""

    def create(**_kwargs: Any) -> Any:
        return SimpleNamespace(usage=None)

    kind = type("Client", (), {})
    kind.__module__ = api
    client = kind()
    completions = SimpleNamespace(create=create)
    client.messages = completions
    client.chat = SimpleNamespace(completions=completions)
    return client


def main() -> None:
    """Record what is in the first argument into the second."""
    log, store = sys.argv[1:3]
    tracer = importlib.import_module("ctxdiff.trace").init("log", path=store)
    clients: dict[str, Any] = {}
    with Path(log).open(encoding="utf-8") as stream:
        for line in stream:
            call = json.loads(line)
            session, body = call["session"], call["body"]
            claude = "max_tokens" in body
            if session not in clients:
                made = _client("anthropic" if claude else "openai")
                clients[session] = tracer.wrap(made, agent=session)
            client = clients[session]
            (client.messages if claude else client.chat.completions).create(**body)
    tracer.close()


if __name__ == "__main__":
    main()
