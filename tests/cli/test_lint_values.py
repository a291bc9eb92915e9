import click
import pytest
from click.shell_completion import ShellComplete

from stemcache.cli.lint_values import LOG_FORMATS, complete_rules, field_pointers
from stemcache.cli.main import stemcache
from stemcache.trace.calls.detect import CALL_FORMATS


def test_formats_are_those_that_can_be_read() -> None:
    """In the same order."""
    assert tuple(CALL_FORMATS) == LOG_FORMATS


def test_rules_are_completed_behind_commas() -> None:
    """By code and by name, with what they find."""
    context = click.Context(click.Command("lint"))
    parameter = click.Option(["--select"])
    found = complete_rules(context, parameter, "STM101,tool-o")
    assert [item.value for item in found] == ["STM101,tool-order"]
    assert [item.help for item in found] == ["The same tools in another order."]
    codes = [item.value for item in complete_rules(context, parameter, "stm2")]
    assert codes == sorted(codes)
    assert "STM201" in codes


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("stemcache lint --output-format sa", "sarif"),
        ("stemcache lint --fail-on hit_", "hit_rate"),
        ("stemcache lint --ignore clock", "clock-in-prefix"),
        ("stemcache lint --format clau", "claude-code"),
        ("stemcache rule STM10", "STM101"),
        ("stemcache li", "lint"),
    ],
)
def test_a_shell_completes_it(words: str, completed: str) -> None:
    """From what was typed so far."""
    *before, begun = words.split()
    found = ShellComplete(stemcache, {}, "stemcache", "_X").get_completions(before[1:], begun)
    assert completed in [item.value for item in found]


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ([], {}),
        (["request=/a", "usage=/b/c"], {"request": "/a", "usage": "/b/c"}),
        (["request=/a,usage=/b,c,time="], {"request": "/a", "usage": "/b,c", "time": ""}),
    ],
)
def test_fields_have_pointers(given: list[str], pointers: dict[str, str]) -> None:
    """Several flags, or one with commas; an empty pointer is the whole line."""
    assert field_pointers(given) == pointers
