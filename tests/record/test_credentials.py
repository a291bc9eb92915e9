"""No credential reaches the file, wherever it is planted."""

import gzip
import json
from pathlib import Path

import httpx
import pytest

from stemcache.record.credentials import account_of, masked, public_url, secrets_of
from tests.record.fake_provider import FakeProvider
from tests.record.live_proxy import NearProxy, near_proxy

SECRETS = {
    "authorization": "Bearer sk-ant-api03-PLANTED-0000000001",
    "x-api-key": "PLANTED-0000000002",
    "api-key": "PLANTED-0000000003",
    "x-goog-api-key": "AIzaPLANTED-0000000004",
    "cookie": "session=PLANTED-0000000005; other=PLANTED-0000000006",
    "proxy-authorization": "Basic PLANTED-0000000007",
    "x-amz-security-token": "PLANTED-0000000008",
    "helicone-auth": "Bearer PLANTED-0000000009",
    "x-portkey-virtual-key": "PLANTED-0000000010",
    "x-session-token": "PLANTED-0000000011",
    "openai-organization": "org-PLANTED-0000000012",
    "ocp-apim-subscription-key": "PLANTED-0000000013",
    "x-my-password": "PLANTED-0000000014",
    "cf-aig-authorization": "Bearer PLANTED-0000000015",
    "user-agent": "agent/1 (PLANTED-0000000002)",
    "x-session-id": "s-PLANTED-0000000002",
    "anthropic-beta": "sk-PLANTED-00000000016",
}
QUERY = "?beta=true&key=PLANTED-0000000017&sig=PLANTED%2D0000000018&api-version=PLANTED-0000000017"
BODY = {
    "model": "plain",
    "messages": [{"role": "user", "content": "my key is sk-ant-api03-PLANTED-0000000001"}],
    "mcp_servers": [
        {"url": "https://mcp", "authorization_token": "PLANTED/0000000019"},
        {"authorization_token": "PLANTEDü00000000020"},
    ],
    "tools": [
        {"type": "mcp", "headers": {"Authorization": "Bearer PLANTED-21", "X": 'P"LANTED22'}},
        {"type": "mcp", "authorization": "PLANTED-0000000023"},
        {"type": "function", "headers": {"kept": "as it is"}},
    ],
}  # fmt: skip


def test_no_credential_is_in_the_file(live: NearProxy, fake: FakeProvider) -> None:
    """Headers of every kind, the query, tool servers in the body, copies elsewhere."""
    sent = json.dumps(BODY, ensure_ascii=False).encode()
    answer = httpx.post(f"{live.url}/v1/messages{QUERY}", content=sent, headers=SECRETS)

    (record,) = live.records()
    text = live.output.read_text()
    assert answer.status_code == 200
    assert fake.received[0].body == sent
    assert fake.received[0].headers["authorization"] == SECRETS["authorization"]
    assert "PLANTED" not in text
    assert 'P\\"LANTED' not in text
    assert json.loads(record["request"])["messages"] == [
        {"role": "user", "content": "my key is ***"}
    ]
    assert json.loads(record["request"])["tools"][2] == {
        "type": "function",
        "headers": {"kept": "as it is"},
    }
    assert record["redacted"] is True
    assert record["url"].endswith("/v1/messages?beta=true&api-version=***")
    assert record["headers"]["user-agent"] == "agent/1 (***)"
    assert record["headers"]["x-session-id"] == "s-***"
    assert len(record["headers"]["openai-organization"]) == 16


def test_a_credential_that_cannot_be_cut_out_takes_the_body_with_it(live: NearProxy) -> None:
    """Spelt with escapes that nobody writes."""
    body = (
        rb'{"model":"plain","messages":[],"mcp_servers":[{"authorization_token":"\u0050LANTED"}]}'
    )
    httpx.post(f"{live.url}/v1/messages", content=body)

    (record,) = live.records()
    assert (record["request"], record["redacted"]) == (None, True)


