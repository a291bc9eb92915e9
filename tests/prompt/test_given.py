"""Wrong values at the doors of `stemcache.prompt`: each is a UsageError that says what to give."""

# mypy: disable-error-code="arg-type,list-item"
# It is what callers without a type checker do.

import asyncio
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from stemcache.errors import UsageError
from stemcache.prompt import (
    Conversation,
    Document,
    Image,
    Layout,
    Message,
    Segment,
    Stability,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    static,
    turn,
)
from stemcache.prompt.compaction.plan import Compaction, best_high, payback
from stemcache.prompt.compaction.step import compact
from stemcache.prompt.compaction.strategy import Rolling, Watermark
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.conversation.file import load, replace, save
from stemcache.prompt.given import (
    check_callable,
    check_each,
    check_number,
    check_type,
    chosen,
    listed,
)
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import Gaps, PoissonGaps
from stemcache.prompt.keepalive.life import life
from stemcache.prompt.keepalive.ping import ping
from stemcache.prompt.keepalive.plan import plan, stakes
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.ttl import options
from stemcache.prompt.part import Native, Thinking
from stemcache.prompt.warm.plan import plan_warm
from stemcache.prompt.warm.run import warm
from stemcache.provider.book import load_book
from stemcache.trace.spans.prompt import ORDER
from stemcache.wire.api import Api

BOOK = load_book()
RULE = BOOK.rule("anthropic", "claude-opus-5-5")
PAID = rates(RULE, BOOK.price("anthropic", "claude-opus-5-5"))
STAKES = stakes(PAID, 10_000)
GAPS = Gaps.of([30.0])
STEP = Compaction(fixed=0, history=10_000, kept=0)
RULES = static("rules", "Be brief.")


