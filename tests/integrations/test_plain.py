"""Values of frameworks as JSON holds them."""

from pathlib import Path

import msgspec
import pytest
from openai.types import CompletionUsage

from stemcache.integrations.plain import plain


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            CompletionUsage(prompt_tokens=3, completion_tokens=1, total_tokens=4),
            {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
        ),
        (Path("a/b"), "a/b"),
        (3 + 1j, "(3+1j)"),
        (CompletionUsage, str(CompletionUsage)),
    ],
    ids=["model", "path", "number", "class"],
)
def test_models_are_mappings_and_all_else_texts(value: object, written: object) -> None:
    """Also deep inside of what JSON can hold; a class is no model of its own."""
    encoded = msgspec.json.encode({"deep": [value]}, enc_hook=plain)

    found = msgspec.json.decode(encoded)["deep"][0]
    if isinstance(found, dict):
        found = {name: one for name, one in found.items() if one is not None}
    assert found == written
