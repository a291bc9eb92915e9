"""Keys and passwords out of a configuration: written there, in a variable, or in a file. Pure.

No message holds any of them, nor any part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Admin
from stemcache.gateway.settings import ApiKey
from stemcache.provider.table import Table

__all__ = ["Secrets", "check_keys", "read_admin_keys", "read_key_lines"]

_MOST_CHARACTERS = 4096
_SALTING = "may-salt"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Where secrets may come from."""

    environ: Mapping[str, str]
    read_file: Callable[[PurePath], str]
    directory: PurePath
    """What paths in the configuration are relative to."""

    def one(self, table: Table, key: str, *, blanks: bool = False) -> str | None:
        """`KEY`, `KEY_env` or `KEY_file`, whichever is there; None if none is.

        `blanks`: it may have some, as it is never sent.
        """
        ways = [way for way in (key, f"{key}_env", f"{key}_file") if table.has(way)]
        if len(ways) > 1:
            raise UsageError(f"{table.where} has {' and '.join(ways)}; give one of them")
        if not ways:
            return None
        source = f"{ways[0]} in {table.where}"
        if ways[0] == key:
            value = table.take(key)
            if not isinstance(value, str):
                raise UsageError(f"{source} is no text; put it into quotes")
            return _checked(value, source, blanks=blanks)
        if ways[0] == f"{key}_env":
            variable = table.needed(f"{key}_env")
            if variable not in self.environ:
                raise UsageError(f"{source} names {variable[:60]!r}, which is not set; set it")
            return _checked(self.environ[variable], source, blanks=blanks)
        return _checked(self._file(table.needed(f"{key}_file"), source), source, blanks=blanks)

    def several(self, table: Table, key: str) -> tuple[str, ...]:
        """A list of secrets; empty where there is none."""
        values = table.take(key)
        if values is None:
            return ()
        source = f"{key} in {table.where}"
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise UsageError(f"{source} is no list of texts; put each into quotes")
        return tuple(_checked(one, source) for one in values)

    def _file(self, path: str, source: str) -> str:
        try:
            return self.read_file(self.directory / path).strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise UsageError(f"{source} cannot be read: {reason}; check the path") from None


def read_key_lines(text: str, name: str) -> tuple[ApiKey, ...]:
    """API keys from a file with one a line: `KEY TENANT`, and `may-salt` where that tenant may.

    Empty lines, and those that begin with #, are left out. Raises UsageError.
    """
    found: dict[str, ApiKey] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"line {number} of {name}"
        if len(words) not in (2, 3) or words[2:] not in ([], [_SALTING]):
            raise UsageError(f"{where} has {len(words)} words; write KEY TENANT [{_SALTING}]")
        key = _checked(words[0], where)
        if key in found:
            raise UsageError(f"{where} has the key of another; give each tenant its own")
        found[key] = ApiKey(key=key, tenant=words[1], may_salt=len(words) == 3)
    if not found:
        raise UsageError(f"{name} holds no key; write lines of KEY TENANT")
    return tuple(found.values())


def read_admin_keys(text: str, name: str) -> tuple[str, ...]:
    """Admins' keys from a file with one a line. Raises UsageError."""
    keys = tuple(
        _checked(word, f"line {number} of {name}")
        for number, line in enumerate(text.splitlines(), start=1)
        for word in line.split()
    )
    if not keys:
        raise UsageError(f"--admin-key-file {name} holds no key; write one a line")
    return keys


def check_keys(api_keys: tuple[ApiKey, ...], admin: Admin) -> None:
    """Raise UsageError where one key is a client's and an admin's: a client would be both."""
    admins = set(admin.keys)
    for one in api_keys:
        if one.key in admins:
            raise UsageError(
                f"a key of the tenant {one.tenant[:60]!r} is an admin's key too; give admins keys "
                "of their own"
            )


def _checked(secret: str, source: str, *, blanks: bool = False) -> str:
    """What can stand in a header, or in a URL."""
    if not secret:
        raise UsageError(f"{source} is empty; set it, or leave it out")
    if len(secret) > _MOST_CHARACTERS:
        raise UsageError(
            f"{source} is longer than {_MOST_CHARACTERS} characters; set it as it was issued"
        )
    for number, character in enumerate(secret, start=1):
        if not character.isascii() or not character.isprintable():
            raise UsageError(
                f"{source} has a character that cannot be sent, its {_ordinal(number)}; set it as "
                "it was issued, in plain letters, digits and signs"
            )
        if character == " " and not blanks:
            raise UsageError(
                f"{source} has a blank, its {_ordinal(number)} character, and none can be sent; "
                "set it as it was issued"
            )
    return secret


def _ordinal(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
