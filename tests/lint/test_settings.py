import os
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.lint.settings import Settings, find_settings, read_settings

EVERYTHING = """
provider = "anthropic"
select = ["STM1", "tool-order"]
ignore = "STM104"
warning-share = 0.05
overlap = 0
subscription = true
fail-on = ["hit_rate<0.8"]
fail-on-cost = 5
baseline = "lint/baseline.json"
format = "bodies"

[map]
request = "/payload/body"

[aliases]
my-model = "claude-opus-5"

[prices.anthropic.claude-opus-5]
input = 4.0

[rules.anthropic]
minimum = 512

[routes."support-bot"]
ignore = ["STM101"]

[prefixes]
support = "app.prompts:support"

[lock]
live = 40
"""


def write(path: Path, text: str) -> Path:
    """A file of that text, with its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_is_read(tmp_path: Path) -> None:
    """A baseline's path is relative to the file."""
    path = write(tmp_path / "stemcache.toml", EVERYTHING)
    assert read_settings(path) == Settings(
        source=str(path),
        provider="anthropic",
        aliases={"my-model": "claude-opus-5"},
        prices={"anthropic": {"claude-opus-5": {"input": 4.0}}},
        rules={"anthropic": {"minimum": 512}},
        select=("STM1", "tool-order"),
        ignore=("STM104",),
        route_ignores={"support-bot": ("STM101",)},
        warning_share=0.05,
        overlap=0.0,
        subscription=True,
        fail_on=("hit_rate<0.8",),
        fail_on_cost_usd=5.0,
        baseline=tmp_path / "lint/baseline.json",
        format="bodies",
        map={"request": "/payload/body"},
        folder=tmp_path,
        prefixes={"support": "app.prompts:support"},
        lock={"live": 40},
    )


def test_prices_and_rules_have_the_form_of_the_shipped_files(tmp_path: Path) -> None:
    """A rule's name goes inside."""
    settings = read_settings(write(tmp_path / "stemcache.toml", EVERYTHING))
    assert settings.overrides == {
        "price": {"anthropic": {"claude-opus-5": {"input": 4.0}}},
        "rule": [{"minimum": 512, "name": "anthropic"}],
    }
    assert Settings().overrides == {}


def test_the_nearest_file_upward_is_read_alone(tmp_path: Path) -> None:
    """A pyproject.toml without the table is passed over."""
    write(tmp_path / "stemcache.toml", 'provider = "far"\nselect = ["STM1"]')
    write(tmp_path / "a/pyproject.toml", '[tool.stemcache]\nprovider = "near"')
    write(tmp_path / "a/b/pyproject.toml", "[tool.ruff]\nline-length = 100")
    (tmp_path / "a/b/c").mkdir()
    found = find_settings(tmp_path / "a/b/c")
    assert (found.provider, found.select) == ("near", ())
    assert found.source == str(tmp_path / "a/pyproject.toml")
    assert find_settings(tmp_path).provider == "far"


def test_its_own_file_wins_in_a_directory(tmp_path: Path) -> None:
    """Over the one that is shared."""
    write(tmp_path / "pyproject.toml", '[tool.stemcache]\nprovider = "shared"')
    write(tmp_path / "stemcache.toml", 'provider = "own"')
    assert find_settings(tmp_path).provider == "own"


def test_without_a_file_there_are_no_settings(tmp_path: Path) -> None:
    """An empty file says nothing either."""
    assert find_settings(Path("relative/never/there")) == Settings()
    path = write(tmp_path / "stemcache.toml", "")
    assert read_settings(path) == Settings(source=str(path), folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'ingore = ["STM1"]',
            "unknown setting 'ingore' from {file}, ingore; did you mean 'ignore'? (aliases, ",
        ),
        (
            "[routes.bot]\nselect = []",
            "unknown setting 'select' from {file}, routes.bot.select; (ignore)",
        ),
        ('"\\u001b[2J" = 1', "unknown setting '\\\\x1b[2J' from {file}, \\x1b[2J;"),
        ("provider = 7", "provider in {file} is 7; make it a string"),
        ('provider = ""', "provider in {file} is the string ''; make it a string that is not"),
        ("select = [1]", "select in {file} is a list that holds something else; make it a list of"),
        ("select = {a = 1}", "select in {file} is a table; make it a list of strings"),
        ('ignore = [""]', "ignore in {file} is a list that holds something else"),
        ("warning-share = 2", "warning-share in {file} is 2; make it a number from 0 to 1"),
        ("warning-share = nan", "warning-share in {file} is nan; make it a number from 0 to 1"),
        ("warning-share = true", "warning-share in {file} is true; make it a number from 0 to 1"),
        ("overlap = -0.1", "overlap in {file} is -0.1; make it a number from 0 to 1"),
        ("fail-on-cost = inf", "fail-on-cost in {file} is inf; make it a number from 0"),
        ('fail-on-cost = "5"', "fail-on-cost in {file} is the string '5'; make it a number from 0"),
        (
            "fail-on-cost = 1" + "0" * 4000,
            "fail-on-cost in {file} is a very large number; make it a number from 0",
        ),
        ("fail-on-cost = 1" + "0" * 5000, "{file} is not TOML: Exceeds the limit"),
        ("subscription = 1", "subscription in {file} is 1; make it true or false"),
        ("provider = 2026-11-30", "provider in {file} is a date; make it a string"),
        ('aliases = "x"', "aliases in {file} is the string 'x'; make it a table of strings"),
        ("aliases = {a = 1}", "aliases.a in {file} is 1; make it a string"),
        ("map = {request = []}", "map.request in {file} is an empty list; make it a string"),
        ("prices = []", "prices in {file} is an empty list; make it a table"),
        ("rules = {a = 1}", "rules.a in {file} is 1; make it a table"),
        ("routes = {bot = 1}", "routes.bot in {file} is 1; make it a table"),
        ("provider", "{file} is not TOML: "),
        ("a = " + "[" * 100_000, "{file} nests too deeply; settings are flat"),
    ],
)
def test_what_is_no_setting_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """With file, key and the nearest one that there is."""
    path = write(tmp_path / "stemcache.toml", text)
    with pytest.raises(UsageError) as error:
        read_settings(path)
    assert message.format(file=path) in str(error.value)


def test_keys_of_the_shared_file_are_told_as_they_stand_there(tmp_path: Path) -> None:
    """With the table before them."""
    path = write(tmp_path / "pyproject.toml", "[tool.stemcache]\nselekt = 1")
    with pytest.raises(UsageError, match=r"tool\.stemcache\.selekt; did you mean 'select'"):
        find_settings(tmp_path)
    write(path, "[tool]\nstemcache = 3")
    with pytest.raises(UsageError) as error:
        find_settings(tmp_path)
    assert str(error.value) == f"tool.stemcache in {path} is 3; make it a table"


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """A shared file without the table is no settings file if it is named."""
    with pytest.raises(UsageError, match=r"no file .*none\.toml from --config; check the path"):
        read_settings(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="Is a directory; check the path, or name another file"):
        read_settings(tmp_path)
    path = write(tmp_path / "pyproject.toml", "[project]")
    with pytest.raises(UsageError, match=r"has no table \[tool.stemcache\]; add it"):
        read_settings(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(UsageError, match="is not UTF-8; save it as UTF-8"):
        find_settings(tmp_path)
    os.truncate(path, 2**22 + 1)
    with pytest.raises(UsageError, match="is larger than 4,194,304 bytes; settings are smaller"):
        find_settings(tmp_path)
