from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.part import Image, Text
from stemcache.prompt.segment import Segment, reference, session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.prompt.volatile.check import VolatileError, check, find
from stemcache.text.volatile.detector import Family
from stemcache.text.volatile.mask import tokens
from tests.prompt.volatile_texts import CLEAN, FAULTY, Faulty

UUID = "9b2f0c1e-7a3d-4d55-8f0e-1b2c3d4e5f60"


def _segment(stability: Stability, *texts: str, allow: frozenset[str] = frozenset()) -> Segment:
    return Segment(name="rules", stability=stability, parts=tuple(map(Text, texts)), allow=allow)


def test_there_are_more_than_twenty_of_each() -> None:
    """As many false alarms could be given as faults missed."""
    assert (len(CLEAN), len(FAULTY)) == (23, 33)


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN.keys())
@pytest.mark.parametrize("stability", Stability)
def test_what_stays_is_left_alone(text: str, stability: Stability) -> None:
    """Laws, hours, changelogs, versions, examples and ids of things are nobody's clock."""
    assert find([_segment(stability, text)]) == ()


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
def test_what_changes_is_told_with_its_place_and_where_it_belongs(fault: Faulty) -> None:
    """One finding a fault: part, offset, family, class and the stability that fits."""
    (found,) = find([_segment(Stability.STATIC, "Be brief.", fault.text)])
    assert (found.owner, found.name, found.part) == ("segment", "rules", "part 1")
    line = fault.text.rfind("\n", 0, fault.text.index(fault.piece)) + 1
    begins = line if fault.family == "environment" and fault.fits is Stability.SESSION else None
    assert found.offset == (fault.text.index(fault.piece) if begins is None else begins)
    assert (found.family, found.what) == (fault.family, fault.what)
    assert found.fits is fault.fits


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
@pytest.mark.parametrize("stability", Stability)
def test_the_more_stable_a_segment_the_less_may_change_in_it(
    fault: Faulty, stability: Stability
) -> None:
    """Documents keep what only has the form; a session keeps what it began with."""
    found = find([_segment(stability, fault.text)])
    assert bool(found) is (stability.rank <= fault.lowest.rank)


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
def test_what_is_found_would_be_right_where_the_error_sends_it(fault: Faulty) -> None:
    """Moved to the stability that is named, nothing is found any more."""
    (found,) = find([_segment(Stability.STATIC, fault.text)])
    assert find([_segment(found.fits, fault.text)]) == ()


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
def test_a_family_that_is_allowed_is_not_looked_for(fault: Faulty) -> None:
    """Its own family silences it, the two others do not."""
    others = frozenset(Family) - {fault.family}
    assert find([_segment(Stability.STATIC, fault.text, allow=frozenset({fault.family}))]) == ()
    assert find([_segment(Stability.STATIC, fault.text, allow=others)])


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
def test_a_long_handbook_around_it_hides_nothing(fault: Faulty) -> None:
    """Offsets count from the beginning of the part, whatever stands around."""
    around = "\n\n".join(CLEAN.values())
    text = f"{around}\n\n{fault.text}\n\n{around}"
    (alone,) = find([_segment(Stability.STATIC, fault.text)])
    (found,) = find([_segment(Stability.STATIC, text)])
    assert found.offset == alone.offset + len(around) + 2
    assert found.what == alone.what


@pytest.mark.parametrize("fault", FAULTY.values(), ids=FAULTY.keys())
def test_what_is_refused_is_told_by_lint_too(fault: Faulty) -> None:
    """Its detectors see the same piece, so that nothing is refused for a reason of our own."""
    piece = fault.text[fault.text.index(fault.piece) :]
    seen = {one.family for one in (*tokens(fault.text), *tokens(piece))}
    pictured = fault.family == "environment"  # lint compares those line by line
    assert pictured or fault.family in seen


