"""The guide's snippets for Gemini, through Google's client to a fake that refuses as the API does.

Rules of the fake: an unknown field is refused; contents are of `user` and `model` and not empty; an
object holds a system instruction, tools or contents, for one model; a request that names an object
names its model, and has no system instruction, tools or toolConfig of its own.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai.errors import ClientError

from stemcache.prompt import Api, Conversation, Layout, Message, Text, Tool, static, turn
from stemcache.prompt.render.generate_client import generate_arguments

PAGE = (Path(__file__).parents[2] / "docs" / "prompt.md").read_text(encoding="utf-8")
MODEL = "gemini-4-argon"
FIND = Tool(name="find", description="Finds.", schema={"type": "object", "properties": {}})
_HELD = frozenset({"systemInstruction", "tools", "toolConfig"})
_OBJECT = _HELD | {"contents", "displayName", "expireTime", "model", "ttl"}
_REQUEST = _HELD | {"cachedContent", "contents", "generationConfig", "safetySettings"}


@dataclass
class Google:
    """What was sent, and the objects that it keeps."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """As the API would."""
        body = json.loads(request.content)
        path = re.sub(r"^/v1(beta)?/", "", request.url.path)
        wrong = self._wrong(path, body)
        if wrong:
            error = {"code": 400, "message": wrong, "status": "INVALID_ARGUMENT"}
            return httpx2.Response(400, json={"error": error})
        if path == "cachedContents":
            name = f"cachedContents/{len(self.objects)}"
            self.objects[name] = body
            return httpx2.Response(200, json={"name": name, "model": body["model"]})
        self.requests.append(body)
        return httpx2.Response(200, json={"candidates": []})

    def _wrong(self, path: str, body: dict[str, Any]) -> str:
        creates = path == "cachedContents"
        unknown = body.keys() - (_OBJECT if creates else _REQUEST)
        if unknown:
            return f"unknown name {min(unknown)}"
        for content in body.get("contents", ()):
            if content["role"] not in {"model", "user"} or not all(content["parts"]):
                return "contents are of user and model, and say something"
        if creates:
            return "" if body.keys() & (_HELD | {"contents"}) else "an object of nothing"
        if not body.get("contents"):
            return "contents are not specified"
        name = body.get("cachedContent")
        if name is None:
            return ""
        if name not in self.objects:
            return "no such object"
        if path != f"{self.objects[name]['model']}:generateContent":
            return "the object is of another model"
        own = body.keys() & _HELD
        return f"{min(own)} belongs into the object" if own else ""


@pytest.fixture
def google() -> Google:
    """One of this test's own."""
    return Google()


@pytest.fixture
def client(google: Google) -> Iterator[genai.Client]:
    """Google's client, which asks it."""
    with httpx2.Client(transport=httpx2.MockTransport(google.answer)) as http:
        options = genai.types.HttpOptions(httpx_client=http)
        yield genai.Client(api_key="none", http_options=options)


def names(client: genai.Client, *, rules: str = "Be kind. " * 9_000) -> dict[str, Any]:
    """What the page has by then."""
    talk = Conversation()
    talk.user("Are you there?")
    talk.append(Message("assistant", (Text("Yes."),)))
    talk.user("When do you open?")
    return {
        "client": client,
        "layout": Layout([static("rules", rules)], [FIND]),
        "model": MODEL,
        "now": turn("now", "It is noon."),
        "talk": talk,
    }


def block(word: str) -> str:
    """The one block of code that has a word."""
    (found,) = (one for one in re.findall(r"```py\w*\n(.*?)```", PAGE, re.DOTALL) if word in one)
    return str(found)


def test_arguments_of_the_page_are_taken(google: Google, client: genai.Client) -> None:
    """By the call that its comment names."""
    code = block("import generate_arguments")
    (call,) = re.findall(r"# (client\.models\.generate_content\(.*\))", code)
    there = {**names(client), "Api": Api}

    exec(f"{code}\n{call}", there)

    (sent,) = google.requests
    assert {"systemInstruction", "tools", "contents"} <= sent.keys()
    assert [one["role"] for one in sent["contents"]] == ["user", "model", "user"]


def test_an_object_holds_what_its_requests_leave_out(google: Google, client: genai.Client) -> None:
    """Both together are the request that needs no object."""
    there = names(client)

    exec(block("import create_arguments"), there)
    client.models.generate_content(**generate_arguments(there["body"]))
    whole = there["layout"].request("gemini", MODEL, there["talk"], [there["now"]])
    client.models.generate_content(**generate_arguments(whole))

    (held,) = google.objects.values()
    part, full = google.requests
    assert held["model"] == f"models/{MODEL}"
    assert part["cachedContent"] == "cachedContents/0"
    assert {name: held[name] for name in _HELD & held.keys()} == {
        name: full[name] for name in _HELD & full.keys()
    }
    assert held.get("contents", []) + part["contents"] == full["contents"]
    assert "Be kind." not in json.dumps(part)


def test_a_prefix_below_the_minimum_makes_no_object(google: Google, client: genai.Client) -> None:
    """The page's condition."""
    there = names(client, rules="Be kind.")

    exec(block("import create_arguments"), there)

    assert google.objects == {}
    assert "body" not in there


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"cached_content": "cachedContents/0", "system_instruction": "Hi."}, "belongs into the"),
        ({"cached_content": "cachedContents/9"}, "no such object"),
    ],
)
def test_the_fake_refuses_what_google_does(
    client: genai.Client, config: genai.types.GenerateContentConfigDict, said: str
) -> None:
    """Or the tests above would show nothing."""
    client.caches.create(model=MODEL, config={"system_instruction": "Be kind."})
    with pytest.raises(ClientError, match=said):
        client.models.generate_content(model=MODEL, contents="Hello", config=config)
    with pytest.raises(ClientError, match="an object of nothing"):
        client.caches.create(model=MODEL, config={"ttl": "60s"})
