import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.render.generate import create, render
from stemcache.prompt.render.generate_client import create_arguments, generate_arguments
from stemcache.wire.api import Api
from tests.prompt.rendering import (
    PNG,
    RULES,
    UNMARKED,
    assistant,
    call,
    cases,
    laid,
    marks,
    native,
    result,
    thought,
    user,
)

SEAL = b"\xfb\xff"
PICTURE = Image(media_type="image/png", base64=PNG)


def test_settings_stand_among_the_rest_and_bytes_are_bytes() -> None:
    """Also within what a function answered."""
    seal = native(Api.GENERATE, thoughtSignature=b64encode(SEAL).decode())
    prompt = laid(
        user("q", PICTURE, Document(media_type="application/pdf", url="gs://x/a")),
        assistant(thought(Api.GENERATE), call(beside=seal)),
        user(result("a", Text("r"), PICTURE)),
        system=[RULES],
    )
    options = {"generationConfig": {"temperature": 0}, "safetySettings": []}
    made = generate_arguments(render(prompt, UNMARKED, model="m", options=options))
    assert made.keys() == {"model", "contents", "config"}
    assert made["config"] == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "temperature": 0,
        "safetySettings": [],
    }
    parts = [part for content in made["contents"] for part in content["parts"]]
    assert parts[1] == {"inlineData": {"mimeType": "image/png", "data": b"\x89PNG"}}
    assert parts[2]["fileData"]["fileUri"] == "gs://x/a"
    assert parts[3]["thoughtSignature"] == b"sig"
    assert parts[4]["thoughtSignature"] == SEAL
    assert parts[5]["functionResponse"]["parts"][0]["inlineData"]["data"] == b"\x89PNG"


def test_a_cached_contents_messages_stand_in_its_settings() -> None:
    """Where it has any."""
    prompt = laid(user("q"), assistant("a"), user("b"), system=[RULES])
    made = create_arguments(create(prompt, marks(2), model="m", options={"ttl": "60s"}))
    assert made == {
        "model": "models/m",
        "config": {
            "ttl": "60s",
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        },
    }
    assert (
        "contents"
        not in create_arguments(create(prompt, marks(1), model="m", options={}))["config"]
    )


@given(st.binary())
def test_either_alphabet_of_base64_is_read(data: bytes) -> None:
    """The API writes seals in the one, its client in the other."""
    for encode in (b64encode, urlsafe_b64encode):
        part = {"text": "", "thoughtSignature": encode(data).decode()}
        body = {"model": "m", "contents": [{"role": "model", "parts": [part]}]}
        (content,) = generate_arguments(body)["contents"]
        assert content["parts"][0]["thoughtSignature"] == data


@pytest.mark.parametrize("data", ["!", "a", "é", "a-b"])
def test_what_is_no_base64_is_refused(data: str) -> None:
    """Rather than sent as something else."""
    part = {"inlineData": {"mimeType": "image/png", "data": data}}
    with pytest.raises(UsageError, match="bytes that are no base64"):
        generate_arguments({"model": "m", "contents": [{"role": "user", "parts": [part]}]})


@given(case=cases(Api.GENERATE))
def test_the_official_client_sends_what_was_rendered(case: Any) -> None:
    """The same body, but for the model, which it puts into the address."""
    genai = pytest.importorskip("google.genai")
    httpx = pytest.importorskip("httpx2")
    sent: list[dict[str, Any]] = []

    def answer(request: Any) -> Any:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"candidates": []})

    options = {"generationConfig": {"temperature": 0.5}}
    body = render(case.laid, UNMARKED, model="m", options=options)
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        genai.Client(
            api_key="none", http_options=genai.types.HttpOptions(httpx_client=client)
        ).models.generate_content(**generate_arguments(body))
    assert _named(sent[0]) == {name: body[name] for name in body if name != "model"}


def _named(value: Any, name: str = "") -> Any:
    """The client's names and alphabet as the API's pages have them."""
    names = {
        "inline_data": "inlineData",
        "mime_type": "mimeType",
        "parameters_json_schema": "parametersJsonSchema",
    }
    if isinstance(value, dict):
        return {names.get(key, key): _named(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_named(item) for item in value]
    return value.replace("-", "+").replace("_", "/") if name == "data" else value
