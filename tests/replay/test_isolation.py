import pytest

from stemcache.replay.isolation import Isolation, IsolationKind, in_words


@pytest.mark.parametrize(
    ("kind", "prompt_salt", "cache_salt"),
    [("salted", "s", None), ("reset", "", None), ("cache-salt", "", "s"), ("kept-warm", "", None)],
)
def test_a_salt_goes_where_the_kind_says(
    kind: IsolationKind, prompt_salt: str, cache_salt: str | None
) -> None:
    """Into the prompts, into the body, or nowhere."""
    isolation = Isolation(kind, "s")
    assert (isolation.prompt_salt, isolation.cache_salt) == (prompt_salt, cache_salt)


def test_the_report_says_what_was_done() -> None:
    """In a sentence each."""
    said = {
        kind: in_words(Isolation(kind, "s"), "/flush_cache")
        for kind in ("salted", "reset", "cache-salt", "kept-warm")
    }
    assert said["salted"].startswith("prompts salted with 's' from their first token on")
    assert said["reset"] == (
        "the target's prefix cache was emptied before the run (POST /flush_cache)"
    )
    assert said["cache-salt"] == "every request carried cache_salt 's'"
    assert said["kept-warm"].startswith("none: what earlier runs left in the cache")
