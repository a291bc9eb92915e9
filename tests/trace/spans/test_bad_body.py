from stemcache.trace.spans.bad_body import BadBodyError


def test_an_error_says_a_reason_and_what_to_do() -> None:
    """The reason alone is its text."""
    error = BadBodyError("messages is no list")
    assert (str(error), error.reason) == ("messages is no list", "messages is no list")
    assert error.fix == "log the whole request body"
    assert BadBodyError("x", fix="check the log").fix == "check the log"
