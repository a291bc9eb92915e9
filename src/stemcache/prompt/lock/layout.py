"""A layout's static and reference pieces as the portions that a lock pins."""

from stemcache.prompt.canonical import canonical_json
from stemcache.prompt.layout import Layout
from stemcache.prompt.lock.portions import Portion, safe_name
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.piece import Piece
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.trace.spans.prompt import ORDER
from stemcache.trace.spans.span import SpanKind

__all__ = ["portions_of_layout"]

_STABLE = frozenset({Stability.STATIC, Stability.REFERENCE})


def portions_of_layout(layout: Layout) -> tuple[Portion, ...]:
    """The static and reference pieces of a layout. Raises what laying it out raises."""
    parts: dict[str, int] = {}
    found: list[Portion] = []
    for piece in layout.lay(ORDER).pieces:
        if piece.stability not in _STABLE:
            continue
        name = _piece_name(piece)
        number = parts[name] = parts.get(name, -1) + 1
        kind, text = _piece_text(piece)
        found.append(
            Portion(
                name=f"{name}/{number}" if number else name,
                section=piece.section,
                kind=kind,
                text=text,
                tokens=piece.tokens,
                version=piece.source.version if isinstance(piece.source, Segment) else None,
            )
        )
    return tuple(found)


def _piece_name(piece: Piece) -> str:
    source = piece.source
    if isinstance(source, Tool):
        return f"tool:{safe_name(source.name)}"
    if isinstance(source, Segment):
        return source.name
    return f"message/{piece.message}"


def _piece_text(piece: Piece) -> tuple[SpanKind, str]:
    source, part = piece.source, piece.part
    if isinstance(source, Tool):
        tool = {
            "description": source.description,
            "input_schema": source.schema,
            "name": source.name,
        }
        return SpanKind.TOOL, canonical_json(tool)
    if isinstance(part, Text):
        return SpanKind.TEXT, part.text
    if isinstance(part, Image):
        image = {"base64": part.base64, "media_type": part.media_type, "url": part.url}
        return SpanKind.IMAGE, canonical_json(image)
    assert isinstance(part, Document), "segments are made of texts, images and documents"
    document = {
        "base64": part.base64,
        "media_type": part.media_type,
        "name": part.name,
        "url": part.url,
    }
    return SpanKind.DOCUMENT, canonical_json(document)
