"""What engines serve where."""

import pytest

from stemcache.gateway.engine_paths import NEVER, OPEN, Work, is_shared, response_of, work_of


@pytest.mark.parametrize(
    ("path", "work"),
    [
        (b"/v1/chat/completions", Work.PROMPT),
        (b"/v1/chat/completions/", Work.PROMPT),
        (b"/messages", Work.PROMPT),
        (b"/v1/chat/completions/batch", Work.COMPUTE),
        (b"/v1/embeddings", Work.COMPUTE),
        (b"/v1/score", Work.COMPUTE),
        (b"/rerank", Work.COMPUTE),
        (b"/v2/rerank", Work.COMPUTE),
        (b"/pooling", Work.COMPUTE),
        (b"/tokenize", Work.LOOK),
        (b"/v1/tokenize", Work.LOOK),
        (b"/v1/messages/count_tokens", Work.LOOK),
        (b"/v1/chat/completions/render", Work.LOOK),
        (b"/v1/responses/resp_1", Work.STORED),
        (b"/v1/responses/resp_1/cancel", Work.STORED),
        (b"/v1/responses/input_tokens", Work.LOOK),
        (b"/v1/responses/compact", Work.OTHER),
        (b"/v1/files", Work.OTHER),
        (b"/v1/generate", Work.OTHER),
        (b"/v2/embed", Work.OTHER),
        (b"/generate", Work.OTHER),
        (b"/version", Work.OTHER),
    ],
)
def test_a_path_says_what_is_done_there(path: bytes, work: Work) -> None:
    """With a slash at its end or without."""
    assert work_of(path) is work


@pytest.mark.parametrize(
    "path",
    [*NEVER, b"/v1/LOAD_LORA_ADAPTER", b"/v1/unload_lora_adapter/", b"/flush_cache", b"/v1", b"/"],
)
def test_what_rules_a_replica_is_no_work_for_a_gateway(path: bytes) -> None:
    """However its letters are written."""
    assert work_of(path) is None


def test_only_what_leaves_nothing_behind_may_be_done_twice() -> None:
    """Of the rest nobody knows what it does."""
    assert [work for work in Work if work.repeatable] == [Work.PROMPT, Work.COMPUTE, Work.LOOK]


@pytest.mark.parametrize(
    ("path", "response"),
    [
        (b"/v1/responses/resp_1", "resp_1"),
        (b"/v1/responses/resp_1/", "resp_1"),
        (b"/v1/responses/resp_1/cancel", "resp_1"),
        (b"/v1/responses/resp_1/input_items", "resp_1"),
        (b"/v1/responses/resp_1/other", None),
        (b"/v1/responses/resp_1/cancel/x", None),
        (b"/v1/responses/", None),
        (b"/v1/responses", None),
        (b"/v1/responses/compact", None),
        (b"/v1/files/resp_1", None),
    ],
)
def test_a_path_may_name_a_response(path: bytes, response: str | None) -> None:
    """Not every word in that place is one."""
    assert response_of(path) == response


def test_what_is_below_a_shared_path_is_shared() -> None:
    """Not what only begins alike."""
    shared = ("/v1/files", "/v1/batches/")
    assert is_shared(b"/v1/files", shared)
    assert is_shared(b"/v1/files/", shared)
    assert is_shared(b"/v1/files/a/content", shared)
    assert is_shared(b"/v1/batches", shared)
    assert not is_shared(b"/v1/files2", shared)
    assert not is_shared(b"/v1/Files", shared)
    assert not is_shared(b"/v1/files", ())
    assert is_shared(b"/v1/anything", ("/v1",))


def test_what_is_open_to_all_is_a_path_that_is_relayed() -> None:
    """Else it would be open in vain."""
    assert all(work_of(path) is not None for path in OPEN)
