"""What stands before the models of a framework's agents: the part that all frameworks share.

```
class PrefixCache(PromptWatch, TheFrameworksClass):
    the framework calls us ─► _prepare(texts of the system prompt, clients that send it)
    it sends the request   ─► within _marking()
```
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from stemcache.integrations.client_group import ClientGroup
from stemcache.integrations.client_marks import marks_placed
from stemcache.integrations.live import Live
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import logged
from stemcache.integrations.volatile_prompt import checked_policy, look_at
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.record import Keep

__all__ = ["PromptWatch"]


class PromptWatch:
    """Base of a class that a framework calls, named before the framework's own.

    One log of all models that it stands before. One may serve several agents.
    """

    def __init__(
        self,
        *,
        marks: bool = True,
        volatile: str = "warn",
        allow: Iterable[str] = (),
        output: Path | str | None = None,
        keep: Keep | None = None,
        options: Options | None = None,
        tell: Callable[[Finding], None] = logged,
    ) -> None:
        """`volatile`: `refuse`, `warn` or `allow` a system prompt that will change.

        `allow` names families of volatile text that are meant to be there (`clock`, `injected-id`,
        `environment`). The rest as `watch` of the clients. Raises UsageError for what cannot be.
        """
        super().__init__()
        self._marks = marks
        self._volatile = checked_policy(volatile)
        self._allow = frozenset(allow)
        self._seen: set[str] = set()
        self._group = ClientGroup(output=output, keep=keep, options=options, tell=tell)

    @property
    def live(self) -> Live:
        """What records and judges."""
        return self._group.watched.live

    def summary(self, *, wait_s: float = 2.0) -> Summary:
        """What the calls that have ended came to."""
        return self._group.summary(wait_s=wait_s)

    def close(self) -> None:
        """Take everything out of the clients again, judge and write what waits."""
        self._group.close()

    def _prepare(self, texts: Iterable[str], clients: Iterable[object]) -> None:
        """Before a model is called. Raises VolatileError where that is asked for."""
        look_at(list(texts), self._volatile, allow=self._allow, seen=self._seen)
        for client in clients:
            self._group.watch(client)

    def _marking(self) -> AbstractContextManager[None]:
        """While a model is called."""
        return marks_placed() if self._marks else nullcontext()
