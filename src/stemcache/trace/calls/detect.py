"""Which format a log is of, told by what its records look like and never by its name."""

from stemcache.errors import UsageError, unknown_choice
from stemcache.trace.calls.envelope import BODIES
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.format import CallFormat
from stemcache.trace.calls.formats.batch import BATCH
from stemcache.trace.calls.formats.bedrock import BEDROCK
from stemcache.trace.calls.formats.claude_code import CLAUDE_CODE
from stemcache.trace.calls.formats.codex import CODEX
from stemcache.trace.calls.formats.har import HAR
from stemcache.trace.calls.formats.langfuse import LANGFUSE
from stemcache.trace.calls.formats.litellm import LITELLM
from stemcache.trace.calls.formats.otel import OTEL
from stemcache.trace.calls.formats.recorded import RECORDED
from stemcache.trace.calls.formats.sglang import SGLANG
from stemcache.trace.calls.formats.vllm import VLLM
from stemcache.trace.calls.records import Piece
from stemcache.trace.problem import BadLineError

__all__ = ["CALL_FORMATS", "FORMAT_LIST", "format_named", "told_format"]

_BY_SHAPE: tuple[CallFormat, ...] = (
    RECORDED,
    CLAUDE_CODE,
    CODEX,
    BATCH,
    BEDROCK,
    HAR,
    LITELLM,
    LANGFUSE,
    OTEL,
    BODIES,
    SGLANG,
    VLLM,
)
"""The particular before the general: a record is of the first format that knows it."""

CALL_FORMATS = {found.name: found for found in _BY_SHAPE}
FORMAT_LIST = ", ".join(CALL_FORMATS)


def format_named(name: str) -> CallFormat:
    """The format of that name. Raises UsageError for a name that is none."""
    found = CALL_FORMATS.get(name)
    if found is None:
        raise UsageError(unknown_choice("format", name, "--format", CALL_FORMATS))
    return found


def told_format(piece: Piece) -> CallFormat | None:
    """The format of a record, None where it does not tell."""
    _, text, value = piece
    if value is None:
        try:
            value = decoded(text, "")
        except BadLineError:
            return _of_text(text)
    known = (found for found in _BY_SHAPE if not found.text and found.sniff(value))
    return next(known, None) or _of_text(text)


def _of_text(text: bytes) -> CallFormat | None:
    return next((found for found in _BY_SHAPE if found.text and found.sniff(text)), None)
