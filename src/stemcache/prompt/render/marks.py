"""A placement as the blocks that get a mark, each taken once.

```
pieces      rules │ q │ "" │ call          boundaries behind them  1  2  3  4
sent        rules │ q │    │ call
marks 1, 3    ▲     ▲                      a mark behind what is not sent stands behind what is
                                           before it: the prefix is the same
```
"""

from bisect import bisect_left
from collections.abc import Iterable

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.turns import where
from stemcache.wire.api import Api

__all__ = ["Marks"]


class Marks:
    """Marks by the number of the piece that is sent; mutable, made and used up in one rendering."""

    def __init__(self, laid: Laid, placement: Placement, sent: Iterable[int]) -> None:
        """Raise UsageError for boundaries that do not rise, or have nothing before them."""
        self._laid = laid
        self._left: dict[int, Placed] = {}
        places = sorted(sent)
        before = 0
        for mark in placement.marks:
            if not before < mark.boundary <= len(laid.pieces):
                raise UsageError(
                    f"a mark at boundary {mark.boundary} stands behind one at {before}, among "
                    f"{len(laid.pieces)} pieces; boundaries rise from 1 to the number of pieces"
                )
            before = mark.boundary
            at = bisect_left(places, mark.boundary)
            if at == 0:
                raise UsageError(
                    f"a mark at boundary {mark.boundary} has nothing before it that is sent; "
                    "leave it out"
                )
            # Where two marks meet the earlier one stays: it may have the longer lifetime, and
            # longer lifetimes stand first.
            self._left.setdefault(places[at - 1], mark)

    def take(self, place: int) -> Placed | None:
        """The mark behind a piece, if one is there."""
        return self._left.pop(place, None)

    def done(self, api: Api) -> None:
        """Raise UsageError for a mark that no block could carry."""
        for place in self._left:
            raise UsageError(
                f"a mark stands behind {where(self._laid.pieces[place])}, where {api} lets none "
                f"stand; lay the prompt with api={api.value!r} before marks are placed"
            )
