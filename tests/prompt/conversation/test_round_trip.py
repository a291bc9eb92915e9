"""Conversations held by other processes under other circumstances come to the same bytes."""

import os
import subprocess
import sys

import pytest

ENVIRONMENTS = (
    ("0", "C", "0"),
    ("1", "tr_TR.UTF-8", "1"),
    ("4294967295", "POSIX", "2"),
)
"""Hash seed, locale, order of members in dictionaries made by hand."""


def digests(count: int, seed: str, locale: str, order: str) -> str:
    """What a process of its own prints."""
    environment = os.environ | {
        "PYTHONHASHSEED": seed,
        "LC_ALL": locale,
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    command = [sys.executable, "-m", "tests.prompt.round_trip", str(count), "--order", order]
    done = subprocess.run(
        [*command, "--each"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.timeout(300)
def test_hash_seeds_locales_and_orders_of_dictionaries_change_no_byte() -> None:
    """Forty conversations here; `scripts/round-trip` takes ten thousand."""
    first, *others = [digests(40, *environment) for environment in ENVIRONMENTS]
    assert len(first.splitlines()) == 41
    assert len(set(first.splitlines())) == 41
    for other in others:
        assert other == first
