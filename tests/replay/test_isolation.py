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
    assert said["cache-salt"] == (
        "every request carried cache_salt 's': nothing cached by an earlier run matches"
    )
    assert said["kept-warm"].startswith("none: what earlier runs left in the cache")


@pytest.mark.parametrize("kind", ["salted", "cache-salt"])
def test_a_salt_that_the_user_gave_may_be_warm(kind: IsolationKind) -> None:
    """A second run with it sends what the first one left in the cache."""
    said = in_words(Isolation(kind, "s", repeatable=True), None)
    assert said.endswith(
        ": what earlier runs with this salt left in the cache may have been hit (--salt)"
    )
    assert "nothing cached" not in said
