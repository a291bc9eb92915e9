from datetime import UTC, datetime
from pathlib import Path

import pytest

from stemcache.cli.lint_options import Wishes
from stemcache.lint.fail_on import Threshold
from stemcache.lint.options import Options
from tests.cli.lint_runs import lint, pretend
from tests.lint.reports import CLEAN

SETTINGS = """
provider = "openai"
select = ["stm1"]
ignore = ["tool-order"]
warning-share = 0.2
overlap = 0.5
subscription = true
fail-on = ["hit_rate<0.1"]
fail-on-cost = 7
format = "bodies"
map = {request = "/from/file"}
aliases = {mine = "gpt-5.6"}

[routes.bot]
ignore = ["stm101"]
"""


def asked(patch: pytest.MonkeyPatch, *arguments: str) -> tuple[Options, Wishes]:
    """What an analysis is asked with these arguments."""
    remembered = pretend(patch, CLEAN)
    run = lint("calls.jsonl", *arguments)
    assert run.code == 0, run.err
    return remembered.options[0], remembered.wishes[0]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file in the current directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "stemcache.toml"
    path.write_text(SETTINGS)
    return path


def test_without_flags_and_settings_there_are_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Today is the day of the run."""
    (tmp_path / "stemcache.toml").touch()  # the nearest, so that none above it is read
    monkeypatch.chdir(tmp_path)
    before = datetime.now(UTC).date()
    options, wishes = asked(monkeypatch)
    assert before <= options.today <= datetime.now(UTC).date()
    assert options == Options(today=options.today)
    assert wishes.thresholds == ()
    assert wishes.mapping == {}


@pytest.mark.usefixtures("settings")
def test_settings_are_taken_where_no_flag_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are named as they are."""
    options, wishes = asked(monkeypatch)
    assert options == Options(
        today=options.today,
        provider="openai",
        aliases={"mine": "gpt-5.6"},
        select=("STM1",),
        ignore=("tool-order",),
        route_ignores={"bot": ("STM101",)},
        warning_share=0.2,
        overlap=0.5,
        subscription=True,
    )
    assert wishes.format == "bodies"
    assert wishes.mapping == {"request": "/from/file"}
    assert wishes.thresholds == (
        Threshold("hit_rate<0.1", "hit_rate", "<", 0.1),
        Threshold("lost_cost_usd>7", "lost_cost_usd", ">", 7.0),
    )


@pytest.mark.usefixtures("settings")
def test_a_flag_wins_over_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes its place, also where the setting is a list."""
    options, wishes = asked(
        monkeypatch,
        *("--provider", "anthropic", "--select", "STM2,STM3", "--select", "ALL"),
        *("--ignore", "STM301", "--warning-share", "0"),
        *("--map", "request=/a,b,time=/t", "--map", "usage=/b", "--fail-on", "calls<1"),
        *("--fail-on-cost", "0", "--bill", "$1,234.5"),
    )
    assert (options.provider, options.warning_share) == ("anthropic", 0.0)
    assert options.select == ("STM2", "STM3", "ALL")
    assert options.ignore == ("STM301",)
    assert options.bill_usd == 1234.5
    assert wishes.format is None
    assert wishes.mapping == {"request": "/a,b", "time": "/t", "usage": "/b"}
    assert [threshold.text for threshold in wishes.thresholds] == ["calls<1", "lost_cost_usd>0"]
    _, wishes = asked(monkeypatch, "--format", "har")
    assert (wishes.format, wishes.mapping) == ("har", {})


def test_another_file_or_none_can_be_named(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --config and --isolated."""
    other = settings.with_name("other.toml")
    other.write_text('provider = "vllm"')
    assert asked(monkeypatch, "--config", "other.toml")[0].provider == "vllm"
    assert asked(monkeypatch, "--isolated")[0].provider is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('select = ["STM9"]', "unknown rule 'STM9' from {file}, select"),
        ('fail-on = ["x<1"]', "unknown figure 'x' from {file}, fail-on"),
        ('routes.bot.ignore = ["x"]', "unknown rule 'x' from {file}, routes"),
        ("selekt = 1", "unknown setting 'selekt' from {file}, selekt; did you mean 'select'?"),
        ('baseline = "b.json"', "b.json from {file}, baseline; make it with --write-baseline"),
    ],
)
def test_what_a_settings_file_says_wrong_is_told_with_its_name(
    text: str, message: str, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is read."""
    pretend(monkeypatch, CLEAN)
    settings.write_text(text)
    run = lint("calls.jsonl")
    assert run.code == 2
    assert message.format(file=settings) in run.err
    assert str(settings) in run.err


def test_prices_and_rules_of_the_user_reach_the_analysis(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the form in which the shipped ones are."""
    settings.write_text("[prices.openai.mine]\ninput = 1.0\n[rules.vllm]\nunit = 32\n")
    options, _ = asked(monkeypatch)
    assert options.overrides == {
        "price": {"openai": {"mine": {"input": 1.0}}},
        "rule": [{"unit": 32, "name": "vllm"}],
    }
