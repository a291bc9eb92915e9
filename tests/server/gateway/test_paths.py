"""Which requests go to replicas, by method and path."""

import pytest

from stemcache.gateway.engine_paths import Work
from stemcache.server.gateway.paths import Way, is_relayed, way_of
from stemcache.server.gateway.refusals import Refusal


def refused(
    target: bytes, method: bytes = b"POST", *, tenants: bool = False, shared: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Status and code."""
    way = way_of(method, target, tenants=tenants, shared=shared)
    assert isinstance(way, Refusal), way
    return way.status, way.code


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/chat/completions",
        b"/v1/messages?beta=true",
        b"/v1/embeddings",
        b"/v1/chat/completions/batch",
        b"/v1/score",
        b"/v1/rerank",
        b"/v1/messages/count_tokens",
        b"/v1/responses/render",
        b"/chat/completions",
        b"/tokenize",
        b"/tokenize/",
        b"/v2/rerank",
    ],
)
@pytest.mark.parametrize("tenants", [False, True])
def test_what_keeps_tenants_apart_goes_to_replicas(target: bytes, *, tenants: bool) -> None:
    """With a query or without."""
    assert is_relayed(target, tenants=tenants)


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/generate",
        b"/v1/completion",
        b"/v1/responses/compact",
        b"/v1/engines/m/completions",
        b"/v1/foo",
        b"/v1/files",
        b"/v1/batches",
        b"/v1/conversations/c/items",
        b"/v1/audio/transcriptions",
        b"/v1/models/org%2Fname",
        b"/v1/Chat/completions",
        b"/generate",
        b"/completion",
        b"/api/chat",
        b"/infill",
        b"/v2/embed",
        b"/encode",
    ],
)
def test_what_does_not_is_for_those_without_keys(target: bytes) -> None:
    """Or for all, where a setting says so; the refusal names the setting."""
    assert is_relayed(target, tenants=False)
    way = way_of(b"POST", target, tenants=True)
    assert isinstance(way, Refusal)
    assert (way.status, way.code) == (404, "path_not_relayed")
    assert way.message == (
        "this path is not relayed to clients with a key: replicas do not keep them apart there; "
        "whoever runs the gateway can allow it, by shared_paths"
    )
    shared = ("/v1", "/generate", "/completion", "/api/chat", "/infill", "/v2/embed", "/encode")
    assert way_of(b"POST", target, tenants=True, shared=shared) == Way(Work.OTHER, shared=True)


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"PUT", b"PATCH", b"DELETE", b"TRACE"])
@pytest.mark.parametrize("target", [b"/v1/chat/completions", b"/v1/embeddings?a", b"/tokenize"])
@pytest.mark.parametrize("tenants", [False, True])
def test_prompts_are_posted(method: bytes, target: bytes, *, tenants: bool) -> None:
    """Nothing else is known to be done there; the answer says what is."""
    way = way_of(method, target, tenants=tenants)
    assert isinstance(way, Refusal)
    assert (way.status, way.code, way.allow) == (405, "method_not_allowed", "POST")
    assert way.message == "this path is asked for with POST; use that"


@pytest.mark.parametrize("tenants", [False, True])
def test_a_browser_may_ask_what_it_may(*, tenants: bool) -> None:
    """OPTIONS makes no tokens, and is never sent as a prompt."""
    way = way_of(b"OPTIONS", b"/v1/chat/completions", tenants=tenants)
    assert way == Way(Work.OTHER)


@pytest.mark.parametrize("method", [b"GET", b"DELETE", b"POST"])
@pytest.mark.parametrize("tenants", [False, True])
def test_a_response_is_asked_for_by_its_id(method: bytes, *, tenants: bool) -> None:
    """Whose it is, is seen to later."""
    way = way_of(method, b"/v1/responses/resp%5F1/cancel?x", tenants=tenants)
    assert way == Way(Work.STORED, "resp_1")
    shared = way_of(method, b"/v1/responses/resp_1", tenants=True, shared=("/v1/responses",))
    assert shared == Way(Work.OTHER, shared=True)


def test_what_is_the_same_for_all_is_asked_for_with_get() -> None:
    """Nothing is posted there by tenants."""
    for target in (b"/version", b"/ping", b"/v1/models"):
        assert way_of(b"GET", target, tenants=True) == Way(Work.OTHER)
        assert refused(target, tenants=True) == (404, "path_not_relayed")
    assert refused(b"/v1/files", b"GET", tenants=True) == (404, "path_not_relayed")


@pytest.mark.parametrize(
    "target",
    [
        b"/",
        b"/flush_cache",
        b"/reset_prefix_cache",
        b"/sleep?level=1",
        b"/slots",
        b"/server_info",
        b"/v1",
        b"/v1/load_lora_adapter",
        b"/v1/load_lora_adapter/",
        b"/v1/LOAD_LORA_ADAPTER",
        b"/v1/Unload_Lora_Adapter?x=1",
    ],
)
@pytest.mark.parametrize("tenants", [False, True])
def test_what_rules_a_replica_does_not(target: bytes, *, tenants: bool) -> None:
    """However its letters are written, and whatever is shared."""
    shared = ("/v1", "/flush_cache", "/v1/load_lora_adapter")
    assert refused(target, tenants=tenants, shared=shared) == (404, "path_not_relayed")


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/./load_lora_adapter",
        b"/v1/load_lora_adapter;a",
        b"/v1/load%5Flora_adapter",
        b"/v1/LOAD%5flora_adapter/",
        b"/v1/chat/./completions",
        b"/./v1/chat/completions",
        b"/v1/chat/completions;a=b",
        b"/v1/chat/completions/.",
        b"/v1/completions%20",
        b"/v1/%20completions",
        b"/v1/\\chat",
        b"/v1/%5cchat",
        b"/v1/x%00",
        b"/v1/x%0a",
        b"/v1/x%7f",
        b"/v1/x%09y",
        b"/v1/../flush_cache",
        b"/v1/..",
        b"/v1/%2e%2e/flush_cache",
        b"/v1/%2E./flush_cache",
        b"/v1/%252e%252e/flush_cache",
        b"/v1/..%2fflush_cache",
        b"/v1/..;/flush_cache",
        b"/v1/a%3bb",
        b"/v1/a%zz",
        b"/v1//flush_cache",
        b"/v1/%2fflush_cache",
        b"/v1/chat/completions//",
        b"//v1/models",
        b"/v1/" + b"%2e" * 1000,
        b"/v1/completions#x",
        b"/v1/models?x#y",
        b"/v1/%63ompletions",
        b"/v1/chat/%63ompletions?a=b",
        b"/v1/chat%2Fcompletions",
        b"/v1/messages%3Fx",
        b"/v1/messages%23x",
        b"/v1/%74okenize",
    ],
)
@pytest.mark.parametrize("tenants", [False, True])
def test_what_servers_read_differently_is_refused(target: bytes, *, tenants: bool) -> None:
    """It would be another path for them than for us."""
    assert refused(target, tenants=tenants, shared=("/v1",)) == (400, "bad_path")


@pytest.mark.parametrize(
    "target",
    [b"/v1/models/org%2Fname", b"/v1/models/a..b", b"/v1/files/.a/b.jsonl", b"/v1/x?a=%00;\\&.."],
)
def test_what_is_only_unusual_is_not(target: bytes) -> None:
    """A query is the replica's own affair."""
    assert is_relayed(target, tenants=False)
