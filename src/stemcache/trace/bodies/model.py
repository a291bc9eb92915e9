"""Prompts as a model's tokens: by the tokenizer and the chat template of a local directory.

With a template, a conversation is rendered as `stemcache serve` would. What the template cannot
take is written in front of it (tools, where it takes none) or in its place (media), as
`bodies.characters` writes them. Without a template, all of the conversation is written that way.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np

from stemcache.core.tokens import Tokens
from stemcache.errors import RequestError, UnsupportedError
from stemcache.text.chat_template import ChatTemplate, PlainTemplate, load_template
from stemcache.text.file_tokenizer import FileTokenizer
from stemcache.text.tokenizer import Tokenizer
from stemcache.trace.bodies.characters import rendered
from stemcache.trace.bodies.chat_shape import openai_messages, openai_tools
from stemcache.trace.bodies.prompt import Conversation, TextPrompt
from stemcache.trace.problem import BadLineError
from stemcache.wire.messages import messages_for_template

__all__ = ["ModelPrompts", "load_model_prompts"]

_TODAY = datetime(2026, 1, 1, tzinfo=UTC)
"""For templates that write the date: reading a trace twice must give one answer."""


@dataclass(frozen=True, slots=True)
class ModelPrompts:
    """Tokens of one model."""

    tokenizer: Tokenizer
    template: ChatTemplate | None
    unit: Literal["tokens"] = "tokens"

    def tokens(self, prompt: TextPrompt | Conversation) -> Tokens:
        """Linear in the prompt's length. Raises BadLineError."""
        if isinstance(prompt, TextPrompt):
            return self._encoded(prompt.text, special=True)
        if self.template is None:
            return self._encoded(rendered(prompt), special=True)
        return self._encoded(_templated(self.template, prompt), special=False)

    def _encoded(self, text: str, *, special: bool) -> Tokens:
        try:
            ids = self.tokenizer.encode(text, add_special_tokens=special)
        except (TypeError, UnicodeError):  # half of a surrogate pair
            raise BadLineError("the prompt is no valid Unicode") from None
        return np.array(ids, np.uint32)


def _templated(template: ChatTemplate, conversation: Conversation) -> str:
    try:
        # The errors of these three may say what messages hold, so their words stay here.
        messages = messages_for_template(openai_messages(conversation))
        tools = openai_tools(conversation.tools)
        try:
            return template.render(messages, tools=tools)
        except UnsupportedError:
            head = rendered(Conversation(conversation.tools, None, ()))
            return head + template.render(messages)
    except RequestError as error:
        where = f" at {error.param}" if error.param else ""
        raise BadLineError(f"the model's chat template does not take the body{where}") from None
    except RecursionError:
        raise BadLineError("the body nests too deep") from None


def load_model_prompts(directory: Path) -> ModelPrompts:
    """Read tokenizer and template. Raises ModelError where that cannot be done."""
    template = load_template(directory, now=lambda: _TODAY)
    return ModelPrompts(
        FileTokenizer(directory), None if isinstance(template, PlainTemplate) else template
    )
