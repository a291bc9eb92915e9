"""What settings may say of prefixes, and what is said of what they may not."""

from pathlib import Path

import pytest

from stemcache.cli.prefix_settings import PrefixSpec, Project, chosen, project_of
from stemcache.errors import UsageError
from stemcache.lint.settings import Settings, find_settings, read_settings
from stemcache.wire.api import Api


def project(folder: Path, text: str) -> Project:
    """What a settings file says."""
    path = folder / "stemcache.toml"
    path.write_text(text)
    return project_of(read_settings(path))


def test_every_key_is_read(tmp_path: Path) -> None:
    """A text alone is an object."""
    found = project(
        tmp_path,
        """
        [prefixes]
        support = "app.prompts:Prompts.support"
        triage = { path = "triage.md", version = "3" }
        agent = { object = "app:body", api = "messages", live = 40, models = ["openai/gpt-4.1"] }
        [lock]
        file = "locks/prompts.lock"
        models = ["anthropic/claude-opus-4-5"]
        live = 7
        timeout = 5
        source = ["lib"]
        """,
    )
    where = "stemcache.toml, prefixes."
    assert found == Project(
        folder=tmp_path,
        prefixes=(
            PrefixSpec(
                name="agent",
                where=f"{where}agent",
                object="app:body",
                api=Api.MESSAGES,
                live=40,
                models=("openai/gpt-4.1",),
            ),
            PrefixSpec(
                name="support", where=f"{where}support", object="app.prompts:Prompts.support"
            ),
            PrefixSpec(name="triage", where=f"{where}triage", path="triage.md", version="3"),
        ),
        lock=tmp_path / "locks/prompts.lock",
        sources=("lib",),
        models=("anthropic/claude-opus-4-5",),
        live=7,
        timeout_s=5.0,
    )


def test_defaults_are_those_of_the_page(tmp_path: Path) -> None:
    """The lock stands beside the settings; modules are looked for here and in src."""
    found = project(tmp_path, '[prefixes]\nx = "a:b"')
    assert (found.lock, found.sources) == (tmp_path / "stemcache.lock", (".", "src"))
    assert (found.live, found.timeout_s, found.models) == (None, 60.0, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 3", "prefixes.x is neither a text nor a table; write it like [prefixes] support ="),
        ('x = "app.prompts"', "is 'app.prompts', which is no module:attribute; write it like"),
        ('x = "app/prompts.py:x"', "is no module:attribute"),
        ('x = "a:b()"', "is no module:attribute"),
        ("x = {}", "prefixes.x has neither `object` nor `path`; give one of them"),
        ('x = { object = "a:b", path = "c" }', "prefixes.x has both `object` and `path`; give one"),
        ('x = { pth = "c" }', "unknown setting 'pth' from stemcache.toml, prefixes.x.pth"),
        (
            'x = { path = "c", api = "chats" }',
            "unknown api 'chats' from stemcache.toml, prefixes.x",
        ),
        ('x = { path = "c", version = 3 }', "prefixes.x.version in stemcache.toml is 3; make it a"),
        (
            'x = { path = "c", version = "a\\nb" }',
            "the version 'a\\nb' cannot be written on a line",
        ),
        (
            'x = { path = "c", live = 1.5 }',
            "live in stemcache.toml, prefixes.x is 1.5; give a whole",
        ),
        ('x = { path = "c", live = -1 }', "prefixes.x.live in stemcache.toml is -1; make it"),
        ('x = { path = "c", models = 3 }', "prefixes.x.models in stemcache.toml is 3; make it a"),
        ('"a b" = "a:b"', "stemcache.toml: 'a b' is no name of a prefix; use 1 to 64 letters"),
        ('x = "a:b"\n[lock]\nfiel = "x"', "unknown setting 'fiel' from stemcache.toml, lock.fiel"),
        ('x = "a:b"\n[lock]\ntimeout = 0', "lock.timeout in stemcache.toml is 0; give seconds"),
        ('x = "a:b"\n[lock]\ntimeout = 1e6', "lock.timeout in stemcache.toml is 1e+06; make it"),
        ("", "names no prefix; add a table such as [prefixes] support ="),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, text: str, said: str) -> None:
    """With the key and what to write."""
    with pytest.raises(UsageError) as told:
        project(tmp_path, f"[prefixes]\n{text}")
    assert said in str(told.value)


def test_the_example_is_one_for_the_file_that_there_is(tmp_path: Path) -> None:
    """Tables of pyproject.toml stand under tool.stemcache."""
    (tmp_path / "pyproject.toml").write_text("[tool.stemcache.prefixes]\nx = 3\n")
    with pytest.raises(UsageError, match=r"write it like \[tool\.stemcache\.prefixes\] support ="):
        project_of(find_settings(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.stemcache]\n")
    with pytest.raises(UsageError, match=r"such as \[tool\.stemcache\.prefixes\] support ="):
        project_of(find_settings(tmp_path))


def test_without_a_file_it_says_where_to_write_one() -> None:
    """And what."""
    with pytest.raises(
        UsageError, match=r"no stemcache.toml and no pyproject.toml .* name the pref"
    ):
        project_of(Settings())


def test_prefixes_are_chosen_by_name(tmp_path: Path) -> None:
    """All without one; a name that there is not has a near one."""
    found = project(tmp_path, '[prefixes]\nsupport = "a:b"\ntriage = "a:c"')
    assert [one.name for one in chosen(found, ())] == ["support", "triage"]
    assert [one.name for one in chosen(found, ("triage", "triage"))] == ["triage"]
    with pytest.raises(UsageError, match="unknown prefix 'suport' from the command line; did you"):
        chosen(found, ("suport",))
