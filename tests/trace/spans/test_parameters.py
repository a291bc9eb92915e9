from stemcache.trace.spans.parameters import parameters_of


def test_members_that_are_no_spans_are_given_by_one_and_two_levels() -> None:
    """Objects whole and by their members, lists whole only."""
    format_ = {"type": "json_schema", "schema": {"x": 1}}
    body = {
        "messages": [],
        "model": "m",
        "text": {"format": format_, "verbosity": "low"},
        "stop": ["a"],
        "seed": None,
    }
    assert parameters_of(body, frozenset({"messages"})) == {
        "/model": "m",
        "/text": {"format": format_, "verbosity": "low"},
        "/text/format": format_,
        "/text/verbosity": "low",
        "/stop": ["a"],
        "/seed": None,
    }


def test_keys_are_escaped() -> None:
    """At both levels."""
    assert list(parameters_of({"a/b": {"c~d": 1}}, frozenset())) == ["/a~1b", "/a~1b/c~0d"]


def test_objects_of_many_members_are_given_whole() -> None:
    """A map of ten thousand biases is one value."""
    bias = {str(i): 1 for i in range(10_000)}
    assert parameters_of({"logit_bias": bias}, frozenset()) == {"/logit_bias": bias}


def test_values_are_not_copied() -> None:
    """They are the body's own."""
    body = {"metadata": {"a": "b"}}
    assert parameters_of(body, frozenset())["/metadata"] is body["metadata"]
