"""Headers of the user's, and the key: from where it comes, and that it never shows. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

from stemcache.errors import UsageError
from stemcache.replay.target import Api, Target

__all__ = ["Credentials", "credentials"]

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_OURS = frozenset({"connection", "content-length", "host", "transfer-encoding"})

_PROVIDER_VARIABLES: Mapping[Api, str] = {
    "openai-completions": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic-messages": "ANTHROPIC_API_KEY",
}
_IN_NO_KEY = frozenset(' "\\')
"""Quotes are the shell's; a target that repeats a key in JSON escapes them, so it would show."""
_SHORTEST_SECRET = 4
"""Shorter values of headers are words, and would be cut out of every message."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Headers for every request. `repr` shows none of them."""

    headers: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Credentials({len(self.headers)} headers)"

    def redacted(self, text: str) -> str:
        """The text of a target's, without what must not show."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def credentials(
    target: Target,
    *,
    key: str | None,
    environment: Mapping[str, str],
    given: Sequence[str],
    agent: str,
) -> Credentials:
    """Headers of a run: `key` (else the provider's variable), and those given as `Name: value`.

    A provider's variable is used only where the connection is encrypted or stays on this machine:
    nobody asked to send that key to a stranger. Raises UsageError for a header that is none.
    """
    if key is None and (target.tls or target.loopback):
        key = environment.get(_PROVIDER_VARIABLES[target.api]) or None
    if key is not None:
        _check_key(key)
    headers = {"user-agent": agent, "accept": "text/event-stream"}
    secrets = set()
    if target.api == "anthropic-messages":
        headers["anthropic-version"] = "2023-06-01"
    for field in target.query.removeprefix("?").split("&"):
        name, _, value = field.partition("=")
        for known in (value, unquote_plus(value)):
            # A short one, such as a version, is told only by its name.
            secrets.add(known if len(known) > _SHORTEST_SECRET else f"{name}={known}")
    secrets -= {"="}
    if key is not None:
        secrets.add(key)
        if target.api == "anthropic-messages":
            headers["x-api-key"] = key
        else:
            headers["authorization"] = f"Bearer {key}"
    for header in given:
        found = _HEADER.fullmatch(header)
        if found is None:
            raise UsageError("--header is not of the form 'Name: value'; write one header a flag")
        name, value = found[1].lower(), found[2].strip()
        if name in _OURS:
            raise UsageError(f"--header {name} is set by the replay itself; leave it out")
        headers[name] = value
        secrets |= {part for part in value.split() if len(part) > _SHORTEST_SECRET}
    return Credentials(tuple(headers.items()), tuple(sorted(secrets, key=len, reverse=True)))


def _check_key(key: str) -> None:
    """Raise UsageError, with the one character that is wrong and none of the others."""
    if not key:
        raise UsageError("the API key is empty; set it, or leave it out")
    for at, character in enumerate(key, start=1):
        if not character.isascii() or not character.isprintable() or character in _IN_NO_KEY:
            shown = ascii(character) if not character.isprintable() else f"'{character}'"
            raise UsageError(
                f"character {at} of the API key is {shown}, which no key has; "
                "set it without quotes, blanks or newlines, as it was issued"
            )
