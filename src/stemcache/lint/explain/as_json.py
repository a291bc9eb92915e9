"""The explanation for programs: one JSON object, whose names docs/explain.md lists.

What is not known is null. Everything but ASCII is escaped, so that no name can move a terminal's
cursor; texts of prompts are there only when asked for.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from stemcache.lint.explain.explanation import Difference, Explanation, Party, View
from stemcache.lint.plain import plain
from stemcache.lint.pointers import without_keys

__all__ = ["VERSION", "as_json", "render"]

VERSION = 1


def render(explanation: Explanation, *, show_text: bool = False) -> Iterator[str]:
    """The object, in lines."""
    told = as_json(explanation, show_text=show_text)
    yield from json.dumps(told, indent=2, allow_nan=False).splitlines()


def as_json(explanation: Explanation, *, show_text: bool = False) -> dict[str, Any]:
    """The same as a value of plain types."""
    reading, diagnosis = explanation.reading, explanation.diagnosis
    told = plain(
        {
            "version": VERSION,
            "costs": explanation.costs,
            "lost_tokens": explanation.lost_tokens,
            "prompt_tokens": explanation.new.tokens,
            "a": _party(explanation.old),
            "b": _party(explanation.new),
            "differences": [
                _difference(one, show_text=show_text) for one in explanation.differences
            ],
            "uncosted": [_difference(one, show_text=show_text) for one in explanation.uncosted],
            "more_differences": explanation.more_differences,
            "unkeyed_parameters": list(explanation.unkeyed),
            "refusals": [asdict(one) for one in explanation.refusals],
            "cache": {
                **asdict(explanation.cache),
                "rule": explanation.cache.rule or None,
                "keys": [
                    {**asdict(key), "section": key.section.value} for key in explanation.cache.keys
                ],
                "routing": [
                    {"name": name, "same": same} for name, same in explanation.cache.routing
                ],
            },
            "reading": asdict(reading),
            "diagnosis": None
            if diagnosis is None
            else {
                **asdict(diagnosis.said),
                "verdict": diagnosis.verdict,
                "pointer": diagnosis.pointer,
                "message": diagnosis.sentence,
            },
            "spelling_only": [asdict(one) for one in explanation.spellings]
            if explanation.spelling_known
            else None,
            "remarks": list(explanation.remarks),
        }
    )
    assert isinstance(told, dict)
    return told


def _party(party: Party) -> dict[str, Any]:
    return {**asdict(party), "fidelity": party.fidelity.value}


def _difference(one: Difference, *, show_text: bool) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": one.name,
        "kind": one.kind,
        "message": one.message,
        "lost_tokens": one.lost_tokens,
        "by_section": {section.value: tokens for section, tokens in one.by_section.items()},
        "joint": one.joint,
        "needed": one.needed,
        "a": None if one.old is None else _view(one.old, show_text=show_text),
        "b": _view(one.new, show_text=show_text),
        "help": one.help,
    }


def _view(view: View, *, show_text: bool) -> dict[str, Any]:
    told = {
        "file": view.file,
        "line": view.line,
        "column": view.column,
        "pointer": view.pointer if show_text else without_keys(view.pointer),
        "char": view.char,
        "shape": view.shape or None,
    }
    if show_text:
        excerpt = view.excerpt
        told["text"] = excerpt.text if excerpt is not None else view.text or None
        told["before"] = None if excerpt is None else excerpt.before
        told["after"] = None if excerpt is None else excerpt.after
    return told