@pytest.mark.parametrize(
    ("door", "said"),
    [
        (lambda: static("r", None), r"the content of segment 'r'\[0\] is None; give texts"),
        (lambda: static("r", 5), r"the content of segment 'r'\[0\] is of type int"),
        (lambda: static(5, "x"), "the name of a segment is of type int; use 1 to 64 letters"),
        (lambda: static("r", "x", version=3), "the version of segment 'r' is of type int; give"),
        (lambda: static("r", "x", allow="clock"), r"allow of segment 'r' is of type str; give a "),
        (lambda: static("r", "x", allow=[1]), r"allow of segment 'r'\[0\] is of type int"),
        (
            lambda: Segment(name="r", stability="sttic", parts=()),
            "unknown stability 'sttic' from segment 'r'; did you mean 'static'",
        ),
        (lambda: Segment(name="r", stability=Stability.STATIC, parts="abc"), "is of type str"),
        (lambda: Layout(RULES), "segments is of type Segment; give a list of segments"),
        (lambda: Layout("abc"), "segments is of type str; give a list of segments"),
        (lambda: Layout(["abc"]), r"segments\[0\] is of type str; give a list of segments"),
        (lambda: Layout([RULES], [{"name": "x"}]), r"tools\[0\] is of type dict; give a list of"),
        (lambda: Layout([RULES], "x"), "tools is of type str; give a list of Tool"),
        (lambda: Layout([RULES], count=4), "count is of type int; give a function from a text"),
        (lambda: Layout([RULES]).lay(ORDER, "q"), "the history is of type str; give a Conv"),
        (lambda: Layout([RULES]).lay(ORDER, [{"role": "user"}]), r"the history\[0\] is of type d"),
        (lambda: Layout([RULES]).lay(ORDER, (), turn("now", "x")), "turn is of type Segment; giv"),
        (lambda: Layout([RULES]).lay(ORDER, (), ["x"]), r"turn\[0\] is of type str; give a list"),
        (lambda: Tool(name=None, description="", schema={}), "the name of a tool is None"),
        (lambda: Tool(name="", description="", schema={}), "a tool has no name; give one"),
        (lambda: Tool(name="t", description=None, schema={}), "the description of tool 't' is No"),
        (lambda: Tool(name="t", description="", schema=[]), "the schema of tool 't' is of type l"),
        (lambda: Tool(name="t", description="", schema={}, stability=1), "stability of tool 't'"),
        (lambda: Tool(name="t", description="", schema={}, allow="id"), "allow of tool 't' is of"),
        (lambda: Text(None), "the text of Text is None; give a str"),
        (lambda: Text("x", {}), "beside of Text is of type dict; give a Native"),
        (lambda: Image(media_type="image/png", base64=b"AAAA"), "base64 of Image is of type bytes"),
        (lambda: Image(media_type=None, url="u"), "media_type of Image is None"),
        (lambda: Document(media_type="text/plain", url=5), "url of Document is of type int"),
        (lambda: Document(media_type="text/plain", name=5), "name of Document is of type int"),
        (lambda: ToolCall(id="c", name="t", arguments={}), "the arguments of ToolCall is of type"),
        (lambda: ToolCall(id=5, name="t", arguments=""), "id of ToolCall is of type int; give"),
        (lambda: ToolResult(call_id="c", parts="x"), "the parts of ToolResult is of type str"),
        (lambda: ToolResult(call_id=None, parts=()), "call_id of ToolResult is None; give a str"),
        (lambda: ToolResult(call_id="c", parts=(), failed="no"), "failed of ToolResult is of ty"),
        (lambda: Thinking(api="x", json="{}"), "api of Thinking is of type str; give a member"),
        (lambda: Native(api=Api.CHAT, json={}), "json of Native is of type dict; give the block"),
        (lambda: Message("user", "q"), "the parts of Message is of type str; give a tuple"),
        (lambda: Message("user", Text("q")), "the parts of Message is of type Text; give a tuple"),
        (lambda: Message("system", (Text("q"),)), "the speaker of Message is 'system'; give"),
        (lambda: Message(None, ()), "the speaker of Message is None; give 'user'"),
        (lambda: Conversation("q"), "messages of a Conversation is of type str; give a list"),
        (lambda: Conversation(5), "messages of a Conversation is of type int; give a list"),
        (lambda: Conversation().user(5), r"the parts of Message\[0\] is of type int"),
        (lambda: Conversation().results("x"), r"results\[0\] is of type str; give each as a Tool"),
        (lambda: Conversation().results([]), r"results\[0\] is of type list; .* with \* before"),
        (lambda: Conversation().fork("1"), "a number of messages is of type str; give an int"),
        (lambda: Conversation().answer({}, []), "cannot be kept; use one of"),
        (lambda: save([], "x"), "what is to be saved is of type list; give a Conversation"),
        (lambda: replace([], "x"), "what is to be saved is of type list; give a Conversation"),
        (lambda: load(5), "the path of a conversation is of type int; give a str or a Path"),
        (lambda: compact(Conversation(), "s", drop=0), "messages is of type Conversation; give c"),
        (lambda: compact([], None, drop=0), "summary is None; give its text"),
        (lambda: compact([], "s", drop="1"), "drop is of type str; give how many"),
        (lambda: Turns.of([-2]), "a conversation has -2 turns; give 0 or more"),
        (lambda: Turns.of("12"), "ended is of type str; give a list of how many turns"),
        (lambda: Compaction(fixed="1", history=1, kept=0), "fixed of a Compaction is of type str"),
        (lambda: payback({}, PAID, turns=1), "step is of type dict; give a Compaction"),
        (lambda: payback(STEP, {}, turns=1), "rates is of type dict; give what rates"),
        (lambda: payback(STEP, PAID, turns="1"), "turns is of type str; give a finite number"),
        (
            lambda: best_high(PAID, fixed=0, low=0, growth="1", limit=10),
            "growth is of type str; give a finite number from 0 on",
        ),
        (lambda: Rolling("5"), "most_tokens of Rolling is of type str; give"),
        (lambda: Watermark(None, 1), "high_tokens of a Watermark is None; give"),
        (lambda: Ledger(share="1%"), "share of a Ledger is of type str; give"),
        (lambda: Gaps.of("abc"), "seen_s is of type str; give a list of seconds"),
        (lambda: Gaps.of(["1"]), r"seen_s\[0\] is of type str; give a list of seconds"),
        (lambda: Gaps.of([1], over=-3), "over is -3; give a whole number from 0 on"),
        (lambda: PoissonGaps(mean_gap_s="1"), "mean_gap_s is of type str; give"),
        (lambda: life(None), "rule is None; give the provider's Rule"),
        (lambda: stakes(PAID, "5"), "prefix_tokens is of type str; give a finite number"),
        (lambda: stakes(PAID, -5), "prefix_tokens is -5; give a finite number from 0 on"),
        (lambda: stakes(None, 5), "rates is None; give what rates"),
        (lambda: plan({}, GAPS, life(RULE)), "stakes is of type dict; give what stakes"),
        (lambda: plan(STAKES, [30.0], life(RULE)), r"gaps.later is None; give an estimate"),
        (lambda: plan(STAKES, GAPS, 300), "life is of type int; give what life"),
        (lambda: plan(STAKES, GAPS, life(RULE), margin_s="1"), "margin_s is of type str; give"),
        (
            lambda: options(RULE, None, GAPS, prefix_tokens=1, written_tokens=1, turns="2"),
            "turns is of type str; give a finite number from 1 on",
        ),
        (
            lambda: options(
                RULE, None, GAPS, prefix_tokens=1, written_tokens=1, turns=2, ttls="5m"
            ),
            "ttls is of type str; give a list of names of lifetimes",
        ),
        (lambda: ping({}, "mesages"), "unknown api 'mesages' from ping; did you mean 'messages'"),
        (lambda: ping([], Api.CHAT), "the body of a ping is of type list; give the body"),
        (lambda: plan_warm([], None), "rates is None; give what rates"),
        (lambda: asyncio.run(warm([5], readable_after="answer-ends")), r"calls\[0\] is of type "),
        (lambda: asyncio.run(warm([], readable_after="ends")), "unknown time 'ends' from readable"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_at_the_door(door: Callable[[], object], said: str) -> None:
    """What it is, where, and what to give."""
    with pytest.raises(UsageError, match=said):
        door()


def test_lists_and_sets_are_taken_for_tuples_and_frozen_sets() -> None:
    """What is made of them is immutable and hashes, whoever changes the list later."""
    parts: Any = [Text("q")]
    message = Message("user", parts)
    parts.append(Text("r"))
    assert message == Message("user", (Text("q"),))
    assert ToolResult(call_id="c", parts=parts).parts == (Text("q"), Text("r"))
    made: Any = {"clock"}
    tool = Tool(name="t", description="", schema={}, allow=made)
    segment = Segment(name="s", stability=Stability.STATIC, parts=parts, allow=made)
    made.add("id")
    assert tool.allow == segment.allow == {"clock"}
    assert hash(segment) == hash(static("s", *parts, allow=["clock"]))


def test_texts_of_a_class_of_their_own_are_kept_as_texts() -> None:
    """Templates and enumerations have them."""

    class Rendered(str):
        __slots__ = ()

    one, two = Conversation(), Conversation()
    one.user(Rendered("q"), Text(Stability.TURN))
    two.user("q", Text("turn"))
    assert one.digest == two.digest


def test_a_generator_is_a_list() -> None:
    """Gone through once."""
    layout = Layout((static(f"s{i}", "x") for i in range(3)), iter(()))
    assert [one.name for one in layout.segments] == ["s0", "s1", "s2"]
    assert listed((i for i in range(3)), int, "them", "use") == (0, 1, 2)


def test_an_api_may_be_told_by_its_text() -> None:
    """A `StrEnum` is equal to it, and configuration files have texts."""
    name: Any = "chat"
    assert ping({"messages": []}, name) == ping({"messages": []}, Api.CHAT)
    assert chosen("chat", Api, "api", "here") is Api.CHAT


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int64(3), Fraction(3, 2), 10**400])
def test_numbers_of_any_library_are_numbers(value: Any) -> None:
    """However large, so long as they are finite."""
    check_number(value, "it", low=0)


@pytest.mark.parametrize("value", [True, "1", None, Decimal(1), 1j, nan, inf, -1, [1]])
def test_what_is_no_number_from_0_on_is_refused(value: Any) -> None:
    """True is 1 to Python and a mistake to everybody else."""
    with pytest.raises(UsageError, match=r"^it is .*; give a finite number from 0 on$"):
        check_number(value, "it", low=0)


def test_ranges_and_whole_numbers_are_told() -> None:
    """In the message, so that the next try is right."""
    check_number(np.int64(3), "it", low=1, high=3, whole=True)
    with pytest.raises(UsageError, match=r"^it is 4; give a whole number from 1 to 3$"):
        check_number(4, "it", low=1, high=3, whole=True)
    with pytest.raises(UsageError, match=r"^it is of type float; give a whole number from 1 on$"):
        check_number(2.0, "it", low=1, whole=True)


def test_no_value_is_shown_but_numbers_and_names() -> None:
    """A prompt may be in it."""
    secret: Any = "The patient is called"
    for door in (
        lambda: check_type(secret, int, "it", "use"),
        lambda: check_each([secret], int, "it", "use"),
        lambda: check_callable(secret, "it", "use"),
        lambda: listed(secret, str, "it", "use"),
        lambda: check_number(secret, "it", low=0),
    ):
        with pytest.raises(UsageError, match=r"^it(\[0\])? is of type str; ") as caught:
            door()
        assert "patient" not in str(caught.value)
    with pytest.raises(UsageError, match=r"api of here is of type int; give one of Api\.CHAT, Api"):
        chosen(5, Api, "api", "here")


@pytest.mark.parametrize("kind", [Image, Document])
def test_a_picture_or_file_of_no_type_is_refused(kind: Any) -> None:
    """No API takes one, and a history that has it could not be sent."""
    with pytest.raises(UsageError, match=f"media_type of {kind.__name__} is empty; give one such"):
        kind(media_type="", base64="YQ==")
