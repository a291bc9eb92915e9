"""The official clients take every body that is rendered, and so do those they send it to."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import botocore.session  # type: ignore[import-untyped]  # it has no types
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from botocore.serialize import (  # type: ignore[import-untyped]  # see above
    create_serializer,
)
from botocore.validate import (  # type: ignore[import-untyped]  # see above
    ParamValidator,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai import OpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from stemcache.prompt.part import Document, Image
from stemcache.prompt.render import chat as render_chat
from stemcache.prompt.render import converse as render_converse
from stemcache.prompt.render import messages as render_messages
from stemcache.prompt.render import responses as render_responses
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api
from tests.prompt.fake_messages import FakeMessages, fake_messages, faults
from tests.prompt.rendering import (
    PDF,
    PNG,
    RULES,
    SEARCH,
    assistant,
    call,
    cases,
    laid,
    marked,
    marks,
    result,
    thought,
    user,
)
from tests.prompt.typed_dicts import misfits
from tests.server.live_server import LiveServer, serve

MESSAGES_BODY: Any = MessageCreateParamsNonStreaming
CHAT_BODY: Any = CompletionCreateParamsNonStreaming
RESPONSES_BODY: Any = ResponseCreateParamsNonStreaming


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeMessages]:
    """One server for all tests of the module."""
    with fake_messages() as server:
        yield server


@pytest.fixture(scope="module")
def toy() -> Iterator[LiveServer]:
    """`stemcache serve --model toy`."""
    with serve() as server:
        yield server


@given(drawn=marked(Api.MESSAGES))
def test_messages_bodies_fit_the_clients_types_and_the_apis_rules(drawn: Any) -> None:
    """Of any conversation with any marks."""
    case, placement = drawn
    body = render_messages.render(case.laid, placement, model="m", options={"max_tokens": 5})
    assert misfits(body, MESSAGES_BODY) == []
    assert faults(json.loads(json.dumps(body))) == []


@given(drawn=marked(Api.CHAT))
def test_chat_bodies_fit_the_clients_types(drawn: Any) -> None:
    """Of any conversation with any marks, but for what other servers' models thought."""
    case, placement = drawn
    options = {"prompt_cache_key": "k", "temperature": 0}
    body = render_chat.render(case.laid, placement, model="m", options=options)
    for message in body["messages"]:
        message.pop("reasoning_content", None)
    assert misfits(body, CHAT_BODY) == []


@given(drawn=marked(Api.RESPONSES))
def test_responses_bodies_fit_the_clients_types(drawn: Any) -> None:
    """Of any conversation with any marks."""
    case, placement = drawn
    options = {"prompt_cache_key": "k", "store": False}
    body = render_responses.render(case.laid, placement, model="m", options=options)
    assert misfits(body, RESPONSES_BODY) == []


@pytest.fixture(scope="module")
def converse() -> Any:
    """The operation as botocore knows it."""
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse")


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_converse_bodies_pass_botocores_validation(converse: Any, data: st.DataObject) -> None:
    """And what botocore sends reads back as what was rendered, bytes in base64."""
    case, placement = data.draw(marked(Api.CONVERSE))
    body = render_converse.render(
        case.laid, placement, model="m", options={"inferenceConfig": {"maxTokens": 5}}
    )
    report = ParamValidator().validate(body, converse.input_shape)
    assert not report.has_errors(), report.generate_report()
    request = create_serializer("rest-json").serialize_to_request(body, converse)
    sent = json.loads(request["body"])
    first, second = prompt_of(body, Api.CONVERSE), prompt_of(sent, Api.CONVERSE)
    assert [span.text for span in first.spans] == [span.text for span in second.spans]
    assert [span.marker for span in first.spans] == [span.marker for span in second.spans]


def test_botocores_validation_finds_a_fault(converse: Any) -> None:
    """So that passing it means something."""
    body = render_converse.render(laid(user("q")), marks(1), model="m", options={})
    body["messages"][0]["content"][1]["cachePoint"]["when"] = "now"
    assert ParamValidator().validate(body, converse.input_shape).has_errors()


def agent(api: Api) -> Any:
    """A turn of an agent with all that Messages and Chat have in common."""
    return laid(
        user("What is new?", Image(media_type="image/png", base64=PNG)),
        assistant(thought(api), "I look.", call("a"), call("b", '{"q": "y", "n": 1.50}')),
        user(result("b", failed=True), result("a"), "Go on."),
        tools=[SEARCH],
        system=[RULES],
    )


