import pytest

from stemcache.lint.pointers import without_keys


@pytest.mark.parametrize(
    ("pointer", "shown"),
    [
        ("/messages/1/content/0/input/a@b.example/x", "/messages/1/content/0/input"),
        ("/messages/1/content/0/toolUse/input/q", "/messages/1/content/0/toolUse/input"),
        ("/contents/2/parts/0/functionCall/args/q", "/contents/2/parts/0/functionCall/args"),
        ("/messages/1/content/0/input/a\nb", "/messages/1/content/0/input"),
        ("/messages/1/content/0/input", "/messages/1/content/0/input"),
        ("/input/3/content/0/text", "/input/3/content/0/text"),
        ("/tools/0/input_schema/properties", "/tools/0/input_schema/properties"),
        (
            "/messages/5/tool_calls/0/function/arguments",
            "/messages/5/tool_calls/0/function/arguments",
        ),
        ("", ""),
    ],
)
def test_keys_of_arguments_are_not_shown(pointer: str, shown: str) -> None:
    """They are what the model wrote; a schema's keys are the caller's own."""
    assert without_keys(pointer) == shown
