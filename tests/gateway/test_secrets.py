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
        ("hünter2 a\n", "line 1 of keys has a character that cannot be sent, its 2nd; set it as"),
        (
            "\ufeffhunter2 a\n",
            "line 1 of keys has a character that cannot be sent, its 1st; set it",
        ),
        ("hunter2\0hunter2 a\n", "line 1 of keys has a character that cannot be sent, its 8th;"),
        ("hunter2hunt\u20ac a\n", "line 1 of keys has a character that cannot be sent, its 12th;"),
        ("x" * 5000 + " a\n", "line 1 of keys is longer than 4096 characters; set it as it was"),
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
    with pytest.raises(UsageError, match="line 2 of admins has a character that cannot be sent"):
        read_admin_keys("one\nschl\u00fcssel\u20ac", "admins")


@pytest.mark.parametrize(
    ("number", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (13, "13th"), (22, "22nd")]
)
def test_a_character_is_told_by_its_place(number: int, said: str) -> None:
    """Not by itself: it is a part of a secret."""
    with pytest.raises(UsageError, match=f"cannot be sent, its {said};"):
        read_admin_keys("x" * (number - 1) + "\u20ac", "admins")
