"""What is said of every single call, a line of JSON each: for reconciliation call by call."""

import json

from stemcache.lint.log import Row
from stemcache.lint.visible import encodable

__all__ = ["row_line"]


def row_line(row: Row) -> str:
    """One object on one line, without prompt text. What is not known is null."""
    place = row.call.place
    told = {
        "file": encodable(place.file),
        "line": place.line,
        "id": None if row.call.id is None else encodable(row.call.id),
        "time": row.call.time_s,
        "model": None if row.call.model is None else encodable(row.call.model),
        "rule": row.rule or None,
        "parent": None if row.parent is None else encodable(str(row.parent)),
        "prompt_tokens": row.prompt_tokens,
        "predicted_tokens": row.predicted_tokens,
        "reported_tokens": row.reported_tokens,
        "remainder": dict(row.parts),
        "lost": [{"kind": loss.cause.kind, "tokens": loss.tokens} for loss in row.losses],
        "input_cost_usd": row.cost_usd,
    }
    return json.dumps(told, allow_nan=False)
