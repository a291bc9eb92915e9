"""Parameters that key a cache: read from a body, compared, and where they begin to count."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.keys import KeyChange, KeyValue, changed_keys, key_values, section_start
from stemcache.provider.rule import Key, Range, Rule
from stemcache.trace.calls.call import Fidelity
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, chat, kinds, lint

MODEL = Key(("/model", "/modelId"), "model", Section.TOOLS)
CHOICE = Key(
    ("/tool_choice",), "tool_choice", Section.MESSAGES, ({"type": "auto"}, "auto", {"type": 1})
)
EFFORT = Key(("/reasoning/effort", "/reasoning_effort"), "effort", Section.SYSTEM, ("medium",))
RULE = Rule(
    name="test",
    provider="test",
    kind="units",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(0, 0, 0, ()),
    keys=(MODEL, CHOICE, EFFORT),
    write_factor={},
    read_factor=0.1,
)


def _prompt(**parts: Any) -> Prompt:
    body = {
        "tools": [{"name": "find", "input_schema": {}}],
        "system": [{"type": "text", "text": "You help."}],
        "messages": [{"role": "user", "content": "hi"}],
        **parts,
    }
    return prompt_of(body, Api.MESSAGES)


def _of(name: str, prompt: Prompt, model: str | None = None, *, ordered: bool = True) -> KeyValue:
    values = key_values(RULE, prompt, model, ordered=ordered)
    return next(value for value in values if value.key.name == name)


def test_values_come_in_the_rule_s_order() -> None:
    """One a key, whether it is there or not."""
    values = key_values(RULE, _prompt(), None)
    assert [value.key.name for value in values] == ["model", "tool_choice", "effort"]
    assert [value.spelt for value in values] == [b"", b"", b""]


def test_value_is_spelt_as_compact_json() -> None:
    """White space of the log's JSON is no value."""
    value = _of("tool_choice", _prompt(tool_choice={"type": "tool", "name": "find"}))
    assert value.spelt == b'{"type":"tool","name":"find"}'
    assert value.pointer == "/tool_choice"


def test_first_pointer_that_holds_something_counts() -> None:
    """A parameter may stand in several places; where it is absent the first is named."""
    assert _of("effort", _prompt()).pointer == "/reasoning/effort"
    low = _of("effort", _prompt(reasoning_effort="low"))
    assert (low.pointer, low.spelt) == ("/reasoning_effort", b'"low"')
    both = _of("effort", _prompt(reasoning={"effort": "high"}, reasoning_effort="low"))
    assert (both.pointer, both.spelt) == ("/reasoning/effort", b'"high"')


def test_null_is_absent() -> None:
    """Client libraries write null for what was not given."""
    assert _of("tool_choice", _prompt(tool_choice=None)).spelt == b""
    null_first = _prompt(reasoning={"effort": None}, reasoning_effort="low")
    assert _of("effort", null_first).spelt == b'"low"'


@pytest.mark.parametrize("value", [{"type": "auto"}, "auto"])
def test_value_that_says_what_absence_says(value: object) -> None:
    """A default that is written out is no change, and salts no chain."""
    written, absent = _of("tool_choice", _prompt(tool_choice=value)), _of("tool_choice", _prompt())
    assert written.spelt == b""
    assert written.salt == absent.salt


def test_default_of_one_key_is_none_of_another() -> None:
    """`medium` is a default effort, and no default choice of tools."""
    prompt = _prompt(tool_choice="medium", reasoning={"effort": "medium"})
    assert _of("tool_choice", prompt).spelt == b'"medium"'
    assert _of("effort", prompt).spelt == b""


def test_model_is_the_call_s() -> None:
    """The log may name it outside of the body; the body's own is taken where it does not."""
    prompt = _prompt(model="in-the-body")
    assert _of("model", prompt, "of-the-call").spelt == b'"of-the-call"'
    assert _of("model", prompt).spelt == b'"in-the-body"'
    assert _of("model", _prompt()).spelt == b""


@pytest.mark.parametrize(
    "value",
    ["\ud800", {"\ud800": 1}, 10**400, -(10**25), float("nan"), float("inf"), [], {}, False, 0],
)
def test_values_that_are_hardly_json_are_values(value: object) -> None:
    """Whatever a decoder let pass is told from absence, and never an error."""
    found = _of("tool_choice", _prompt(tool_choice=value))
    assert found.spelt != b""
    assert found.salt != _of("tool_choice", _prompt()).salt


def test_half_a_surrogate_pair_in_the_model_s_name() -> None:
    """A name that cannot be encoded is a name."""
    assert _of("model", _prompt(), "gpt-\ud800").spelt != _of("model", _prompt(), "gpt-").spelt
    body = {**anthropic(4), "model": "claude-\ud800"}
    assert lint([anthropic(3), body]).total.calls == 2


def test_value_that_nests_too_deep_is_there() -> None:
    """What cannot be spelt is told from absence, and from nothing else."""
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    prompt = _prompt()
    deeper = Prompt(prompt.api, prompt.spans, prompt.order, {"/tool_choice": deep})
    assert _of("tool_choice", deeper).spelt == b"null"


