import json
import re

from click.testing import CliRunner, Result

from stemcache.cli.main import stemcache
from stemcache.errors import UsageError
from stemcache.lint.catalogue import rules


def rule(*arguments: str, terminal: bool = False) -> Result:
    """`stemcache rule` with these arguments."""
    env = {"FORCE_COLOR": "1" if terminal else None, "TERM": "xterm-256color", "COLUMNS": "80"}
    return CliRunner().invoke(stemcache, ["rule", *arguments], env=env)


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


def test_a_page_is_set_on_a_terminal() -> None:
    """Headings and code without their marks, on lines that fit."""
    lines = rule("tool-order", terminal=True).stdout.splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in lines]
    assert plain[0] == "STM201 tool-order"
    assert "What it finds" in map(str.strip, plain)
    assert not [line for line in plain if line.startswith(("#", "```")) or len(line) > 80]


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
