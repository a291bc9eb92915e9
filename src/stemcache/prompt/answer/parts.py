"""What a model answered, as parts of a conversation, whichever API and client it came by. Pure.

```
Messages      content                     a dictionary, a client's object, or the events of a stream
Chat          choices[0].message          (dictionaries or objects), in the order they came
Responses     output
Gemini        candidates[0].content
Converse      output.message.content
```
Ids, arguments, thoughts and their seals are taken as they are. Where an API has an object for
arguments, its members keep their order; numbers in it are those of the client's JSON reader.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from stemcache.errors import UsageError
from stemcache.prompt.answer import chat as from_chat
from stemcache.prompt.answer import converse as from_converse
from stemcache.prompt.answer import generate as from_generate
from stemcache.prompt.answer import messages as from_messages
from stemcache.prompt.answer import responses as from_responses
from stemcache.prompt.answer.stream import answer_of
from stemcache.prompt.conversation.native import Turn, opened
from stemcache.prompt.part import Part
from stemcache.wire.api import Api

__all__ = ["parts_of", "turns_of"]

Reader = TypeVar("Reader")

_ANSWERS: Mapping[Api, Callable[[Mapping[str, Any], str], tuple[Part, ...]]] = {
    Api.MESSAGES: from_messages.answer_parts,
    Api.CHAT: from_chat.answer_parts,
    Api.RESPONSES: from_responses.answer_parts,
    Api.GENERATE: from_generate.answer_parts,
    Api.CONVERSE: from_converse.answer_parts,
}
_TURNS: Mapping[Api, Callable[[list[Any]], list[Turn]]] = {
    Api.MESSAGES: from_messages.turns,
    Api.CHAT: from_chat.turns,
    Api.RESPONSES: from_responses.turns,
    Api.GENERATE: from_generate.turns,
    Api.CONVERSE: from_converse.turns,
}


def parts_of(answer: object, api: Api) -> tuple[Part, ...]:
    """The parts of one answer; empty where the model said nothing. Linear; keeps no reference.

    A list is taken for the events of a stream, which must have come to its end. Raises UsageError
    for what is no answer of this API, naming the place, never what it says.
    """
    read = _of_api(_ANSWERS, api)
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | bytearray):
        return read(answer_of(answer, api), "the streamed answer")
    return read(opened(answer, "the answer"), "answer")


def turns_of(messages: object, api: Api) -> list[Turn]:
    """The messages of a request's body (`messages`, `input`, `contents`), read. Linear.

    Leading messages of the roles system and developer are the layout's business: they are passed
    over. Raises UsageError naming the place.
    """
    read = _of_api(_TURNS, api)
    if isinstance(messages, str):
        return read([{"role": "user", "parts": [{"text": messages}], "content": messages}])
    if not isinstance(messages, Sequence):
        raise UsageError(
            f"the messages are a {type(messages).__name__}; give the list that is sent to the API"
        )
    return read(list(messages))


def _of_api(readers: Mapping[Api, Reader], api: object) -> Reader:
    if not isinstance(api, str) or api not in readers:
        known = ", ".join(sorted(readers))
        raise UsageError(
            f"a conversation of the API {str(api)!r} cannot be kept; use one of {known}"
        )
    return readers[Api(api)]
