"""A cause's help with its fields filled in."""

from stemcache.lint.cause import Cause

__all__ = ["helped"]


class _Fields(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"the {key}"


def helped(cause: Cause) -> str:
    """What to change, in a sentence or two."""
    fields = {"pointer": cause.pointer, "kind": cause.kind, **dict(cause.fields)}
    return cause.rule.help.format_map(_Fields(fields))
