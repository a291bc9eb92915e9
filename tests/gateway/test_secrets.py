"""Clients' keys, a line each."""

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.secrets import read_admin_keys, read_key_lines
from stemcache.gateway.settings import ApiKey


def test_a_line_is_a_key_and_its_tenant() -> None:
    """Comments and empty lines are left out; a third word lets the tenant salt."""
    text = "# of 2026\n\nsk-1 acme\n  sk-2\tacme  \nsk-3 zeta may-salt\n"
    assert read_key_lines(text, "keys") == (
        ApiKey(key="sk-1", tenant="acme"),
        ApiKey(key="sk-2", tenant="acme"),
        ApiKey(key="sk-3", tenant="zeta", may_salt=True),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hunter2\n", "line 1 of keys has 1 words; write KEY TENANT [may-salt]"),
        ("#\nhunter2 a b c\n", "line 2 of keys has 4 words; write KEY TENANT [may-salt]"),
        ("hunter2 a maysalt\n", "line 1 of keys has 3 words; write KEY TENANT [may-salt]"),
        ("hunter2 a\nhunter2 b\n", "line 2 of keys has the key of another; give each tenant its"),
        ("hünter2 a\n", "line 1 of keys is longer than 4096 characters, or has some that no key"),
        ("x" * 5000 + " a\n", "line 1 of keys is longer than 4096 characters"),
        ("# none\n", "keys holds no key; write lines of KEY TENANT"),
    ],
)
def test_lines_that_are_no_keys_are_told_without_them(text: str, message: str) -> None:
    """The number of the line, and nothing of what is on it."""
    with pytest.raises(UsageError) as raised:
        read_key_lines(text, "keys")
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert "xxxx" not in str(raised.value)


def test_admins_keys_are_the_words_of_a_file() -> None:
    """Each such that a header can have it."""
    assert read_admin_keys("one\n\n two \n", "admins") == ("one", "two")
    with pytest.raises(UsageError, match="--admin-key-file admins holds no key; write one a line"):
        read_admin_keys("\n", "admins")
    with pytest.raises(UsageError, match="admins is longer than 4096 characters, or has some that"):
        read_admin_keys("schl\u00fcssel\u20ac", "admins")
