import pytest

from stemcache.errors import UsageError
from stemcache.prompt.render.blobs import with_bytes


def test_blobs_are_bytes_wherever_they_stand() -> None:
    """In lists and objects; what is bytes already stays."""
    block = {
        "toolResult": {
            "content": [{"image": {"format": "png", "source": {"bytes": "YQ=="}}}, "bytes"],
        },
        "reasoningContent": {"redactedContent": "Yg=="},
        "bytes": b"c",
    }
    assert with_bytes(block, "it") == {
        "toolResult": {
            "content": [{"image": {"format": "png", "source": {"bytes": b"a"}}}, "bytes"],
        },
        "reasoningContent": {"redactedContent": b"b"},
        "bytes": b"c",
    }


def test_what_a_model_or_a_tool_says_is_no_blob() -> None:
    """Members of arguments and of results may be called anything."""
    block = {"toolUse": {"input": {"bytes": "YQ=="}}, "json": {"bytes": "YQ=="}, "text": "bytes"}
    assert with_bytes(block, "it") == block


@pytest.mark.parametrize("value", ["!", "é", "a"])
def test_a_blob_that_is_no_base64_is_refused(value: str) -> None:
    """By its name."""
    with pytest.raises(UsageError, match="it has a redactedContent that is no base64"):
        with_bytes({"redactedContent": value}, "it")


def test_what_nests_without_end_is_refused() -> None:
    """A file may hold anything."""
    block: dict[str, object] = {}
    for _ in range(2_000):
        block = {"x": block}
    with pytest.raises(UsageError, match="it nests too deep"):
        with_bytes(block, "it")
