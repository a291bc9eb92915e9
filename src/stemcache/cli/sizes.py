"""Sizes of memory as people write them: 512MB, 1GiB, 1.5G."""

import re

import click

__all__ = ["SIZE", "Size", "in_words"]

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)")
_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    **dict.fromkeys(("k", "kib"), 2**10),
    **dict.fromkeys(("m", "mib"), 2**20),
    **dict.fromkeys(("g", "gib"), 2**30),
    **dict.fromkeys(("t", "tib"), 2**40),
}


class Size(click.ParamType[int]):
    """Bytes, with a unit: powers of 1,000 (MB, GB) or of 1,024 (MiB, GiB; M and G for short)."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Bytes, at least one."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).strip().lower())
        if found is None or found["unit"] not in _UNITS:
            self.fail(f"{value!r} is no size; use a number with a unit: 512MB, 1GiB", param, ctx)
        size = int(float(found["number"]) * _UNITS[found["unit"]])
        if size < 1:
            self.fail(f"{value!r} is no memory at all; use 1 byte or more", param, ctx)
        return size


SIZE = Size()


def in_words(size: float) -> str:
    """Bytes with the largest unit that leaves a number of at least one."""
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size /= 1024
        unit = larger
    digits = 0 if unit == "bytes" or size >= 100 else 1
    return f"{size:,.{digits}f}".removesuffix(".0") + f" {unit}"
