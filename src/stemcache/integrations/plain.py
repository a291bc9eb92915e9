"""Values of frameworks as JSON can hold them."""

__all__ = ["plain"]


def plain(value: object) -> object:
    """A model of pydantic's as a mapping, all else as a text: what msgspec calls `enc_hook`."""
    # A class, as `response_format` may be one, has the method too, and no fields to give.
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    return dump() if callable(dump) else str(value)
