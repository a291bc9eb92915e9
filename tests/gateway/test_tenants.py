import pytest

from stemcache.gateway.settings import ApiKey, GatewaySettings
from stemcache.gateway.tenants import Admission, Refused, Tenants

RED = ApiKey(key="sk-red-123", tenant="red")
BLUE = ApiKey(key="sk-blue-456", tenant="blue", may_salt=True)
SETTINGS = GatewaySettings(api_keys=(RED, BLUE), salt_secret="pepper")


def admitted(*headers: tuple[bytes, bytes], settings: GatewaySettings = SETTINGS) -> Admission:
    """Who is let in with these headers."""
    found = Tenants(settings).admit(headers)
    assert isinstance(found, Admission)
    return found


def refused(*headers: tuple[bytes, bytes]) -> str:
    """What is said to one who is not."""
    found = Tenants(SETTINGS).admit(headers)
    assert isinstance(found, Refused)
    return found.message


@pytest.mark.parametrize(
    "header",
    [
        (b"authorization", b"Bearer sk-red-123"),
        (b"Authorization", b"bearer   sk-red-123 "),
        (b"x-api-key", b"sk-red-123"),
        (b"X-API-Key", b" sk-red-123"),
        (b"api-key", b"sk-red-123"),
        (b"Api-Key", b"sk-red-123 "),
    ],
)
def test_a_key_is_taken_from_either_header(header: tuple[bytes, bytes]) -> None:
    """OpenAI's and Anthropic's clients send it in different ones."""
    assert admitted((b"host", b"x"), header).tenant == "red"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"Basic sk-red-123")],
        [(b"authorization", b"sk-red-123")],
        [(b"authorization", b"Bearer ")],
        [(b"x-api-key", b"")],
        [(b"api-key", b"")],
        [(b"api_key", b"sk-red-123")],
    ],
)
def test_no_key_is_refused_with_how_to_send_one(headers: list[tuple[bytes, bytes]]) -> None:
    """Other schemes are no key."""
    assert refused(*headers) == (
        "no API key in the request; send it as Authorization: Bearer KEY, x-api-key: KEY or "
        "api-key: KEY"
    )


@pytest.mark.parametrize(
    "key", [b"sk-red-124", b"sk-red-12", b"sk-red-1234", b"SK-RED-123", b"\xff"]
)
def test_an_unknown_key_is_refused_without_being_repeated(key: bytes) -> None:
    """The message may be logged."""
    message = refused((b"x-api-key", key))
    assert message == "the API key in the request is not known here; check it"


def test_two_different_keys_are_refused() -> None:
    """It would be open which of them counts; the same one twice is well."""
    red = (b"x-api-key", b"sk-red-123")
    refused(red, (b"authorization", b"Bearer sk-blue-456"))
    refused((b"authorization", b"Bearer sk-blue-456"), red)
    assert admitted(red, (b"authorization", b"Bearer sk-red-123")).tenant == "red"


def test_a_tenant_has_a_salt_of_its_own() -> None:
    """The same for each of its keys, in every gateway with that secret."""
    red = admitted((b"x-api-key", b"sk-red-123"))
    blue = admitted((b"x-api-key", b"sk-blue-456"))
    second = ApiKey(key="sk-red-2", tenant="red")
    again = admitted(
        (b"x-api-key", b"sk-red-2"),
        settings=GatewaySettings(api_keys=(second,), salt_secret="pepper"),
    )
    assert red.salt != blue.salt
    assert again.salt == red.salt
    assert len(red.salt or "") == 32


def test_salts_depend_on_the_secret() -> None:
    """So who knows tenants' names does not know their salts; no secret is not an empty one."""
    salts = {
        admitted(
            (b"x-api-key", b"sk-red-123"),
            settings=GatewaySettings(api_keys=(RED,), salt_secret=secret),
        ).salt
        for secret in ("pepper", "other", "", None)
    }
    assert len(salts) == 4


def test_a_clients_own_salt_goes_unless_it_may_stay() -> None:
    """Then it divides the tenant's part; it never is another tenant's salt."""
    red = admitted((b"x-api-key", b"sk-red-123"))
    blue = admitted((b"x-api-key", b"sk-blue-456"))
    assert red.drop_client_salt
    assert blue.drop_client_salt
    assert red.effective_salt("mine") == red.salt
    assert red.effective_salt(None) == red.salt
    assert blue.effective_salt(None) == blue.salt
    assert blue.effective_salt("mine") not in (None, "mine", blue.salt, red.salt)
    assert blue.effective_salt("mine") == blue.effective_salt("mine")
    assert blue.effective_salt("mine") != blue.effective_salt("other")
    assert blue.effective_salt(red.salt) != red.salt


def test_fields_of_a_salt_do_not_run_together() -> None:
    """A tenant whose name ends as another's salt begins is still another."""
    keys = (
        ApiKey(key="1", tenant="a", may_salt=True),
        ApiKey(key="2", tenant="ab", may_salt=True),
    )
    settings = GatewaySettings(api_keys=keys)
    first = admitted((b"x-api-key", b"1"), settings=settings)
    second = admitted((b"x-api-key", b"2"), settings=settings)
    assert first.effective_salt("bc") != second.effective_salt("c")


@pytest.mark.parametrize(("trusted", "salt"), [(True, "mine"), (False, None)])
def test_without_keys_everybody_may_ask(trusted: bool, salt: str | None) -> None:  # noqa: FBT001
    """No salt is set, and the client's own is passed on only if that is trusted."""
    found = admitted(settings=GatewaySettings(trust_client_salt=trusted))
    assert found.tenant is None
    assert found.salt is None
    assert found.drop_client_salt is not trusted
    assert found.effective_salt("mine") == salt
    assert found.effective_salt(None) is None


def test_keys_and_secrets_are_shown_nowhere() -> None:
    """What is made of them may be logged."""
    tenants = Tenants(SETTINGS)
    red = admitted((b"x-api-key", b"sk-red-123"))
    shown = repr([tenants, red, Refused("no")])
    assert "red" in shown
    for secret in ("sk-red-123", "sk-blue-456", "pepper", red.salt or ""):
        assert secret not in shown


def test_keys_may_have_any_characters() -> None:
    """Compared as bytes, as they are sent."""
    one = ApiKey(key="schlüssel-\ud800", tenant="t")
    sent = "schlüssel-\ud800".encode("utf-8", "surrogatepass")
    assert admitted((b"x-api-key", sent), settings=GatewaySettings(api_keys=(one,))).tenant == "t"
