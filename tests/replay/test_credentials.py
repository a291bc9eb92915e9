import pytest

from stemcache.errors import UsageError
from stemcache.replay.credentials import Credentials, credentials
from stemcache.replay.target import Api, parse_target


def made(
    url: str = "http://127.0.0.1:1",
    api: Api | None = None,
    *,
    key: str | None = None,
    given: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Credentials:
    """Credentials of a run."""
    return credentials(
        parse_target(url, api), key=key, environment=environment or {}, given=given, agent="a/1"
    )


def test_without_a_key_there_is_none() -> None:
    """Only who asks, and for what."""
    assert dict(made().headers) == {"user-agent": "a/1", "accept": "text/event-stream"}


def test_each_api_takes_the_key_its_own_way() -> None:
    """OpenAI as a bearer, Anthropic in a header beside the version."""
    assert dict(made(key="k").headers)["authorization"] == "Bearer k"
    headers = dict(made(api="anthropic-messages", key="k").headers)
    assert headers["x-api-key"] == "k"
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


def test_a_providers_variable_fits_its_api() -> None:
    """The other's is not sent to it."""
    both = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
    assert dict(made(environment=both).headers)["authorization"] == "Bearer o"
    assert dict(made(api="anthropic-messages", environment=both).headers)["x-api-key"] == "a"
    assert "authorization" not in dict(made(environment={"ANTHROPIC_API_KEY": "a"}).headers)
    assert dict(made(key="mine", environment=both).headers)["authorization"] == "Bearer mine"


def test_a_providers_key_does_not_cross_a_network_in_the_open() -> None:
    """Over TLS it may; a key that was given for this target goes where it was told."""
    theirs = {"OPENAI_API_KEY": "o"}
    assert "authorization" not in dict(made("http://10.0.0.1", environment=theirs).headers)
    assert "authorization" in dict(made("https://10.0.0.1", environment=theirs).headers)
    assert "authorization" in dict(made("http://10.0.0.1", key="o").headers)


def test_headers_are_added_and_the_users_come_last() -> None:
    """Names are taken in lower case."""
    headers = dict(made(key="k", given=("X-Tenant: t 1", "Authorization: Basic abc")).headers)
    assert headers["x-tenant"] == "t 1"
    assert headers["authorization"] == "Basic abc"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("no colon", "--header is not of the form 'Name: value'; write one header a flag"),
        ("a: b\r\nc: d", "--header is not of the form 'Name: value'"),
        ("a: \x00", "--header is not of the form 'Name: value'"),
        ("sp ace: b", "--header is not of the form 'Name: value'"),
        ("Host: elsewhere", "--header host is set by the replay itself; leave it out"),
        ("Content-Length: 3", "--header content-length is set by the replay itself"),
    ],
)
def test_a_header_that_is_none_is_refused(header: str, message: str) -> None:
    """It could split the request."""
    with pytest.raises(UsageError) as caught:
        made(given=(header,))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "the API key is empty; set it, or leave it out"),
        ("two words", "character 4 of the API key is ' ', which no key has; set it without quotes"),
        ("line\nbreak", r"character 5 of the API key is '\n', which no key has"),
        ("sk-é1", "character 4 of the API key is 'é', which no key has"),
        ('"sk-1"', "character 1 of the API key is '\"', which no key has"),
        ("sk\u202e1", r"character 3 of the API key is '\u202e', which no key has"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused(key: str, message: str) -> None:
    """By the one character that is wrong, without showing the others."""
    with pytest.raises(UsageError) as caught:
        made(key=key)
    assert str(caught.value).startswith(message)
    assert not key or key not in str(caught.value)


def test_a_key_may_hold_what_base64_does() -> None:
    """A slash among it."""
    assert dict(made(key="sk/a+b=").headers)["authorization"] == "Bearer sk/a+b="


def test_no_value_of_the_targets_query_shows() -> None:
    """Some providers take a key there; as it was written, and as it is meant."""
    held = made("http://h:1/v1?key=a%2Bsekret&v=2&flag&also=")
    said = held.redacted("no key a+sekret (GET /v1?key=a%2Bsekret&v=2&flag) for 2 = 1 + 1")
    assert said == "no key *** (GET /v1?key=***&***&flag) for 2 = 1 + 1"
    assert "" not in held.secrets


def test_nothing_shows_a_secret() -> None:
    """Not the value's own text, not a message of the target's that repeats it."""
    held = made(key="sk-12345", given=("X-Token: hunter22", "Cookie: a=bcdef; x"))
    assert "sk-12345" not in repr(held)
    said = held.redacted("bad key sk-12345 with token hunter22 and a=bcdef; here x")
    assert said == "bad key *** with token *** and *** here x"
