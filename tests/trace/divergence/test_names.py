"""By what name a tool goes."""

from typing import Any

import pytest

from stemcache.trace.divergence.names import tool_name
from tests.trace.divergence.prompts import prompt


@pytest.mark.parametrize(
    ("definition", "name"),
    [
        ({"name": "f", "input_schema": {}}, "f"),
        ({"type": "function", "function": {"name": "g"}}, "g"),
        ({"toolSpec": {"name": "h", "inputSchema": {}}}, "h"),
        ({"type": "web_search"}, '{"type":"web_search"}'),
        ({"name": 7}, '{"name":7}'),
        ({"function": "f"}, '{"function":"f"}'),
    ],
)
def test_a_tool_goes_by_the_name_that_its_api_gives_it(
    definition: dict[str, Any], name: str
) -> None:
    """And one without a name by its whole text."""
    (span,) = prompt(tools=[definition]).spans
    assert tool_name(span) == name