def test_order_of_an_object_s_keys_counts_where_it_was_kept() -> None:
    """A schema of another order may be rendered in another order; a store that sorts says none."""
    one = _prompt(tool_choice={"type": "tool", "name": "find"})
    other = _prompt(tool_choice={"name": "find", "type": "tool"})
    assert _of("tool_choice", one).spelt != _of("tool_choice", other).spelt
    unordered = [_of("tool_choice", prompt, ordered=False).spelt for prompt in (one, other)]
    assert unordered == [b'{"name":"find","type":"tool"}'] * 2


def test_log_without_key_order_has_no_change_of_keys_in_parameters() -> None:
    """A store that keeps no order is not said to have changed a parameter."""
    bodies = [anthropic(3), anthropic(4)]
    bodies[0]["tool_choice"] = {"type": "tool", "name": "tool_0"}
    bodies[1]["tool_choice"] = {"name": "tool_0", "type": "tool"}
    calls = [call(body, line, fidelity=Fidelity.UNORDERED) for line, body in enumerate(bodies)]
    assert kinds(lint(calls)) == []


def test_salts_differ_by_name_and_by_value() -> None:
    """The same word as another parameter is another salt, and so is another word."""
    prompt = _prompt(tool_choice="low", reasoning={"effort": "low"})
    other = _prompt(tool_choice="lower")
    salts = {
        _of("tool_choice", prompt).salt,
        _of("effort", prompt).salt,
        _of("tool_choice", other).salt,
    }
    assert len(salts) == 3
    assert all(0 <= salt < 2**64 for salt in salts)


def test_section_starts_at_its_first_span() -> None:
    """The tool stands at 0, the system prompt at 1, the message at 2."""
    prompt = _prompt()
    assert section_start(prompt, MODEL) == 0
    assert section_start(prompt, EFFORT) == 1
    assert section_start(prompt, CHOICE) == 2


def test_section_that_is_absent_starts_where_the_next_one_does() -> None:
    """Without a system prompt what it would key begins with the messages."""
    prompt = prompt_of({"messages": [{"role": "user", "content": "hi"}], "tools": []}, Api.MESSAGES)
    assert section_start(prompt, EFFORT) == 0
    system = prompt_of({"system": "You help.", "messages": []}, Api.MESSAGES)
    assert section_start(system, CHOICE) == 1


def test_section_starts_by_the_provider_s_order() -> None:
    """Where the system prompt stands before the tools, what keys it loses the tools."""
    order = (Section.SYSTEM, Section.TOOLS, Section.MESSAGES)
    body = {
        "tools": [{"name": "find", "input_schema": {}}],
        "system": "You help.",
        "messages": [{"role": "user", "content": "hi"}],
    }
    prompt = prompt_of(body, Api.MESSAGES, order)
    assert section_start(prompt, EFFORT) == 0
    assert section_start(prompt, MODEL) == 1


def _changes(before: Prompt, after: Prompt, *models: str) -> list[KeyChange]:
    old, new = models or (None, None)
    return changed_keys(key_values(RULE, before, old), key_values(RULE, after, new), after)


def test_nothing_changed() -> None:
    """Equal values are no change, wherever they stand."""
    before = _prompt(reasoning_effort="low")
    assert _changes(before, _prompt(reasoning={"effort": "low"})) == []


def test_changes_come_in_the_order_in_which_they_cut() -> None:
    """The model cuts all, effort the system prompt, the choice the messages."""
    after = _prompt(tool_choice={"type": "any"}, reasoning={"effort": "low"})
    found = _changes(_prompt(), after, "one", "other")
    assert [(change.name, change.span) for change in found] == [
        ("model", 0),
        ("effort", 1),
        ("tool_choice", 2),
    ]


def test_change_points_to_where_the_parameter_stands_or_stood() -> None:
    """What went away is named where the parent had it."""
    with_effort = _prompt(reasoning_effort="low")
    (added,) = _changes(_prompt(), with_effort)
    assert added.pointer == "/reasoning_effort"
    (gone,) = _changes(with_effort, _prompt())
    assert gone.pointer == "/reasoning_effort"
    assert (gone.before.spelt, gone.after.spelt) == (b'"low"', b"")


def test_keys_of_another_rule_are_not_compared() -> None:
    """What only one of both rules knows says nothing of the other."""
    before = key_values(RULE, _prompt(), None)[:1]
    after = key_values(RULE, _prompt(tool_choice="any"), None)
    assert changed_keys(before, after, _prompt()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("parallel_tool_calls", True), ("response_format", {"type": "text"}), ("verbosity", "medium")],
)
def test_default_that_is_written_out_costs_nothing(name: str, value: object) -> None:
    """Of OpenAI's parameters: a client that begins to send the default reads all the same."""
    bodies = [chat(3, model="gpt-5.6"), {**chat(4, model="gpt-5.6"), name: value}]
    assert kinds(lint(bodies)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(one=JSON, other=JSON, ordered=st.booleans())
def test_any_values_can_be_compared(one: object, other: object, *, ordered: bool) -> None:
    """A value is equal to itself, and values that are spelt alike are no change."""
    before, after = _prompt(tool_choice=one), _prompt(tool_choice=other)
    values = [key_values(RULE, prompt, None, ordered=ordered) for prompt in (before, after)]
    assert changed_keys(values[0], values[0], before) == []
    changed = changed_keys(values[0], values[1], after)
    assert bool(changed) is (values[0][1].spelt != values[1][1].spelt)
    assert (values[0][1].salt == values[1][1].salt) is (not changed)