@pytest.mark.parametrize(
    "piece", ["10:07:31", UUID, "3 minutes ago", "On branch main\n M src/a.py"]
)
def test_what_the_page_promises_is_refused_with_nothing_around_it(piece: str) -> None:
    """docs/prompt.md names these four; each is refused, and taken where its family is allowed."""
    (found,) = find([_segment(Stability.STATIC, piece)])
    assert find([_segment(Stability.STATIC, piece, allow=frozenset({found.family}))]) == ()


@pytest.mark.parametrize(
    ("piece", "lowest"),
    [
        ("It is 10:07:31.", Stability.SESSION),
        ("Now: 10:07", Stability.SESSION),
        (f"Request {UUID}", Stability.SESSION),
        ("last seen 3 minutes ago", Stability.SESSION),
        ("Today is Monday.", Stability.REFERENCE),
        (f"session id: {UUID}", Stability.REFERENCE),
        ("current branch: main", Stability.REFERENCE),
        ("10:07:31", Stability.STATIC),
        (UUID, Stability.STATIC),
        ("3 minutes ago", Stability.STATIC),
        ("On branch main\n M src/a.py", Stability.STATIC),
        ("<Agent object at 0x7f6a03fbbc90>", Stability.STATIC),
    ],
)
def test_the_table_of_the_page_is_true(piece: str, lowest: Stability) -> None:
    """docs/prompt.md says where each is refused."""
    refused = [one for one in Stability if find([_segment(one, piece)])]
    assert refused == [one for one in Stability if one.rank <= lowest.rank]


def test_the_error_says_what_where_and_what_to_do() -> None:
    """Its text has the class and the place, and nothing of the prompt."""
    with pytest.raises(VolatileError) as caught:
        check([static("rules", "Be brief.", "Now: 2026-11-30T05:14:01Z")])
    assert str(caught.value) == (
        "segment 'rules', declared static, has an ISO time with seconds at character 5 of part 1; "
        "say it in a turn(...) segment, behind the history, "
        "or keep it with allow={'clock'} if it never changes"
    )
    assert isinstance(caught.value, UsageError)


def test_what_fits_a_session_is_sent_there() -> None:
    """A date lasts as long as most conversations."""
    with pytest.raises(VolatileError, match=r"say it in a session\(\.\.\.\) segment, or a turn"):
        check([static("rules", "Today is 2026-11-30.")])


def test_all_findings_are_kept_and_the_first_is_worded() -> None:
    """One a family and part, in the order of the prompt: tools stand before segments."""
    tool = Tool(name="clock", description="Now: 05:14:01", schema={})
    with pytest.raises(VolatileError, match=r"^tool 'clock'.*\n\(and 3 more\)$") as caught:
        check([static("a", f"Now: 05:14:01, now: 05:14:02. {UUID}"), static("b", UUID)], [tool])
    assert [(one.name, one.family) for one in caught.value.found] == [
        ("clock", "clock"),
        ("a", "clock"),
        ("a", "injected-id"),
        ("b", "injected-id"),
    ]


def test_the_first_of_a_family_in_a_part_is_told_wherever_it_was_found() -> None:
    """A budget that stands before a git status, both pictures of the environment."""
    text = "Tokens remaining: 181,204\nCurrent branch: main"
    (found,) = find([static("rules", text)])
    assert (found.offset, found.what) == (text.index("181"), "a token budget")


def test_descriptions_and_schemas_of_tools_are_read() -> None:
    """The place is the description, or a pointer into the schema."""
    schema = {
        "type": "object",
        "properties": {
            "run": {"type": "string", "description": f"Always pass {UUID}"},
            "at": {"type": "string", "default": "2026-11-30T05:14:01Z"},
        },
    }
    tool = Tool(name="save", description="Save. The current time is 05:14:01.", schema=schema)
    assert [(one.part, one.what) for one in find([], [tool])] == [
        ("its description", "a clock time with seconds"),
        ("its schema at /properties/run/description", "a UUID"),
        ("its schema at /properties/at/default", "an ISO time with seconds"),
    ]


