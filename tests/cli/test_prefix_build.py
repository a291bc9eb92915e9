"""Builders: what they may give, how they fail, and what is said then."""

import os
import time
from pathlib import Path

import pytest

from stemcache.cli.prefix_build import Built, build
from stemcache.cli.prefix_settings import PrefixSpec
from stemcache.errors import UsageError
from stemcache.wire.api import Api

CODE = """
import asyncio, os, random, subprocess, sys, threading, time

TEXT = "be kind"
BODY = {"system": "be kind", "messages": []}

class Prompts:
    body = BODY
    @staticmethod
    def text():
        return TEXT

def loud():
    print("to stdout"); print("to stderr", file=sys.stderr)
    os.write(1, b"straight to it")
    return TEXT

async def later():
    await asyncio.sleep(0)
    return TEXT

def boom():
    deep = {}
    return inner(deep)

def inner(deep):
    return deep["nothing"]

def in_library():
    import json
    return json.loads("{")

def exits():
    sys.exit(3)

def kills():
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)

def floods():
    sys.stderr.write("x" * 10_000_000 + "\\nthe end\\n")
    os._exit(7)

def hangs():
    print("asleep", file=sys.stderr, flush=True)
    time.sleep(600)

def orphans():
    child = subprocess.Popen(["sleep", "600"])
    open("orphan.pid", "w").write(str(child.pid))
    threading.Thread(target=time.sleep, args=(600,)).start()
    return TEXT

def shuffled():
    return " ".join({"alpha", "beta", "gamma", "delta", "epsilon", "zeta"})

def chance():
    return str(random.random())

def clock():
    return str(time.time_ns())

def needs(what):
    return what

def number():
    return 3

def odd():
    raise ValueError("\\x1b[31m" + "long " * 200)
"""


def spec(
    target: str, *, name: str = "x", api: Api | None = None, path: str | None = None
) -> PrefixSpec:
    """A prefix that is made there."""
    return PrefixSpec(
        name=name,
        where="stemcache.toml, prefixes.x",
        object=None if path else f"app.prompts:{target}",
        path=path,
        api=api,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app/prompts.py").write_text(CODE)
    return tmp_path


def built(folder: Path, *specs: PrefixSpec, timeout_s: float = 60) -> Built:
    """What they give."""
    return build(specs, folder=folder, sources=(".",), timeout_s=timeout_s)


def refused(folder: Path, *specs: PrefixSpec, timeout_s: float = 60) -> str:
    """What is said of a builder that fails."""
    with pytest.raises(UsageError) as told:
        built(folder, *specs, timeout_s=timeout_s)
    said = str(told.value)
    assert said.startswith("prefix 'x' from stemcache.toml, prefixes.x ")
    return said


def test_texts_and_bodies_and_what_makes_them(folder: Path) -> None:
    """Of a module, of a class, with talk of its own, or awaited; all in the same two processes."""
    (folder / "a.md").write_text("be kind")
    texts = [spec(one, name=one) for one in ("TEXT", "Prompts.text", "loud", "later")]
    bodies = [spec(one, name=one, api=Api.MESSAGES) for one in ("BODY", "Prompts.body")]
    found = built(folder, *texts, spec("", name="file", path="a.md"), *bodies)
    assert found.portions.keys() == {"file", *(one.name for one in (*texts, *bodies))}
    for name, portions in found.portions.items():
        assert [one.text for one in portions] == ["be kind"], name
    for one in bodies:
        assert [(p.name, p.role) for p in found.portions[one.name]] == [("system", "system")]
    assert found.unstable == {}


def test_it_has_to_be_said_for_which_api_a_body_is(folder: Path) -> None:
    """A dictionary is not taken for a guess."""
    said = refused(folder, spec("BODY"))
    assert "app.prompts:BODY is a dictionary, and nothing says for which API; add" in said


def test_files_are_read_to_the_byte(folder: Path) -> None:
    """As text, or as a body where an API is named."""
    (folder / "a.md").write_bytes("a\r\nbé".encode())
    assert built(folder, spec("", path="a.md")).portions["x"][0].text == "a\r\nbé"
    (folder / "b.json").write_text('{"system": "be kind", "messages": []}')
    found = built(folder, spec("", path="b.json", api=Api.MESSAGES))
    assert found.portions["x"][0].text == "be kind"
    assert "No such file or directory: " in refused(folder, spec("", path="none.md"))
    (folder / "c.md").write_bytes(b"\xff")
    assert "UnicodeDecodeError: 'utf-8' codec can't decode" in refused(
        folder, spec("", path="c.md")
    )
    (folder / "d.json").write_text("[")
    assert "JSONDecodeError" in refused(folder, spec("", path="d.json", api=Api.CHAT))
    (folder / "e.json").write_text("[]")
    assert "e.json is of type list; name" in refused(folder, spec("", path="e.json", api=Api.CHAT))
    os.mkfifo(folder / "pipe")
    for place in ("app", "pipe"):
        said = refused(folder, spec("", path=place))
        assert said.endswith(f"{place} is no file; name one that holds a text, or with `api` JSON")


def test_files_start_no_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's is run for them, so the time limit is no matter either."""
    monkeypatch.setattr("subprocess.Popen", None)
    (folder / "a.md").write_text("be kind")
    found = built(folder, spec("", path="a.md"), timeout_s=1e-9)
    assert [one.text for one in found.portions["x"]] == ["be kind"]
    assert found.unstable == {}


def test_a_builder_that_raises_is_told_by_its_last_line_and_place(folder: Path) -> None:
    """The line of the project, also where a library raised."""
    line = CODE.splitlines().index('    return deep["nothing"]') + 1
    assert refused(folder, spec("boom")).endswith(
        f"cannot be built: KeyError: 'nothing' at app/prompts.py:{line}"
    )
    line = CODE.splitlines().index('    return json.loads("{")') + 1
    said = refused(folder, spec("in_library"))
    assert "JSONDecodeError: Expecting property name" in said
    assert said.endswith(f" at app/prompts.py:{line}")


def test_what_a_builder_says_is_safe_to_print_and_short(folder: Path) -> None:
    """Whatever is in it."""
    said = refused(folder, spec("odd"))
    assert "\x1b" not in said
    assert len(said) < 500


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("exits", "cannot be built: SystemExit: 3 at app/prompts.py:"),
        ("kills", "with code 7; a builder has to return; it last said: last words"),
        ("floods", "with code 7; a builder has to return; it last said: the end"),
        ("needs", "TypeError: needs() missing 1 required positional argument: 'what'"),
        ("number", "app.prompts:number is of type int; name a Layout, a request body (a diction"),
        ("nothing", "AttributeError: module 'app.prompts' has no attribute 'nothing'"),
    ],
)
def test_every_way_to_fail_is_told(folder: Path, target: str, said: str) -> None:
    """By the builder that failed."""
    assert said in refused(folder, spec(target))


