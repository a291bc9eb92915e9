import pytest

from stemcache.errors import UsageError
from stemcache.replay.target import APIS, Api, Target, parse_place, parse_target


@pytest.mark.parametrize(
    ("url", "api", "endpoint", "root"),
    [
        ("http://h:8000", "openai-completions", "http://h:8000/v1/completions", ""),
        ("h:8000", "openai-completions", "http://h:8000/v1/completions", ""),
        ("http://h:8000/", "openai-completions", "http://h:8000/v1/completions", ""),
        ("http://h/v1", "openai-completions", "http://h/v1/completions", ""),
        ("http://h/v1/chat/completions", "openai-chat", "http://h/v1/chat/completions", ""),
        ("https://h/v1/messages", "anthropic-messages", "https://h/v1/messages", ""),
        ("http://h/v1/completions/", "openai-completions", "http://h/v1/completions", ""),
        ("https://h/llm/v1", "openai-completions", "https://h/llm/v1/completions", "/llm"),
        ("https://h/llm", "openai-completions", "https://h/llm/v1/completions", "/llm"),
        ("https://h/v1beta/messages", "anthropic-messages", "https://h/v1beta/messages", ""),
        ("https://h/own/completions", "openai-completions", "https://h/own/completions", "/own"),
        ("http://[::1]:9/v1", "openai-completions", "http://[::1]:9/v1/completions", ""),
    ],
)
def test_the_path_of_a_url_says_what_to_post_to(
    url: str, api: Api, endpoint: str, root: str
) -> None:
    """A server alone is OpenAI's completions under /v1; an endpoint names its own kind."""
    target = parse_target(url, None)
    assert (target.api, target.url, target.root) == (api, endpoint, root)


@pytest.mark.parametrize("api", APIS)
def test_a_kind_may_be_named_for_a_server(api: Api) -> None:
    """Then the path follows from the kind."""
    path = {
        "openai-completions": "/v1/completions",
        "openai-chat": "/v1/chat/completions",
        "anthropic-messages": "/v1/messages",
    }[api]
    assert parse_target("http://h:1", api).path == path


def test_a_query_goes_along_but_is_not_shown() -> None:
    """Some gateways want a version there, others a key."""
    target = parse_target("https://h/v1/chat/completions?api-version=2&key=s", None)
    assert target.path == "/v1/chat/completions?api-version=2&key=s"
    assert target.models_path == "/v1/models?api-version=2&key=s"
    assert target.url == "https://h/v1/chat/completions"


def test_the_schemes_own_port_is_left_out() -> None:
    """In the Host header, as browsers do."""
    assert parse_target("https://h:443", None).authority == "h"
    assert parse_target("http://h:443", None).authority == "h:443"
    assert parse_target("http://h", None).port == 80


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("localhost", True), ("127.0.0.5", True), ("[::1]", True), ("10.0.0.1", False)],
)
def test_it_is_known_whether_anything_leaves_the_machine(host: str, *, loopback: bool) -> None:
    """Keys of providers stay here if the connection is open to read."""
    assert parse_target(f"http://{host}:1", None).loopback is loopback


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://h", "--target has scheme 'ftp' and host 'h'; use http://host:port or https://host"),
        ("http://", "--target has scheme 'http' and host ''; use http://host:port"),
        ("http://h:x", "--target is no URL: its host or its port cannot be read"),
        ("http://u:secret@h", "--target holds a user name; pass credentials with --api-key"),
        ("http://u:secret", "--target is no URL: its host or its port cannot be read"),
        ("http://h/ö", "--target has characters that no URL has; percent-encode them"),
        ("http://h/a b", "--target has characters that no URL has; percent-encode them"),
        ("http://h/a\r\nx: y", "--target has characters that no URL has; percent-encode them"),
        ("http://h:0", "--target has port 0; name the port that the server listens on"),
    ],
)
def test_what_is_no_url_is_refused(url: str, message: str) -> None:
    """With a message that does not quote what may be a password."""
    with pytest.raises(UsageError) as caught:
        parse_target(url, None)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_path_of_one_kind_and_the_name_of_another_contradict() -> None:
    """The message names both."""
    with pytest.raises(UsageError) as caught:
        parse_target("http://h/v1/messages", "openai-chat")
    assert str(caught.value) == (
        "--target /v1/messages is the path of anthropic-messages, and --api says openai-chat; "
        "leave one out"
    )


def test_a_page_has_a_path_of_its_own() -> None:
    """Metrics may be on another server, anywhere on it."""
    place = parse_place("http://m:9090/all/metrics?x=1", "--metrics-url")
    assert isinstance(place, Target)
    assert (place.origin, place.base, place.query) == ("http://m:9090", "/all/metrics", "?x=1")
    with pytest.raises(UsageError, match="--metrics-url has port 0"):
        parse_place("http://m:0", "--metrics-url")
