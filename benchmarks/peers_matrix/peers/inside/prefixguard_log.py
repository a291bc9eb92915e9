"""Let prefixguard observe a log of sessions, and print its summary."""

import importlib
import json
import sys
from pathlib import Path


def main() -> None:
    """Observe every call in its session."""
    guard = importlib.import_module("prefixguard").PrefixGuard()
    with Path(sys.argv[1]).open(encoding="utf-8") as stream:
        for line in stream:
            call = json.loads(line)
            body = call["body"]
            guard.observe(
                messages=body.get("messages"),
                system=body.get("system"),
                tools=body.get("tools"),
                session=call["session"],
            )
    json.dump(guard.summary(), sys.stdout)


if __name__ == "__main__":
    main()