def test_the_anthropic_client_sends_it_and_the_api_takes_it(fake: FakeMessages) -> None:
    """Parallel calls, a thought, an image and marks of both lifetimes, through the real client."""
    file = Document(media_type="application/pdf", name="a.pdf", base64=PDF)
    prompt = laid(
        user("What is new?", Image(media_type="image/png", base64=PNG), file),
        assistant(thought(Api.MESSAGES), "I look.", call("a"), call("b", '{"q": "y", "n": 1.5}')),
        user(result("b", failed=True), result("a"), "Go on."),
        tools=[SEARCH],
        system=[RULES],
    )
    placement = marks((1, "1h"), (2, "1h"), (5, None), (11, "5m"))
    body = render_messages.render(prompt, placement, model="m", options={"max_tokens": 5})
    with anthropic.Anthropic(base_url=fake.url, api_key="none", max_retries=0) as client:
        answer = client.messages.create(**body)
    assert answer.content[0].type == "text"
    assert json.loads(fake.bodies[-1]) == body
    assert b'"input":{"q":"y","n":1.5}' in fake.bodies[-1]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda body: body["messages"].pop(0), "roles"),
        (lambda body: body["messages"][1]["content"].pop(), "results for"),
        (lambda body: body["messages"][2]["content"].reverse(), "behind other content"),
        (lambda body: body["messages"][0]["content"][0].update(text=" \n"), "non-whitespace"),
        (
            lambda body: body["messages"][1]["content"][0].update(
                cache_control={"type": "ephemeral"}
            ),
            "cache_control on thinking",
        ),
        (
            lambda body: [
                block.update(cache_control={"type": "ephemeral"})
                for block in body["messages"][2]["content"] + body["messages"][0]["content"]
            ],
            "6 blocks",
        ),
        (
            lambda body: body["messages"][2]["content"][0].update(
                cache_control={"type": "ephemeral", "ttl": "1h"}
            ),
            "longer ttl",
        ),
    ],
)
def test_the_fake_refuses_what_the_api_refuses(fake: FakeMessages, fault: Any, said: str) -> None:
    """So that its taking a body means something."""
    body: Any = render_messages.render(
        agent(Api.MESSAGES), marks((1, "1h"), (3, "5m")), model="m", options={"max_tokens": 5}
    )
    fault(body)
    with (
        anthropic.Anthropic(
            base_url=fake.url,
            api_key="none",
            max_retries=0,
        ) as client,
        pytest.raises(anthropic.BadRequestError, match=said),
    ):
        client.messages.create(**body)


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_serve_answers_chat_bodies_of_texts(toy: LiveServer, data: st.DataObject) -> None:
    """The real client, the real server: calls, results, marks. The toy takes no tools."""
    case = data.draw(cases(Api.CHAT).filter(lambda one: not _has_more(one)))
    chosen = data.draw(st.sets(st.sampled_from(case.carriers), max_size=3))
    body: Any = render_chat.render(
        case.laid,
        marks(*[(place + 1, "30m") for place in sorted(chosen)]),
        model="toy",
        options={"max_tokens": 1, "prompt_cache_key": "k"},
    )
    with OpenAI(
        base_url=f"{toy.url}/v1",
        api_key="none",
        max_retries=0,
    ) as client:
        answer = client.chat.completions.create(**body)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > 0


def _has_more(case: Any) -> bool:
    return any(isinstance(piece.part, Image | Document | None) for piece in case.laid.pieces)


def test_a_second_request_of_a_conversation_reads_the_first(toy: LiveServer) -> None:
    """On `stemcache serve` a mark that moves on keeps the prefix: the server counts it cached."""
    words = "Answer in one word, whatever is asked, and never explain it. " * 8
    first = laid(user(words), system=[RULES])
    second = laid(user(words), assistant("Yes."), user("Sure?"), system=[RULES])
    options = {"max_tokens": 1}
    with OpenAI(
        base_url=f"{toy.url}/v1",
        api_key="none",
        max_retries=0,
    ) as client:
        ask: Any = render_chat.render(first, marks(2), model="toy", options=options)
        client.chat.completions.create(**ask)
        ask = render_chat.render(second, marks(1, 4), model="toy", options=options)
        answer = client.chat.completions.create(**ask)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    cached = answer.usage.prompt_tokens_details.cached_tokens or 0
    assert cached >= len(words) - 64
