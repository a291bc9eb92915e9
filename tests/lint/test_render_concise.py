from dataclasses import replace

from stemcache.lint.finding import Location
from stemcache.lint.render_concise import place, render, weight
from tests.lint.reports import CLEAN, CLOCK, SIMPLE, finding


def test_a_finding_is_one_line() -> None:
    """File and line first, so that an editor can jump there."""
    assert list(render(SIMPLE)) == [
        (
            "calls.jsonl:2: STM101 clock-in-prefix /system/0/text:31 a time with seconds stands at "
            "character 31 (1,999 requests, 200M tokens, $540.12)"
        )
    ]
    assert list(render(CLEAN)) == []


def test_what_is_not_known_is_left_out() -> None:
    """A place without a pointer, a cost without a price."""
    assert list(render(replace(SIMPLE, findings=(finding(),)))) == [
        "calls.jsonl:1: STM405 ttl-order a marker of 1h stands behind one of 5m (1 request)"
    ]
    assert list(weight(finding(lost_tokens=1, cost_usd=0.0))) == ["1 request", "1 token"]


def test_a_name_with_ends_of_lines_stays_on_its_line() -> None:
    """In every field that a log decides."""
    evil = "a\nb\r\x1b[0m\u2028c"
    found = finding(location=Location(evil, 1, f"/{evil}", 3), message=evil)
    (line,) = render(replace(SIMPLE, findings=(found,)))
    assert line.count(r"a\nb\r\x1b[0m\u2028c") == 3
    assert line.isprintable()


def test_a_character_stands_behind_the_pointer() -> None:
    """Character 0 as well; the whole body has an empty pointer."""
    assert place(CLOCK.location) == "/system/0/text:31"
    assert place(Location("a", 1, "/prompt", 0)) == "/prompt:0"
    assert place(Location("a", 1, "", 0)) == ":0"
    assert place(Location("a", 1)) == ""
