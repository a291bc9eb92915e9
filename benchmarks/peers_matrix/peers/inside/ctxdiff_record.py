"""Record the requests of a file, one a line, with ctxdiff, as if a client had sent them."""

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
    """Record what is in the first argument, of the API in the second, into the third."""
    log, api, store = sys.argv[1:4]
    tracer = importlib.import_module("ctxdiff.trace").init("matrix", path=store)
    client = tracer.wrap(_client(api))
    with Path(log).open(encoding="utf-8") as stream:
        for line in stream:
            body = json.loads(line)
            if api == "anthropic":
                client.messages.create(**body)
            else:
                client.chat.completions.create(**body)
    tracer.close()


if __name__ == "__main__":
    main()