def test_a_key_in_an_encoded_body_is_not_in_the_file(live: NearProxy, fake: FakeProvider) -> None:
    """A compressed request is decoded for the record, and cleaned as others are."""
    body = gzip.compress(json.dumps(BODY).encode())
    headers = {"content-encoding": "gzip", "authorization": SECRETS["authorization"]}
    httpx.post(f"{live.url}/v1/messages", content=body, headers=headers)

    (record,) = live.records()
    assert fake.received[0].body == body
    assert json.loads(record["request"])["messages"][0]["content"] == "my key is ***"


def test_a_prompt_that_speaks_of_keys_is_not_changed(live: NearProxy) -> None:
    """Only credentials of the call itself and of its tool servers are cut out."""
    body = json.dumps(
        {
            "messages": [{"role": "user", "content": "sk-ant-api03-someone-elses authorization"}],
            "mcp_servers": [],
        }
    )
    httpx.post(f"{live.url}/v1/messages", content=body, headers={"x-api-key": "short"})

    (record,) = live.records()
    assert record["request"] == body
    assert "redacted" not in record


def test_scopes_tell_callers_apart_and_stay_with_the_file(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """Equal for one key however it is sent, in a later run too; another file has others."""
    body = b'{"messages": []}'

    def scopes(output: Path, *headers: dict[str, str]) -> list[str]:
        with near_proxy(fake.url, output) as live:
            for each in headers:
                httpx.post(f"{live.url}/v1/messages", content=body, headers=each)
            return [record["scope"] for record in live.records()]

    first = scopes(
        tmp_path / "a.jsonl",
        {"authorization": "Bearer one"},
        {"x-api-key": "one"},
        {"x-api-key": "two"},
        {},
        {"authorization": "Bearer one", "openai-organization": "org"},
    )
    again = scopes(tmp_path / "a.jsonl", {"x-api-key": "one"})
    other = scopes(tmp_path / "b.jsonl", {"x-api-key": "one"})

    assert first[0] == first[1] == again[5]
    assert len({*first, *other}) == 5
    assert first[3] == ""
    assert (tmp_path / "a.jsonl.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("headers", "url", "account"),
    [
        ([], "https://h/v1", ""),
        ([("authorization", "Bearer  abc ")], "https://h/v1", "abc"),
        ([("authorization", "abc")], "https://h/v1", "abc"),
        ([("x-api-key", "k"), ("authorization", "Bearer t")], "https://h/v1", "k"),
        ([], "https://h/v1?alt=sse&key=k", "k"),
        (
            [("authorization", "AWS4-HMAC-SHA256 Credential=AKIA1/20260101/r/s/aws4, Signature=x")],
            "https://h/model",
            "AKIA1",
        ),
        (
            [("authorization", "Bearer ya29.x")],
            "https://h/v1/projects/p/locations/l",
            "/projects/p",
        ),
    ],
)
def test_the_account_is_what_stays_the_same(
    headers: list[tuple[str, str]], url: str, account: str
) -> None:
    """Not a signature and not a token that lasts an hour, where there is something better."""
    assert account_of(headers, url) == account


def test_a_url_keeps_what_is_known_to_be_harmless() -> None:
    """No user, no parameter that is not on the list, no key in its path."""
    url = "https://me:pass-word@h:8443/v1/sk-0123456789abcdef/x?alt=sse&who=me&Key=abcdefgh"
    assert public_url(url, secrets_of([], url)) == "https://h:8443/v1/***/x?alt=sse"


@pytest.mark.parametrize(
    "key",
    ["sk-ant-api03-abcdefghijkl", "AIzaabcdefghijkl", "AKIAABCDEFGHIJKLMNOP", "gsk_abcdefghijkl"],
)
def test_what_looks_like_a_key_is_masked(key: str) -> None:
    """In what is kept of headers and addresses, whosever key it is."""
    assert masked(f"a {key} b", ()) == "a *** b"
