import pytest

from stemcache.errors import UsageError
from stemcache.trace.calls.pointer import follow, parsed_pointer, pointer


@pytest.mark.parametrize("parts", [(), ("a",), ("a/b", "c~d"), ("", "0"), ("~1", "/~")])
def test_pointers_read_as_they_were_written(parts: tuple[str, ...]) -> None:
    """Slashes and tildes in names are escaped."""
    assert parsed_pointer(pointer(parts), "request") == parts


def test_pointers_lead_through_everything() -> None:
    """Objects, arrays and texts of JSON are entered; what is not there is none."""
    value = {"a": [{"b": '{"c": [1, 2]}'}]}
    assert follow(value, ("a", "0", "b", "c", "1")) == 2
    for parts in (("x",), ("a", "9"), ("a", "x"), ("a", "-1"), ("a", "0", "b", "c", "1", "d")):
        assert follow(value, parts) is None
    assert follow(value, ("a", "9" * 50)) is None
    assert follow(value, ()) is value


def test_a_pointer_begins_with_a_slash() -> None:
    """Others are refused, with how to write one."""
    with pytest.raises(UsageError, match=r"the pointer 'a\.b' for usage does not begin with a"):
        parsed_pointer("a.b", "usage")
