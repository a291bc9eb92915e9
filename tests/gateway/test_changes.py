"""What a reload changes, in words, and the one thing that it may not."""

from dataclasses import replace

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.changes import check_doors, what_changed
from stemcache.gateway.deployment import Admin, Configuration, Listen
from stemcache.gateway.settings import ApiKey, GatewaySettings

KEYS = (ApiKey(key="one", tenant="acme"), ApiKey(key="two", tenant="zeta"))


def told(*keys: ApiKey, admins: tuple[str, ...] = (), policy: str = "auto") -> Configuration:
    """A configuration with these keys."""
    return Configuration(
        settings=GatewaySettings(api_keys=keys, policy=policy), admin=Admin(keys=admins)
    )


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (told(*KEYS), []),
        (told(KEYS[0]), ["keys"]),
        (told(KEYS[0], replace(KEYS[1], may_salt=True)), ["keys"]),
        (told(*KEYS, admins=("three",)), ["keys"]),
        (told(*KEYS, policy="random"), ["configuration"]),
        (replace(told(*KEYS), listen=Listen(grace_s=1.0)), ["configuration"]),
        (replace(told(*KEYS), admin=Admin(open_metrics=True)), ["configuration"]),
        (told(KEYS[1], policy="random"), ["configuration", "keys"]),
    ],
)
def test_what_has_changed_has_a_word(after: Configuration, changed: list[str]) -> None:
    """Clients' and admins' keys have one of their own."""
    assert what_changed(told(*KEYS), after) == changed
    assert what_changed(after, told(*KEYS)) == changed


def test_a_reload_does_not_let_everybody_in() -> None:
    """Whoever takes the last key away wants nobody in, and without keys everybody may ask."""
    with pytest.raises(UsageError) as caught:
        check_doors(told(*KEYS), told())
    assert str(caught.value) == (
        "there is no API key any more, and without one everybody may ask; leave a key that nobody "
        "has, or restart the gateway to let everybody in"
    )


def test_all_other_changes_of_keys_may_be() -> None:
    """From open to closed, and from some to others."""
    check_doors(told(), told())
    check_doors(told(), told(KEYS[0]))
    check_doors(told(*KEYS), told(KEYS[1]))
    check_doors(told(KEYS[0]), told(KEYS[1]))
    check_doors(told(*KEYS, admins=("three",)), told(*KEYS))
