import re
from string import Formatter

import pytest

from stemcache.lint.catalogue import rules
from stemcache.lint.finding import Severity
from stemcache.lint.rule import LintRule

_SECTIONS = [
    "What it finds",
    "Why it costs",
    "Example",
    "Use instead",
    "Limits",
    "References",
]
_FIELDS = {
    "added",
    "advice",
    "gap",
    "look_back",
    "messages",
    "minimum",
    "missing",
    "most_markers",
    "parameter",
    "pointer",
    "rule",
    "section",
    "ttl",
    "what",
    "where",
}
_TABLE = """
STM101 clock-in-prefix clock
STM102 injected-id injected-id
STM103 environment-snapshot environment
STM104 varying-context varying-context
STM105 whitespace-change whitespace
STM106 edited-prompt prompt-edited
STM201 tool-order tool-order
STM202 tool-set tool-set
STM203 tool-definition tool-changed
STM204 key-order key-order
STM205 argument-order argument-order
STM301 history-truncated history-truncated
STM302 history-edited history-edited
STM303 history-compacted compaction
STM304 thinking-dropped thinking-dropped
STM305 image-changed image-changed
STM306 transient-suffix transient-suffix
STM307 resumed-session resume
STM401 look-back look-back
STM402 marker-placement marker-placement
STM403 no-marker no-marker
STM404 too-many-markers too-many-markers
STM405 ttl-order ttl-order
STM406 below-minimum below-minimum
STM407 marker-dropped marker-dropped
STM408 unread-write unread-write
STM409 extended-message extended-message
STM410 frozen-markers frozen-markers
STM501 parameter parameter
STM601 expired expired
STM602 raced raced
STM603 routed routed
STM701 accounting accounting
STM702 unexplained unexplained
STM703 unseen-traffic unseen-traffic
"""


def test_codes_names_and_kinds_are_those_of_the_design() -> None:
    """No rule is missing, none is there twice, none is called otherwise."""
    assert [f"{rule.code} {rule.name} {rule.kind}" for rule in rules()] == _TABLE.split("\n")[1:-1]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_page_has_all_sections_in_order_and_none_is_empty(rule: LintRule) -> None:
    """What it finds, why it costs, an example, what to use instead, limits, references."""
    parts = re.split(r"^## (.+)$", rule.page, flags=re.MULTILINE)
    assert parts[1::2] == _SECTIONS
    assert all(part.strip() for part in parts)
    assert parts[0].strip().endswith(".")


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_page_ends_its_fences_and_refers_to_threads_by_repository_and_number(
    rule: LintRule,
) -> None:
    """Fences pair up; each reference names a thread or a document."""
    assert rule.page.count("```") % 2 == 0
    references = rule.page.split("## References")[1].strip().split("\n- ")
    for reference in references:
        assert re.search(r"[\w.-]+/[\w.-]+#\d+|\*[A-Z][^*]+\*", reference), reference


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_help_is_a_sentence_whose_fields_are_ones_that_findings_fill(rule: LintRule) -> None:
    """A field that nobody fills would show as its name."""
    fields = {name for _, name, _, _ in Formatter().parse(rule.help) if name is not None}
    assert fields <= _FIELDS
    assert rule.help.endswith(".") and len(rule.help) >= 80
    assert rule.summary.endswith(".") and len(rule.summary) <= 100


def test_only_what_an_api_refuses_is_an_error() -> None:
    """Too many markers and the order of times to live end in a 400; all else costs money."""
    errors = [rule.name for rule in rules() if rule.worst is Severity.ERROR]
    notes = [rule.name for rule in rules() if rule.worst is Severity.NOTE]
    assert errors == ["too-many-markers", "ttl-order"]
    assert notes == ["accounting", "unseen-traffic"]


def test_rules_about_order_of_keys_stay_silent_where_a_log_does_not_keep_it() -> None:
    """The two that compare order say so, and no other."""
    silent = [rule.name for rule in rules() if rule.needs_key_order]
    assert silent == ["key-order", "argument-order"]
