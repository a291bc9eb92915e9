"""Capacities of a cache: blocks (1000, 50k), tokens (4Mtok), memory (80GiB), or inf."""

import re

import click

from stemcache.cli.sizes import SIZE
from stemcache.lab.question import Capacity

__all__ = ["CAPACITY", "CapacityType"]

_CAPACITY = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e\d{1,2})?)(?P<prefix>[kKMG]?)(?P<tokens>tok|)")
_MEMORY = re.compile(r"\d+(?:\.\d+)?\s*[kKMGT]i?B")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_MOST = 10**15


class CapacityType(click.ParamType[Capacity]):
    """Blocks, tokens behind `tok`, or bytes behind `MB` to `TiB`; `inf` has no bound."""

    name = "capacity"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Capacity:
        """At least one block, token or byte."""
        if isinstance(value, Capacity):
            return value
        text = str(value).strip()
        if text.lower() == "inf":
            return Capacity()
        if _MEMORY.fullmatch(text):
            return Capacity(memory_bytes=SIZE.convert(text, param, ctx))
        found = _CAPACITY.fullmatch(text)
        if found is None:
            self.fail(
                f"{value!r} is no capacity; use blocks (5000, 50k), tokens (4Mtok), memory (80GiB) "
                "or inf",
                param,
                ctx,
            )
        number = round(float(found["number"]) * _PREFIXES[found["prefix"]])
        if number < 1:
            self.fail(f"{value!r} holds nothing; use 1 block or more", param, ctx)
        if number > _MOST:
            self.fail(f"{value!r} is more than any memory; use inf for no bound", param, ctx)
        return Capacity(tokens=number) if found["tokens"] else Capacity(blocks=number)


CAPACITY = CapacityType()
