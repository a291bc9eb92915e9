"""Capacities of a cache: blocks (1000, 50k), tokens (4Mtok), or inf."""

import re

import click

from stemcache.lab.question import Capacity

__all__ = ["CAPACITY", "CapacityType"]

_CAPACITY = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<prefix>[kKMG]?)(?P<tokens>tok|t|)")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}


class CapacityType(click.ParamType[Capacity]):
    """Blocks, or tokens behind `tok`; k, M and G are thousands, millions, milliards."""

    name = "capacity"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Capacity:
        """At least one block or token."""
        if isinstance(value, Capacity):
            return value
        text = str(value).strip()
        if text.lower() == "inf":
            return Capacity()
        found = _CAPACITY.fullmatch(text)
        if found is None:
            self.fail(
                f"{value!r} is no capacity; use blocks (5000, 50k), tokens (4Mtok) or inf",
                param,
                ctx,
            )
        number = round(float(found["number"]) * _PREFIXES[found["prefix"]])
        if number < 1:
            self.fail(f"{value!r} holds nothing; use 1 block or more", param, ctx)
        return Capacity(tokens=number) if found["tokens"] else Capacity(blocks=number)


CAPACITY = CapacityType()
