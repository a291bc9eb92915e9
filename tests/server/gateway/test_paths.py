"""Which paths go to replicas."""

import pytest

from stemcache.server.gateway.paths import is_relayed


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/chat/completions",
        b"/v1/messages?beta=true",
        b"/v1/responses/resp_1/cancel",
        b"/v1/embeddings",
        b"/v1/models/org%2Fname",
        b"/chat/completions",
        b"/tokenize",
        b"/tokenize/",
        b"/v2/rerank",
    ],
)
@pytest.mark.parametrize("tenants", [False, True])
def test_the_paths_of_the_apis_go_to_replicas(target: bytes, *, tenants: bool) -> None:
    """With a query or without."""
    assert is_relayed(target, tenants=tenants)


@pytest.mark.parametrize(
    "target",
    [
        b"/",
        b"/flush_cache",
        b"/reset_prefix_cache",
        b"/sleep?level=1",
        b"/slots",
        b"/server_info",
        b"/v1/load_lora_adapter",
        b"/v1/unload%5Flora_adapter",
        b"/v1/load_lora_adapter/",
        b"/v1/../flush_cache",
        b"/v1/%2e%2e/flush_cache",
        b"/v1/%2E./flush_cache",
        b"/v1//flush_cache",
        b"//v1/models",
        b"/v1",
        b"/v1/" + b"%2e" * 1000,
        b"/v1/completions#x",
        b"/v1/load_lora_adapter#x",
        b"/v1/models?x#y",
        b"/v1/%63ompletions",
        b"/v1/chat/%63ompletions?a=b",
        b"/v1/chat%2Fcompletions",
        b"/v1/messages%3Fx",
        b"/v1/messages%23x",
    ],
)
def test_what_rules_a_replica_does_not(target: bytes) -> None:
    """However it is spelled."""
    assert not is_relayed(target, tenants=False)


@pytest.mark.parametrize("target", [b"/generate", b"/completion", b"/api/chat", b"/infill"])
def test_what_takes_no_salt_is_not_for_tenants(target: bytes) -> None:
    """They would share their prefixes."""
    assert is_relayed(target, tenants=False)
    assert not is_relayed(target, tenants=True)
