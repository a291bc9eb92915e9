"""Bounds of an analysis: each is that of what it names."""

from dataclasses import fields
from random import Random

from stemcache.lint.analyse import Analysis
from stemcache.lint.options import Options
from stemcache.lint.room import RUNNING, Room
from stemcache.provider.book import load_book
from tests.lint.logs import TODAY, anthropic, call, prose


def test_a_running_program_keeps_less_of_everything() -> None:
    """None of the bounds is larger than that for a log."""
    for field in fields(Room):
        assert 0 < getattr(RUNNING, field.name) <= getattr(Room(), field.name)


def test_what_is_kept_stays_within_its_bounds() -> None:
    """After many calls that have nothing in common, each with its own texts, id and edit."""
    room = Room(
        calls=16,
        units=256,
        content_bytes=4_096,
        known_bytes=8_192,
        prompt_bytes=50_000,
        memo_characters=10_000,
        cache_entries=32,
        ends=8,
        open_writes=8,
        causes=3,
    )
    analysis = Analysis(Options(today=TODAY), load_book(), lambda _: None, room=room)
    for line in range(1, 121):
        # Every second call edits the one before it.
        body = anthropic(2, system=prose(400 + Random(line // 2).randrange(200), line // 2))
        body["system"][0]["text"] = f"No {line}\n{body['system'][0]['text']}"
        analysis.add(call(body, line, id=f"r{line}", time_s=1.8e9 + line))

    known, earlier = analysis._known, analysis._earlier
    assert sum(one.size_bytes for one in known._known.values()) <= room.known_bytes
    assert sum(size for _, size in known._prompts.values()) <= room.prompt_bytes
    assert len(earlier._ends._ends) <= room.ends
    assert len(earlier._ids) <= room.calls
    assert len(analysis._unread._open) <= room.open_writes
    assert len(analysis._collector._groups) <= room.causes + 40  # one a rule beyond the bound
    assert all(len(cache) <= 2 * room.cache_entries for cache in analysis._caches.values())
    texts = earlier._texts
    assert sum(map(len, texts._young)) + sum(map(len, texts._old)) <= 2 * room.memo_characters
