"""vLLM's log with `--enable-log-requests`: the prompt of each request, as it was rendered.

```
INFO 03-01 08:00:00 [logger.py:42] Received request chatcmpl-1: prompt: '…', params: …,
    prompt_token_ids: [1, 2], …                                             up to about 0.10
DEBUG … Request chatcmpl-1 details: prompt: '…', prompt_token_ids: [1, 2], …        since then
```
Since about 0.11 the prompt is logged at level DEBUG alone (`VLLM_LOGGING_LEVEL=DEBUG`); a line
that says `Received request` and has no prompt is passed over.

Fidelity: reconstructed. The prompt is a text with the chat template applied; messages, tools and
usage are not logged. With `--max-log-len` it is cut: a prompt and its token ids that are equally
long are taken for cut, since both are cut at that number. Lines name no year and mostly no model.
"""

import re
from collections.abc import Iterable
from typing import Any

from stemcache.trace.calls.body import made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import known_time_s
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.formats.python_text import python_value, value_end
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["VLLM"]

_LINE = re.compile(
    rb"(?:Received request (?P<old>[^\s:]{1,200}): |Request (?P<new>\S{1,200}) details: )prompt: "
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?")
_IDS = ", prompt_token_ids: "
_HEAD_BYTES = 500


def _sniff(line: Any) -> bool:
    return isinstance(line, bytes) and _LINE.search(line[:_HEAD_BYTES]) is not None


def _read(record: Record, _shared: Shared) -> Iterable[Call]:
    found = _LINE.search(record.text[:_HEAD_BYTES])
    if found is None:
        return ()
    try:
        text = record.text.decode()
        start = len(record.text[: found.end()].decode())
    except UnicodeDecodeError:
        raise BadLineError("the text is not UTF-8") from None
    end = value_end(text, start)
    prompt = python_value(text[start:end])
    ids = _token_ids(text, end)
    if isinstance(prompt, str) and prompt:
        asked: str | list[int] = prompt
    elif ids:
        asked = ids
    else:
        return ()
    cut = isinstance(prompt, str) and ids is not None and len(ids) == len(prompt) > 1
    date = _DATE.search(text[: found.start()])
    name = (found["old"] or found["new"]).decode("utf-8", "replace")
    return (
        made_call(
            place=record.place(),
            body={"prompt": asked},
            fidelity=Fidelity.TRUNCATED if cut else Fidelity.RECONSTRUCTED,
            size_bytes=record.size_bytes,
            api=Api.COMPLETIONS,
            host="vllm",
            id=name,
            time_s=None if date is None else known_time_s(date.group().replace(",", ".")),
        ),
    )


def _token_ids(text: str, end: int) -> list[int] | None:
    """The ids behind the prompt. Between them only parameters, which are printed by Python too."""
    at = text.find(_IDS, end)
    if at < 0:
        return None
    at += len(_IDS)
    ids = python_value(text[at : value_end(text, at)])
    return ids if isinstance(ids, list) else None


VLLM = CallFormat(
    name="vllm",
    title="vLLM's log of requests",
    fidelity=Fidelity.RECONSTRUCTED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
    text=True,
)
