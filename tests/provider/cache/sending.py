"""Sending prompts one after the other to a simulated cache."""

from typing import Any

from stemcache.provider.cache.simulate import Outcome, PromptCache
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape


class Log:
    """Sends one prompt after the other, a second apart unless told."""

    def __init__(self, rule: Rule, **more: Any) -> None:
        self.cache = PromptCache(rule, **more)
        self.now_s = 0.0

    def send(
        self,
        prompt: Shape,
        *,
        at: float | None = None,
        takes_s: float = 0.5,
        scope: str = "",
        routing: str = "",
    ) -> Outcome:
        """What the request reads and writes; the cache keeps what it leaves."""
        now_s = self.now_s + 1 if at is None else at
        self.now_s = now_s
        outcome = self.cache.look(prompt, now_s=now_s, scope=scope, routing=routing)
        self.cache.keep(
            prompt,
            outcome,
            now_s=now_s,
            readable_s=now_s + takes_s,
            scope=scope,
            routing=routing,
            answered_s=now_s + takes_s,
        )
        return outcome
