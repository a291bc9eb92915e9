from stemcache.lint.catalogue import find, rules
from stemcache.lint.cause import Cause
from stemcache.lint.helped import helped


def test_fields_of_a_cause_stand_in_its_help() -> None:
    """A parameter is called by its name."""
    rule = find("STM501")
    fields = (("parameter", "effort"), ("section", "messages"), ("rule", "anthropic"))
    cause = Cause(rule=rule, kind="parameter:effort", message="", pointer="/e", fields=fields)
    assert "effort" in helped(cause)
    assert "{" not in helped(cause)


def test_help_of_every_rule_reads_without_fields() -> None:
    """A field that nobody filled is said by its name, never as braces."""
    for rule in rules():
        text = helped(Cause(rule=rule, kind=rule.kind, message="", pointer="/x"))
        assert text
        assert "{" not in text
