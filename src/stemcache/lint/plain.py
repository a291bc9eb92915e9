"""Values as every JSON reader takes them: no half of a surrogate pair, nothing not finite."""

import math

from stemcache.lint.visible import encodable

__all__ = ["plain"]


def plain(value: object) -> object:
    """A copy in str, int, float, bool, None, list and dict. For what nests a few levels deep."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {encodable(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