def test_modules_that_cannot_be_imported_are_told(folder: Path) -> None:
    """A missing one, and one that does not parse, with its line."""
    missing = PrefixSpec(name="x", where="stemcache.toml, prefixes.x", object="nowhere:x")
    assert "ModuleNotFoundError: No module named 'nowhere'" in refused(folder, missing)
    (folder / "app/prompts.py").write_text("a = 1\nb = = 2\n")
    assert refused(folder, spec("x")).endswith(" at app/prompts.py:2")


def test_a_builder_that_hangs_is_stopped_and_named(folder: Path) -> None:
    """With what it said last, soon after its time."""
    started = time.monotonic()
    said = refused(folder, spec("hangs"), timeout_s=1.5)
    assert time.monotonic() - started < 20
    assert (
        "was not built within 1.5 s; make its builder faster, or raise lock.timeout; it l" in said
    )
    assert said.endswith("asleep")


def test_what_builders_leave_behind_is_stopped(folder: Path) -> None:
    """Neither threads nor processes keep anybody waiting."""
    started = time.monotonic()
    found = built(folder, spec("orphans"))
    assert time.monotonic() - started < 20
    assert found.portions["x"][0].text == "be kind"
    orphan = int((folder / "orphan.pid").read_text())
    for _ in range(100):
        if not _runs(orphan):
            return
        time.sleep(0.05)
    raise AssertionError("it goes on")


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # nobody here reaps what lost its parent


def test_builders_that_give_another_text_are_found(folder: Path) -> None:
    """By the order of a set, by chance, by the clock; both texts are kept to be compared."""
    names = ("shuffled", "chance", "clock")
    found = built(folder, spec("TEXT", name="still"), *(spec(one, name=one) for one in names))
    assert found.unstable.keys() == set(names)
    for name in names:
        assert found.unstable[name] != found.portions[name]


def test_several_failures_are_counted(folder: Path) -> None:
    """And those before them do not hide them."""
    good = PrefixSpec(name="good", where="s", object="app.prompts:TEXT")
    other = PrefixSpec(name="y", where="s", object="app.prompts:number")
    file = PrefixSpec(name="z", where="s", path="none.md")
    said = refused(folder, good, spec("boom"), other)
    assert "KeyError: 'nothing'" in said
    assert said.endswith(" (1 more failed too)")
    with pytest.raises(UsageError, match=r"prefix 'z' from s .*none.md.* \(1 more failed too\)$"):
        built(folder, spec("boom"), good, file)


def test_sources_are_folders_to_import_from(tmp_path: Path) -> None:
    """Before all others."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/json_prompts.py").write_text("TEXT = 'of lib'")
    one = PrefixSpec(name="x", where="s", object="json_prompts:TEXT")
    found = build([one], folder=tmp_path, sources=("lib",), timeout_s=60)
    assert found.portions["x"][0].text == "of lib"


def test_the_users_environment_is_the_builders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the seed, and no bytecode is left in the project."""
    (folder / "app/prompts.py").write_text("import os\ndef x(): return os.environ['MINE']")
    monkeypatch.setenv("MINE", "yes")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    assert built(folder, spec("x")).portions["x"][0].text == "yes"
    assert not (folder / "app/__pycache__").exists()
    assert os.environ["PYTHONHASHSEED"] == "1"
