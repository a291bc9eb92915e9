"""On which line of a TOML file a key stands, for messages: its reader keeps no places.

```
1  [prefix.support]          ("prefix", "support")
2  version = "7"             ("prefix", "support", "version")
3  portions = [              ("prefix", "support", "portions")
4      { name = "rules" },   ("prefix", "support", "portions", 0)
```
Exact for files as `lock_text` writes them and for what people make of them by hand; where a key is
written in another form, the nearest line that holds it.
"""

import tomllib
from collections.abc import Sequence

__all__ = ["line_of"]

Path = tuple[str | int, ...]


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, from 1, of the longest beginning of the path that is found. Linear."""
    found = _lines(text)
    wanted = tuple(path)
    while wanted and wanted not in found:
        wanted = wanted[:-1]
    return found.get(wanted, 1)


def _lines(text: str) -> dict[Path, int]:
    found: dict[Path, int] = {}
    table: Path = ()
    rows: Path | None = None
    row = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if rows is not None and not bare.startswith("]"):
            if bare.startswith("{"):
                found.setdefault((*rows, row), number)
                row += 1
            continue
        rows = None
        if bare.startswith("["):
            table = _keys(bare.partition("#")[0].strip())
            found.setdefault(table, number)
        elif "=" in bare and not bare.startswith("#"):
            key, _, value = bare.partition("=")
            here = (*table, *_keys(f"{key}=0"))
            for length in range(len(table) + 1, len(here) + 1):
                found.setdefault(here[:length], number)
            if value.strip() == "[":
                rows, row = here, 0
    return found


def _keys(line: str) -> Path:
    """The keys that one line names."""
    try:
        node: object = tomllib.loads(line)
    except ValueError:
        return ()
    keys: list[str | int] = []
    while isinstance(node, dict) and node:
        ((key, node),) = node.items()
        keys.append(key)
    return tuple(keys)
