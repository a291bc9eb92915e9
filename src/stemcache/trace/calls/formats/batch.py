"""Batches of OpenAI and of Anthropic: requests, and answers where their file is given as well.

```
{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {…}}     OpenAI, asked
{"id": …, "custom_id": "a", "response": {"status_code": 200, "body": {…}}, "error": null}  answered
{"custom_id": "a", "params": {…}}                                                Anthropic, asked
{"custom_id": "a", "result": {"type": "succeeded", "message": {…}}}                      answered
```
Answers come in any order, so files of answers are read first and joined by `custom_id`; without
contents they take some hundred bytes each. An answer whose request is in no file is a call with
usage alone. Ids that several batches use are joined in the order of the files.

Fidelity: reserialised, since the provider sends on what the line says. There are no times: when a
request of a batch was served is not told.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stemcache.trace.calls.answer import Answer, answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import json_of, mapping_of, name_of, nested
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["BATCH", "is_batch_answer", "unasked"]


def is_batch_answer(value: Any) -> bool:
    """Whether a decoded record is the answer to a request of a batch."""
    return (
        isinstance(value, dict)
        and name_of(value.get("custom_id")) is not None
        and ("response" in value or "result" in value or "error" in value)
        and not any(is_body(json_of(value.get(name))) for name in ("body", "params"))
    )


def _sniff(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "custom_id" in value
        and (is_batch_answer(value) or "body" in value or "params" in value)
    )


def _read(record: Record, shared: Shared) -> Iterable[Call]:
    value = mapping_of(record.value)
    name = name_of(value.get("custom_id"))
    if name is None:
        raise BadLineError("custom_id is no name")
    if is_batch_answer(value):
        waiting = shared.batch_answers.setdefault(name, [])
        waiting.append((record.place(), _answer(value), "result" in value))
        return ()
    field = "body" if "body" in value else "params"
    spelt = value.get(field)
    body = json_of(spelt)
    if not is_body(body):
        raise BadLineError(f"no request body at /{field}")
    answer = _taken(name, shared)
    text = spelt if isinstance(spelt, str) else None
    return (
        made_call(
            place=record.place(f"/{field}"),
            body=body,
            fidelity=Fidelity.RESERIALISED,
            size_bytes=record.size_bytes if text is None else len(text),
            api=Api.MESSAGES if field == "params" else None,
            answer=answer,
            url=value.get("url"),
            tier="batch",
        ),
    )


def _taken(name: str, shared: Shared) -> Answer | None:
    """The first answer to an id that no request took yet. O(1), however many there are."""
    answers = shared.batch_answers.get(name)
    if not answers:
        return None
    at = shared.batch_taken.pop(name, 0)
    if at + 1 < len(answers):
        shared.batch_taken[name] = at + 1
    else:
        del shared.batch_answers[name]
    return answers[at][1]


def _answer(value: Mapping[str, Any]) -> Answer:
    """The answer without its contents."""
    came = nested(value, "result", "message") if "result" in value else value.get("response")
    answer = answer_of(came) or Answer(failed=True)
    if value.get("error"):
        answer = replace(answer, failed=True)
    return replace(answer, content=None, tier="batch")


def unasked(shared: Shared) -> Iterator[Call]:
    """Answers whose requests were in no file, behind the last file."""
    for name, answers in shared.batch_answers.items():
        for place, answer, of_anthropic in answers[shared.batch_taken[name] :]:
            yield made_call(
                place=place,
                body=None,
                fidelity=Fidelity.USAGE_ONLY,
                size_bytes=0,
                answer=answer,
                api=Api.MESSAGES if of_anthropic else None,
                tier="batch",
            )
    shared.batch_answers.clear()
    shared.batch_taken.clear()


BATCH = CallFormat(
    name="batch",
    title="requests of OpenAI's and Anthropic's batches, and their answers",
    fidelity=Fidelity.RESERIALISED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
