import json

from click.testing import CliRunner, Result

from stemcache.cli.main import stemcache
from stemcache.errors import UsageError
from stemcache.lint.catalogue import rules


def rule(*arguments: str) -> Result:
    """`stemcache rule` with these arguments."""
    return CliRunner().invoke(stemcache, ["rule", *arguments])


def test_all_rules_are_listed() -> None:
    """A line each: code, name, what it finds."""
    lines = rule().stdout.splitlines()
    assert len(lines) == len(rules())
    for line, known in zip(lines, rules(), strict=True):
        assert line.split()[:2] == [known.code, known.name]
        assert line.endswith(known.summary)


def test_a_rules_page_is_shown() -> None:
    """By code or by name, under both."""
    shown = rule("stm101").stdout
    assert shown.startswith("STM101 clock-in-prefix\n\n")
    assert "What it finds" in shown
    assert rule("clock-in-prefix").stdout == shown


def test_rules_come_as_json() -> None:
    """One, or all of them in a list."""
    told = json.loads(rule("--output-format", "json").stdout)
    assert [each["code"] for each in told] == [known.code for known in rules()]
    one = json.loads(rule("tool-order", "--output-format", "json").stdout)
    assert one == next(each for each in told if each["code"] == "STM201")
    assert set(one) == {
        "code",
        "name",
        "kind",
        "summary",
        "help",
        "worst",
        "needs",
        "page",
    }
    assert set(one["needs"]) <= {"bodies", "usage", "times", "key order", "parameters"}


def test_a_rule_that_there_is_not_is_refused() -> None:
    """With the nearest."""
    result = rule("STM1O1")
    assert isinstance(result.exception, UsageError)
    assert "unknown rule 'STM1O1' from the command line; did you mean 'STM101'?" in str(
        result.exception
    )
