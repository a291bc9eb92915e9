import json
import math

from stemcache.lint.plain import plain


def test_what_json_has_no_word_for_is_null() -> None:
    """A share of nothing, and a sum without end."""
    assert plain({"a": math.nan, "b": [math.inf, 0.5]}) == {"a": None, "b": [None, 0.5]}


def test_half_a_surrogate_pair_stands_as_an_escape() -> None:
    """In values and in names."""
    told = plain({"\ud800": "\udfff"})
    assert told == {"\\ud800": "\\udfff"}
    json.dumps(told).encode()


def test_tuples_become_lists_and_the_rest_stays() -> None:
    """Nothing but what JSON has."""
    assert plain(((1, True, None, "é"),)) == [[1, True, None, "é"]]
