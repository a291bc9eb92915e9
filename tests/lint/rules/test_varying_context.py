"""An edit that turns out to be one of several texts that come and go."""

from stemcache.lint.helped import helped
from stemcache.lint.rules import edited_prompt, varying_context
from stemcache.wire.section import Section
from tests.lint.changes import edited, pair_of, span


def test_edits_that_alternate_are_varying_context() -> None:
    """Place, shapes and group stay; code, message and help are those of the other rule."""
    old = span("You are assisting Ada (customer).", section=Section.SYSTEM, role="system")
    new = span("You are assisting Bob (customer).", section=Section.SYSTEM, role="system")
    change = edited(old, new, old_text="Ada", new_text="Bob", char=18)
    before = edited_prompt.explains(change, pair_of([old], [new], change))
    assert before is not None
    after = varying_context.alternating_cause(before)
    assert (after.rule.code, after.kind) == ("STM104", "varying-context")
    assert (after.pointer, after.char, after.group) == ("/system/0/text", 18, before.group)
    assert (after.old, after.new, after.new_text) == (before.old, before.new, "Bob")
    assert after.message == "different texts alternate in the system prompt"
    assert "Move the text in the system prompt behind the shared part" in helped(after)
    assert "release" not in helped(after)
