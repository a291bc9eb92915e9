"""Let prefixguard observe the requests of a file, one a line, and print what it finds as JSON."""

import importlib
import json
import sys
from pathlib import Path


def main() -> None:
    """Observe all, and print the findings of each turn."""
    guard = importlib.import_module("prefixguard").PrefixGuard()
    turns = []
    for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        body = json.loads(line)
        seen = guard.observe(
            messages=body.get("messages"), system=body.get("system"), tools=body.get("tools")
        )
        findings = [[each.cause, each.block_id, each.detail] for each in seen.findings]
        turns.append({"broken": seen.broken, "findings": findings})
    json.dump(turns, sys.stdout)


if __name__ == "__main__":
    main()
