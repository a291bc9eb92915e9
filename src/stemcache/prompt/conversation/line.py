"""The lines of a conversation's file: made, and read strictly. Pure.

```
{"stemcache":"conversation","version":1}
{"message":{"speaker":"user","parts":[…]},"digest":"9f2c…"}      64 digits: of all lines up to here
{"message":{"speaker":"assistant","parts":[…]},"digest":"03ab…"}
```
The digest is the conversation's behind that message, so a line that was changed, lost, moved or
taken from another file is found, and the last line alone tells which conversation a file holds.
Images stand in their lines: a file is whole by itself, a conversation has each image in one
message, and base64 needs no escape.
"""

import json
from typing import Any

import msgspec

from stemcache.errors import UsageError
from stemcache.prompt.conversation.chain import Chain, grown
from stemcache.prompt.conversation.part_json import message_bytes, message_of

__all__ = ["HEAD", "check_head", "digest_of", "line_of", "read_line"]

VERSION = 1
HEAD = b'{"stemcache":"conversation","version":%d}\n' % VERSION


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    message: Any
    digest: str


def line_of(chain: Chain) -> bytes:
    """The line of a chain's last message. Linear in the message."""
    assert chain.message is not None, "the empty conversation has no line"
    digest = chain.digest.hex().encode("ascii")
    return b'{"message":' + message_bytes(chain.message) + b',"digest":"' + digest + b'"}\n'


def check_head(line: bytes, path: str) -> None:
    """Raise UsageError where a file is no conversation's, or of a version that is not known."""
    if line == HEAD:
        return
    try:
        head = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("stemcache") != "conversation":
        raise UsageError(
            f"{path} line 1 does not begin a conversation; name a file that stemcache.prompt saved"
        )
    version = head.get("version")
    if isinstance(version, int) and version > VERSION:
        raise UsageError(
            f"{path} is a conversation of form {version}, and this stemcache reads {VERSION}; "
            "update stemcache"
        )
    raise UsageError(f"{path} line 1 is no head of form {VERSION}; restore the file")


def read_line(chain: Chain, line: bytes, path: str, number: int) -> Chain:
    """The chain with the message of the next line. Linear. Raises UsageError with the place."""
    where = f"{path} line {number}"
    try:
        made = msgspec.convert(_decoded(line), _Line)
        message = message_of(made.message)
    except msgspec.ValidationError as error:
        raise _damaged(where, f"is no message ({str(error)[:120]})") from None
    except (ValueError, RecursionError) as error:
        raise _damaged(where, f"is no JSON ({str(error)[:120]})") from None
    found = grown(chain, message)
    if found.digest.hex() != made.digest:
        raise _damaged(where, "is not the message that was written behind the lines before it")
    if not message.parts:
        raise _damaged(where, "is a message without parts")
    return found


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        # Half a surrogate pair, which only Python's reader bears; any other fault it finds too.
        return json.loads(line)


def _damaged(where: str, what: str) -> UsageError:
    return UsageError(f"{where} {what}; restore the file, or delete this line and all behind it")


def digest_of(line: bytes) -> str | None:
    """The digest that a line ends with; None where it does not."""
    head, name, tail = line.rpartition(b',"digest":"')
    if not head or not name or len(tail) != 64 + 3 or not tail.endswith(b'"}\n'):
        return None
    return tail[:64].decode("ascii", "replace")
