"""Which gateways there are, and how they are started."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.route.routers import kinds, named, versions
from benchmarks.route.scenarios import scenarios


def _installed(folder: Path) -> Path:
    for name, program in (("sglang", "python"), ("smg", "smg"), ("vllm", "vllm-router")):
        (folder / name / "bin").mkdir(parents=True)
        (folder / name / "bin" / program).touch()
    site = folder / "vllm" / "lib" / "python3.11" / "site-packages"
    (site / "vllm_router-0.1.17.dist-info").mkdir(parents=True)
    return folder


def _fleet(tmp_path: Path) -> Any:
    return SimpleNamespace(
        urls=["http://127.0.0.1:1", "http://127.0.0.1:2"],
        events=["tcp://127.0.0.1:3", "tcp://127.0.0.1:4"],
        replays=["tcp://127.0.0.1:5", "tcp://127.0.0.1:6"],
        folder=tmp_path,
        redis="redis://127.0.0.1:7/0",
    )


def test_only_what_is_installed_takes_part(tmp_path: Path) -> None:
    """Without peers there is stemcache; labels are unique."""
    assert {kind.name for kind in kinds(None)} == {"stemcache"}
    assert {kind.name for kind in kinds(tmp_path)} == {"stemcache"}
    every = kinds(_installed(tmp_path))
    assert {kind.name for kind in every} == {"sglang-router", "smg", "vllm-router", "stemcache"}
    assert len({kind.label for kind in every}) == len(every)
    assert versions(tmp_path) == {"vllm-router": "0.1.17"}


def test_labels_choose(tmp_path: Path) -> None:
    """A whole label, or a beginning with a star."""
    every = kinds(_installed(tmp_path))
    assert [kind.label for kind in named(every, ["smg cache_aware"])] == ["smg cache_aware"]
    assert {kind.name for kind in named(every, ["smg*", "stemcache auto"])} == {"smg", "stemcache"}
    assert named(every, ["nobody"]) == []


def test_everybody_listens_on_loopback_before_all_workers(tmp_path: Path) -> None:
    """Whatever the flags are called."""
    fleet = _fleet(tmp_path)
    for kind in kinds(_installed(tmp_path)):
        command = kind.command(fleet, 9, 1)
        assert command[command.index("--host") + 1] == "127.0.0.1"
        assert command[command.index("--port") + 1] == "9"
        assert all(any(url in word for word in command) for url in fleet.urls)


def test_events_are_asked_for_by_name(tmp_path: Path) -> None:
    """Only where the workers publish them, with a tokenizer that agrees."""
    (kind,) = named(kinds(None), ["stemcache auto + events"])
    command = kind.command(_fleet(tmp_path), 9, 1)
    assert "w1=tcp://127.0.0.1:4" in command
    assert "w1=tcp://127.0.0.1:6" in command
    assert (tmp_path / "tokenizer" / "tokenizer.json").exists()
    assert kind.events


def test_several_gateways_are_told_so(tmp_path: Path) -> None:
    """How many, and how they agree."""
    (kind,) = named(kinds(None), ["stemcache auto"])
    alone, two = (kind.command(_fleet(tmp_path), 9, count) for count in (1, 2))
    assert "--gateways" not in alone
    assert two[two.index("--gateways") + 1] == "2"
    assert two[two.index("--agree") + 1] == "hash"


def test_gateways_agree_by_hash_where_there_are_several_or_through_redis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One alone has nobody to agree with; through Redis each still knows how many they are."""
    monkeypatch.setattr("benchmarks.route.routers.installed", lambda: True)
    by_hash, through = named(kinds(None), ["stemcache auto", "stemcache auto + redis"])
    fleet = _fleet(tmp_path)

    assert "--agree" not in by_hash.command(fleet, 9, 1)
    assert by_hash.command(fleet, 9, 2)[-8:][:4] == ["--gateways", "2", "--agree", "hash"]
    words = through.command(fleet, 9, 2)
    at = words.index("--agree")
    assert words[at - 2 : at + 4] == [
        *("--gateways", "2", "--agree", "redis"),
        *("--redis", "redis://127.0.0.1:7/0"),
    ]


def test_redis_takes_part_only_with_a_server_and_only_beside_another_gateway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No scenario of one gateway has it."""
    label = "stemcache auto + redis"
    monkeypatch.setattr("benchmarks.route.routers.installed", lambda: False)
    assert named(kinds(None), [label]) == []
    monkeypatch.setattr("benchmarks.route.routers.installed", lambda: True)
    every = kinds(None)
    having = {
        name
        for name, scenario in scenarios(Path(), Path()).items()
        if label in {kind.label for kind in named(every, scenario.kinds)}
    }
    assert having == {"two-gateways"}
    assert sum(kind.redis for kind in every) == 1
