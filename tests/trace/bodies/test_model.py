from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stemcache.errors import ModelError
from stemcache.text.chat_template import JinjaTemplate
from stemcache.text.tokenizer import ByteTokenizer
from stemcache.trace.bodies.characters import rendered
from stemcache.trace.bodies.model import ModelPrompts, load_model_prompts
from stemcache.trace.bodies.prompt import Conversation, TextPrompt
from stemcache.trace.problem import BadLineError

CHATML = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TALK = Conversation((), "be brief", [{"role": "user", "content": "hi"}])


def template(source: str) -> JinjaTemplate:
    """A template that reads no clock."""
    return JinjaTemplate(source, special_tokens={}, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def text(prompts: ModelPrompts, prompt: TextPrompt | Conversation) -> str:
    """What was tokenized, a byte a token."""
    return bytes(prompts.tokens(prompt).tolist()).decode()


def test_a_conversation_is_written_by_the_models_template() -> None:
    """With the beginning of the answer, as a server does."""
    prompts = ModelPrompts(ByteTokenizer(), template(CHATML))
    assert text(prompts, TALK) == "<|system|>be brief<|user|>hi<|assistant|>"
    assert text(prompts, TextPrompt("plain")) == "plain"
    assert prompts.unit == "tokens"


def test_tools_go_in_front_where_the_template_takes_none() -> None:
    """Two bodies with different tools must not look alike."""
    prompts = ModelPrompts(ByteTokenizer(), template(CHATML))
    tools = ({"type": "function", "function": {"name": "f"}},)
    head = rendered(Conversation(tools, None, ()))
    talk = Conversation(tools, TALK.system, TALK.messages)
    assert text(prompts, talk) == head + text(prompts, TALK)
    takes = ModelPrompts(ByteTokenizer(), template("{{ tools[0].function.name }}" + CHATML))
    assert text(takes, talk) == "f" + text(prompts, TALK)


def test_without_a_template_a_conversation_is_written_as_characters_are() -> None:
    """And then tokenized."""
    assert text(ModelPrompts(ByteTokenizer(), None), TALK) == rendered(TALK)


@pytest.mark.parametrize(
    ("conversation", "reason"),
    [
        (
            Conversation((), None, [{"role": "bard", "content": "secret"}]),
            "messages[0].role is none that chat templates know",
        ),
        (
            Conversation((), None, []),
            "the model's chat template does not take the body at messages",
        ),
        (
            Conversation((), None, [{"role": "user", "content": "x", "name": ["secret"]}]),
            "the model's chat template does not take the body at messages[0].name",
        ),
    ],
)
def test_a_body_that_the_template_cannot_take_is_told(
    conversation: Conversation, reason: str
) -> None:
    """By its place; what it says stays unsaid."""
    prompts = ModelPrompts(ByteTokenizer(), template(CHATML))
    with pytest.raises(BadLineError) as caught:
        prompts.tokens(conversation)
    assert caught.value.reason == reason


def test_a_template_that_refuses_is_told() -> None:
    """Its own words may hold a message's, so they are left out."""
    prompts = ModelPrompts(
        ByteTokenizer(), template("{{ raise_exception('no: ' + messages[0].content) }}")
    )
    with pytest.raises(BadLineError) as caught:
        prompts.tokens(Conversation((), None, [{"role": "user", "content": "secret"}]))
    assert caught.value.reason == "the model's chat template does not take the body at messages"


def test_half_a_surrogate_pair_is_told() -> None:
    """It has no UTF-8."""
    with pytest.raises(BadLineError) as caught:
        ModelPrompts(ByteTokenizer(), None).tokens(TextPrompt("a\ud800"))
    assert caught.value.reason == "the prompt is no valid Unicode"


def test_nesting_without_end_is_told() -> None:
    """Where parts are written as JSON, too."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    prompts = ModelPrompts(ByteTokenizer(), template(CHATML))
    with pytest.raises(BadLineError) as caught:
        prompts.tokens(Conversation((), None, [{"role": "user", "content": [deep]}]))
    assert caught.value.reason == "the body nests too deep"


def test_special_tokens_are_added_to_plain_text_only() -> None:
    """A template writes its own."""

    class Marking(ByteTokenizer):
        def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
            return [1] * add_special_tokens + list(text.encode())

    def starts(prompts: ModelPrompts) -> Sequence[int]:
        return [int(prompts.tokens(one)[0]) for one in (TextPrompt("a"), TALK)]

    assert starts(ModelPrompts(Marking(), template(CHATML))) == [1, ord("<")]
    assert starts(ModelPrompts(Marking(), None)) == [1, 1]


def test_a_directory_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    """As for a model to serve."""
    with pytest.raises(ModelError) as caught:
        load_model_prompts(tmp_path)
    assert str(caught.value) == f"no tokenizer.json in {tmp_path}; give a directory that has one"


@pytest.mark.real
def test_the_embedded_models_tokens_are_those_that_it_serves(smollm2_dir: Path) -> None:
    """Template and tokenizer come from its directory."""
    prompts = load_model_prompts(smollm2_dir)
    tokens = prompts.tokens(TALK).tolist()
    assert prompts.tokenizer.decode(tokens) == (
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
