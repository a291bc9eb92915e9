"""Pictures and files by what APIs ask for: their bytes, an address, a name."""

from base64 import b64decode
from collections.abc import Iterable

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Image, Part, ToolResult

__all__ = [
    "address",
    "bytes_of",
    "check_media",
    "data_url",
    "ending",
    "file_name",
    "source",
    "text_of",
]

_ENDINGS = {
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}


def check_media(parts: Iterable[Part], at: str) -> None:
    """Raise UsageError for a picture or a file that no API would read. Linear in its bytes.

    For where they come in: what is sent again and again is not looked at each time.
    """
    for part in parts:
        if isinstance(part, ToolResult):
            check_media(part.parts, at)
        elif isinstance(part, Image | Document):
            said = f"the {type(part).__name__} of {at}"
            _check(part, said)
            if part.base64 is not None:
                bytes_of(part, said)


def source(part: Image | Document, at: str) -> str:
    """Its base64. Raises UsageError where there is an address instead, which `at` cannot have."""
    _check(part, at)
    if part.base64 is None:
        raise UsageError(f"{at} is given by address, which the API does not take; give its bytes")
    return part.base64


def address(part: Image | Document, at: str) -> str | None:
    """Its address, if it has one rather than bytes."""
    _check(part, at)
    return part.url


def data_url(part: Image | Document, at: str) -> str:
    """`data:image/png;base64,…`, which is how OpenAI's APIs take bytes."""
    return f"data:{part.media_type};base64,{source(part, at)}"


def bytes_of(part: Image | Document, at: str) -> bytes:
    """Its bytes. Raises UsageError for what is no base64."""
    try:
        return b64decode(source(part, at), validate=True)
    except ValueError as error:
        raise UsageError(f"{at} is no base64; encode its bytes with base64.b64encode") from error


def text_of(document: Document, at: str) -> str:
    """The text of a file of plain text. Raises UsageError for what is no UTF-8."""
    try:
        return bytes_of(document, at).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{at} is no UTF-8; encode its text with str.encode") from error


def ending(document: Document) -> str | None:
    """`pdf` for `application/pdf`; None for what no API has a word for."""
    return _ENDINGS.get(document.media_type)


def file_name(document: Document) -> str:
    """Its name, or one made of its type alone, for APIs that insist."""
    if document.name:
        return document.name
    found = ending(document)
    return "document" if found is None else f"document.{found}"


def _check(part: Image | Document, at: str) -> None:
    if (part.base64 is None) == (part.url is None):
        raise UsageError(f"{at} has both bytes and an address, or neither; give one of the two")