def test_a_list_in_a_schema_is_read_by_number() -> None:
    """Choices are read by a model too."""
    tool = Tool(
        name="open", description="Open.", schema={"properties": {"id": {"enum": ["x", UUID]}}}
    )
    (found,) = find([], [tool])
    assert found.part == "its schema at /properties/id/enum/1"


def test_examples_and_patterns_of_a_schema_are_not_read() -> None:
    """They show a form; `$id` names the schema for good."""
    schema = {
        "$id": f"urn:uuid:{UUID}",
        "properties": {"at": {"examples": ["2026-11-30T05:14:01Z"], "pattern": UUID}},
    }
    assert find([], [Tool(name="save", description="Save.", schema=schema)]) == ()


def test_a_tool_of_a_session_may_have_what_the_session_has() -> None:
    """An id in the schema of a tool that was made for one conversation."""
    tool = Tool(name="save", description=f"Save to {UUID}.", schema={}, stability=Stability.SESSION)
    assert find([], [tool]) == ()


def test_a_tool_may_allow_a_family() -> None:
    """As a segment may."""
    tool = Tool(name="save", description=UUID, schema={}, allow=frozenset({"injected-id"}))
    assert find([], [tool]) == ()


def test_a_family_that_there_is_not_is_an_error() -> None:
    """With the nearest one, and where it was given."""
    with pytest.raises(UsageError, match=r"unknown family 'clok' from allow of segment 'law'; did"):
        check([static("law", "27 April 2016", allow=["clok"])])
    with pytest.raises(UsageError, match="unknown family 'time' from allow of tool 'save'"):
        Tool(name="save", description="Save.", schema={}, allow=frozenset({"time"}))


def test_pictures_are_no_text() -> None:
    """Parts are counted all the same."""
    image = Image(media_type="image/png", base64="AAAA")
    (found,) = find([reference("plan", image, "Now: 05:14:01")])
    assert found.part == "part 1"


def test_nothing_is_looked_for_in_a_turn() -> None:
    """Anything may stand in it."""
    assert find([turn("now", *(fault.text for fault in FAULTY.values()))]) == ()


def test_a_session_may_say_when_it_began() -> None:
    """With the second, its id and where it runs; what the time is now it may not."""
    began = (
        f"Session started: 2026-11-30T05:14:01Z, session id: {UUID}\n"
        "cwd: /home/ann/shop\nOn branch main"
    )
    assert find([session("began", began)]) == ()
    assert find([session("began", "Now: 2026-11-30T05:14:01Z")]) != ()


def test_of_random_texts_the_more_stable_refuse_what_the_less_stable_do() -> None:
    """Whatever is an error in a session is one in a document, and that one in rules."""
    random = Random(20261130)
    words = " ".join((*CLEAN.values(), *(fault.text for fault in FAULTY.values()))).split(" ")
    alarms = 0
    for _ in range(300):
        text = "".join(
            f"{random.choice(words)}{random.choice([' ', ' ', ' ', chr(10), ': '])}"
            for _ in range(random.randrange(60))
        )
        families = []
        for stability in (Stability.SESSION, Stability.REFERENCE, Stability.STATIC):
            found = find([_segment(stability, text)])
            assert all(0 <= one.offset < len(text) for one in found)
            assert [one.offset for one in found] == sorted(one.offset for one in found)
            families.append({one.family for one in found})
        assert families[0] <= families[1] <= families[2]
        alarms += bool(families[2])
    assert alarms > 100


@pytest.mark.parametrize(
    "text",
    [
        "Now: " * 20_000,
        "today is " * 10_000 + "2026-11-30",
        "message: 3 " * 10_000,
        "<example>" * 10_000,
        "tokens left " * 10_000 + "7",
        "current time " + "a" * 100_000 + "05:14",
        "1" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    """Linear in the text, whatever it is made of: each of these is done in a breath."""
    assert len(find([static("rules", text)])) <= len(Family)
