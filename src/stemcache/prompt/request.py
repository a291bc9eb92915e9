"""The front door: a layout that makes whole requests for a provider.

```
layout = Layout([static("rules", RULES), session("profile", who)], [search])
body = layout.request("anthropic", model, conversation, [turn("now", clock())],
                      options={"max_tokens": 1024})
Anthropic().messages.create(**body)

provider, model ──► rule, price (the book) ──► lay ──► place ──► render
                                └── plan(…) ──────────────┘  to look at what was decided, and why

memory = Memory()                     what this conversation has written: one a conversation
body = layout.request("anthropic", model, conversation, memory=memory, now_s=time.time())
memory.reported(usage)                of use where the answer says that nothing was read
branch, its_memory = conversation.fork(), memory.fork()
path.write_bytes(memory.saved())      Memory.resumed(path.read_bytes()) where it is taken up again
```
A cache is looked for only so far behind a mark, and some only at marks. So a conversation whose
turns add more than that (20 blocks with Anthropic) finds what it has written only where this
request marks it again. Where the requests before ended is told by the answers in the history. A
memory knows it, and when, and that another model was asked in between, or nobody.

A provider that is known by name only, or a model that no rule speaks of, gets a request without
marks. Requests to servers of your own (`vllm`, `sglang`) are made in the same way; prompts for a
chat template come from `render.template.render(layout.lay(order, history))`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.given import check_callable, check_number, check_type, chosen, listed
from stemcache.prompt.layout import Layout as BareLayout
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.forecasts import a_request_a_minute
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Held, Placement
from stemcache.prompt.marks.prefixes import prefixes_of
from stemcache.prompt.marks.supposed import supposed
from stemcache.prompt.marks.why import unshared
from stemcache.prompt.marks.written import written_by
from stemcache.prompt.message import Message
from stemcache.prompt.piece import Laid
from stemcache.prompt.render import chat as render_chat
from stemcache.prompt.render import converse as render_converse
from stemcache.prompt.render import generate as render_generate
from stemcache.prompt.render import messages as render_messages
from stemcache.prompt.render import responses as render_responses
from stemcache.prompt.render.chat_server import chat_server
from stemcache.prompt.segment import Segment
from stemcache.prompt.sendable import check_text, check_values
from stemcache.provider.book import Book, shipped_book
from stemcache.provider.price import Price
from stemcache.provider.resolve import resolve
from stemcache.provider.rule import Kind, Rule
from stemcache.trace.spans.prompt import ORDER
from stemcache.wire.api import Api

__all__ = ["Layout", "Plan"]

_USUAL: Mapping[str, Api] = {
    "anthropic": Api.MESSAGES,
    "bedrock": Api.CONVERSE,
    "gemini": Api.GENERATE,
}
"""By provider, where its own client has an API of its own; all others take chats."""
_WRITTEN_IN: Mapping[Kind, frozenset[Api]] = {
    "markers": frozenset({Api.CHAT, Api.CONVERSE, Api.MESSAGES}),
    "breakpoints": frozenset({Api.CHAT, Api.RESPONSES}),
    "objects": frozenset({Api.GENERATE}),
}
"""By kind of rule, the APIs that have a word for its marks; kinds without marks take any."""
_MARKED: frozenset[Kind] = frozenset({"breakpoints", "markers"})
"""Kinds of rules whose marks stand in the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A request before it is written: what stands where, and what that is expected to cost."""

    api: Api
    provider: str
    """By the name that its rules have, or as given where there is none."""
    model: str
    rule: Rule | None
    price: Price | None
    laid: Laid
    placement: Placement
    """Its `why` says what was not marked, and why not."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else the body says, beside the prompt."""

    def body(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the official client takes as keywords. Raises UsageError, as the renderer does.

        `options` are taken in place of the plan's own.
        """
        given = self.options if options is None else options
        laid, placement, model = self.laid, self.placement, self.model
        kind = None if self.rule is None else self.rule.kind
        listed = kind in _MARKED  # this request may have no mark, and the next one its first
        match self.api:
            case Api.MESSAGES:
                return render_messages.render(laid, placement, model=model, options=given)
            case Api.CONVERSE:
                return render_converse.render(laid, placement, model=model, options=given)
            case Api.GENERATE:
                return render_generate.render(laid, placement, model=model, options=given)
            case Api.RESPONSES:
                return render_responses.render(
                    laid, placement, model=model, options=given, listed=listed
                )
            case Api.CHAT:
                return render_chat.render(
                    laid,
                    placement,
                    model=model,
                    options=given,
                    marker="cache_control" if kind == "markers" else "prompt_cache_breakpoint",
                    listed=listed,
                    server=chat_server(self.provider),
                )
            case Api.COMPLETIONS:
                raise AssertionError("plan() makes none for completions")

    def sent(self, memory: Memory, *, now_s: float | None = None) -> None:
        """Tell a conversation's memory that this is sent now, as `request` does by itself."""
        if self.rule is None:
            return
        memory.sent(
            prefixes_of(
                self.laid, rule=self.rule, model=self.model, api=self.api, options=self.options
            ),
            written_by(self.laid, self.placement, self.rule),
            refreshed=self.rule.refreshed_by_reads,
            now_s=now_s,
        )


class Layout(BareLayout):
    """Segments and tools in their order, and requests made of them. Immutable."""

    def request(
        self,
        provider: str,
        model: str,
        conversation: Conversation | Sequence[Message] = (),
        turn: Sequence[Segment] = (),
        *,
        options: Mapping[str, Any] | None = None,
        forecast: Callable[[Laid], Forecast] | None = None,
        memory: Memory | None = None,
        now_s: float | None = None,
        held: Sequence[Held] | None = None,
        most: int | None = None,
        api: Api | None = None,
        explicit: bool = False,
        placement: Placement | None = None,
        book: Book | None = None,
    ) -> dict[str, Any]:
        """The body of a request, ready for the provider's client: `plan(…).body()`.

        Linear in the prompt but for placing; opens no socket. Changes nothing but `memory`, which
        takes it that the request is sent, at `now_s`.
        """
        plan = self.plan(
            provider,
            model,
            conversation,
            turn,
            options=options,
            forecast=forecast,
            memory=memory,
            now_s=now_s,
            held=held,
            most=most,
            api=api,
            explicit=explicit,
            placement=placement,
            book=book,
        )
        body = plan.body()
        if memory is not None:
            plan.sent(memory, now_s=now_s)
        return body

    def plan(
        self,
        provider: str,
        model: str,
        conversation: Conversation | Sequence[Message] = (),
        turn: Sequence[Segment] = (),
        *,
        options: Mapping[str, Any] | None = None,
        forecast: Callable[[Laid], Forecast] | None = None,
        memory: Memory | None = None,
        now_s: float | None = None,
        held: Sequence[Held] | None = None,
        most: int | None = None,
        api: Api | None = None,
        explicit: bool = False,
        placement: Placement | None = None,
        book: Book | None = None,
    ) -> Plan:
        """What `request` would send; changes nothing.

        `forecast` makes a forecast of what was laid; without one a request a minute is expected of
        everybody and of each conversation, nine in ten of which go on.
        `memory` tells what this conversation's earlier requests have written, and `now_s` how long
        ago, in seconds of any clock that does not go back; without a time the forecast tells.
        `held` says it by boundaries of this layout instead. Without either the history tells what
        earlier requests have likely marked; an empty memory says that nothing is there.
        `most` is that of `place`. `api` is needed where a provider has several and the usual one is
        not meant. `explicit`: the caller's marks, or objects, where the provider keeps prefixes by
        itself too. `placement` is used in place of the best one: a cached object ends where it was
        made to end. `book` is the shipped one unless given. Raises UsageError for a provider that
        is not known, `held` beside a memory, and a time without one.
        """
        _check_kinds(provider, model, options, held, most)
        if forecast is not None:
            check_callable(forecast, "forecast", "give a function of what is laid, as AlwaysAlive")
        check_type(memory, Memory | None, "memory", "give the Memory of the conversation")
        check_type(placement, Placement | None, "placement", "give what plan(...) placed before")
        check_type(book, Book | None, "book", "give what load_book(...) returns")
        _check_memory(memory, now_s, held)
        api = None if api is None else chosen(api, Api, "api", "request")
        given = {} if options is None else options
        found = resolve(
            shipped_book() if book is None else book,
            provider=provider,
            host=None,
            model=model,
            api=api,
            marked=explicit,
            aliases={},
        )
        rule = found.rule
        name = provider.strip().lower() if rule is None else rule.provider
        written_for = _api(api, name, model, rule)
        history = conversation.messages if isinstance(conversation, Conversation) else conversation
        laid = self.lay(
            ORDER if rule is None else rule.order,
            history,
            turn,
            api=written_for,
            apart=rule is not None and rule.kind == "breakpoints",
        )
        if placement is None and rule is None:
            placement = _unknown(provider, model)
        elif placement is None:
            assert rule is not None, "without one nothing is placed"
            expected = (forecast or a_request_a_minute)(laid)
            if memory is not None:
                names = prefixes_of(laid, rule=rule, model=model, api=written_for, options=given)
                held = memory.held(names, forecast=expected, now_s=now_s)
            elif not held:
                held = supposed(laid, rule=rule, price=found.price, forecast=expected, most=most)
            placement = place(
                laid, rule=rule, price=found.price, forecast=expected, held=held, most=most
            )
            placement = replace(placement, why=(*unshared(laid), *placement.why))
        if written_for is Api.CHAT and (rule is None or rule.kind not in _MARKED):
            altered = render_chat.turn_alters(laid, chat_server(name))
            told = () if altered is None else (altered,)
            placement = replace(placement, why=(*told, *placement.why))
        return Plan(
            api=written_for,
            provider=name,
            model=model,
            rule=rule,
            price=found.price,
            laid=laid,
            placement=placement,
            options=given,
        )


def _check_kinds(
    provider: object, model: object, options: object, held: object, most: object
) -> None:
    check_type(provider, str, "provider", "give a name, such as 'anthropic'")
    check_type(model, str, "model", "give its name")
    if not str(model).strip():
        raise UsageError("model is empty; give its name, such as 'claude-opus-4-5'")
    check_text(str(model), "model")
    if options is not None:
        check_type(options, Mapping, "options", "give a dictionary of members of the body")
        check_values(options, "options")
    if held is not None:
        listed(held, Held, "held", "give a list of Held(boundary, alive)")
    if most is not None:
        check_number(most, "most", low=0, whole=True)


def _check_memory(memory: Memory | None, now_s: float | None, held: Sequence[Held] | None) -> None:
    if memory is not None and held:
        raise UsageError("held and memory are both given; give a memory, or what you know yourself")
    if memory is None and now_s is not None:
        raise UsageError(
            f"now_s is {now_s} and no memory is given; give the memory of the conversation, "
            "or leave the time out"
        )


def _api(api: Api | None, provider: str, model: str, rule: Rule | None) -> Api:
    """The API that is written. Raises UsageError for one without a word for the rule's marks."""
    chosen = _usual(provider, model) if api is None else api
    if chosen is Api.COMPLETIONS:
        raise UsageError(
            f"api is {chosen.value!r}, which takes one text; give {Api.CHAT.value!r}, or render a "
            "chat template and send its text"
        )
    taking = _WRITTEN_IN.get(rule.kind) if rule is not None else None
    if rule is not None and taking is not None and chosen not in taking:
        raise UsageError(
            f"api is {chosen.value!r}, in which marks of rule {rule.name} cannot be written; "
            f"give one of {', '.join(sorted(one.value for one in taking))}"
        )
    return chosen


def _usual(provider: str, model: str) -> Api:
    if provider == "vertex":
        # One platform, the APIs of those whose models it serves.
        return Api.MESSAGES if "claude" in model.lower() else Api.GENERATE
    return _USUAL.get(provider, Api.CHAT)


def _unknown(provider: str, model: str) -> Placement:
    return Placement(
        marks=(),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
        why=(f"no rule is known for {model!r} at {provider!r}, so nothing is marked",),
    )
