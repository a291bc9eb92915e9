"""A callback for LiteLLM: what it sends is recorded and judged, and marks are placed where wanted.

```python
import litellm
from stemcache.integrations.litellm_callback import StemcacheCallback

ours = StemcacheCallback(marks=True)
litellm.callbacks.append(ours)
await litellm.acompletion(model="anthropic/claude-opus-5", messages=[...])
print(ours.summary())
```
In the proxy: `litellm_settings: callbacks: my_callbacks.ours`. Recorded is the body that LiteLLM
made for the provider, written as JSON anew, and usage as LiteLLM reports it. Written for 1.110.

Marks go in where a deployment has been chosen, which LiteLLM does for asynchronous calls, its
router and its proxy; for the others: `litellm.completion(**ours.placed(model=..., ...))`.
Requests with marks, with `cache_control_injection_points`, with a `cache_control` of their own or
with a mode in `prompt_cache_options` are left alone.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from stemcache.integrations.live import Live
from stemcache.integrations.live_exchange import hand_over
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import logged
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.prompt.remark.marked import marked
from stemcache.record.record import Keep
from stemcache.trace.calls.fields import mapping_of, nested, text_of
from stemcache.wire.api import Api

__all__ = ["StemcacheCallback"]

_CHATS = frozenset({"acompletion", "completion"})
_OWN_POINTS = "cache_control_injection_points"
_TAKEN = ("model", "messages", "tools", "cache_control", "prompt_cache_options")
"""Of a call: what marks stand in, and what says that its maker sees to them."""
_REMEMBERED = 4_096


class StemcacheCallback(CustomLogger):  # type: ignore[misc]  # litellm is not there for mypy
    """One log of all that this LiteLLM sends. Nothing that it does can break a call."""

    def __init__(
        self,
        *,
        marks: bool = False,
        output: Path | str | None = None,
        keep: Keep | None = None,
        options: Options | None = None,
        tell: Callable[[Finding], None] = logged,
    ) -> None:
        """As `watch` of the clients. Raises UsageError where `output` cannot be written."""
        super().__init__()
        self.live = Live(output=output, keep=keep, options=options, tell=tell)
        self._marks = marks
        self._lock = Lock()
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def summary(self, *, wait_s: float = 2.0) -> Summary:
        """What the calls that have ended came to."""
        return self.live.summary(wait_s=wait_s)

    def close(self) -> None:
        """Judge and write what waits, and take no more."""
        self.live.close()

    def placed(self, **call: Any) -> dict[str, Any]:
        """The keywords of a chat call with marks, where there were none."""
        if call.get(_OWN_POINTS):
            return call
        body = {name: call[name] for name in _TAKEN if call.get(name)}
        found = marked(body, Api.CHAT, provider=_provider(call), model=_model(call))
        return {**call, **found.body} if found.placement is not None else call

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """LiteLLM's: the request, just before it is sent to the deployment."""
        if self._marks and str(getattr(call_type, "value", call_type)) in _CHATS:
            with suppress(Exception):
                return self.placed(**kwargs)
        return None

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """LiteLLM's: a call went well."""
        self._ended(kwargs, response_obj, start_time, end_time)

    def log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """LiteLLM's: a call did not."""
        self._ended(kwargs, response_obj, start_time, end_time)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """LiteLLM's: an asynchronous call went well."""
        self._ended(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """LiteLLM's: an asynchronous call did not."""
        self._ended(kwargs, response_obj, start_time, end_time)

    def _ended(self, kwargs: dict[str, Any], answer: Any, began: Any, ended: Any) -> None:
        with suppress(Exception):
            if kwargs.get("cache_hit") or self._is_repeat(kwargs):
                return
            more = mapping_of(kwargs.get("additional_args"))
            request = more.get("complete_input_dict")
            if not request:
                return
            error = kwargs.get("exception")
            hand_over(
                self.live.recorder,
                url=_url(kwargs, more),
                request=_as_sent(request, kwargs),
                answer=_error(error) if error is not None else _answer(answer),
                status=getattr(error, "status_code", None) if error is not None else 200,
                began_s=_seconds(began) or 0.0,
                answered_s=_seconds(kwargs.get("completion_start_time")),
                ended_s=_seconds(ended),
                credential=text_of(nested(kwargs, "litellm_params", "api_key")) or "",
            )

    def _is_repeat(self, kwargs: Mapping[str, Any]) -> bool:
        """Of some calls LiteLLM tells its sync and its async callbacks."""
        text = f"{kwargs.get('litellm_call_id')} {'exception' in kwargs and kwargs['exception']!r}"
        # An error may quote the prompt, which is not to be kept.
        name = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if name in self._seen:
                return True
            self._seen[name] = None
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        return False


def _url(kwargs: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    """Where it was sent, or a host that is called like the provider."""
    told = text_of(more.get("api_base")) or text_of(nested(kwargs, "litellm_params", "api_base"))
    if told is not None and "://" in told:
        return told
    return f"https://{kwargs.get('custom_llm_provider') or _provider(kwargs) or 'unknown'}/"


def _as_sent(request: Any, kwargs: Mapping[str, Any]) -> Any:
    """The body; where the client library is given the model apart, with it."""
    if isinstance(request, Mapping) and "model" not in request:
        return {**request, "model": kwargs.get("model")}
    return request


def _answer(answer: Any) -> dict[str, Any]:
    """Its id and usage; texts of answers are not looked at."""
    usage = getattr(answer, "usage", None)
    dump = getattr(usage, "model_dump", None)
    return {
        "id": getattr(answer, "id", None),
        "model": getattr(answer, "model", None),
        "usage": dump(exclude_none=True) if callable(dump) else usage,
    }


def _error(error: Any) -> dict[str, Any]:
    return {"error": {"type": type(error).__name__}}


def _seconds(moment: Any) -> float | None:
    if isinstance(moment, datetime):
        return moment.timestamp()
    return float(moment) if isinstance(moment, int | float) else None


def _provider(call: Mapping[str, Any]) -> str | None:
    """What stands before the slash of the model's name is no part of it, where it is a provider."""
    named = text_of(call.get("custom_llm_provider"))
    return named if named in _PROVIDERS else None


def _model(call: Mapping[str, Any]) -> str | None:
    return text_of(call.get("model"))


_PROVIDERS = frozenset({"anthropic", "azure", "bedrock", "deepseek", "gemini", "openai", "vertex"})
