"""A model's chat template: messages to the text that the model was trained to continue.

Templates are Jinja programs that come with the weights. They run in Jinja's sandbox with the names
that transformers gives them: `raise_exception`, `strftime_now`, the filter `tojson` that leaves
HTML characters alone, `bos_token`, `eos_token` and the model's other special tokens.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from stemcache.errors import ModelError, RequestError, UnsupportedError
from stemcache.text.content_format import loops_over_parts

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["ChatTemplate", "JinjaTemplate", "PlainTemplate", "load_template"]

Message = Mapping[str, object]


_DICT_NAMES = frozenset(dir(dict))
_LOOP_NAMES = frozenset(
    {"first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex"}
)


class ChatTemplate(Protocol):
    """**Protocol**: writes a conversation as one text."""

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> str:
        """The text to tokenize; equal arguments give equal text, if the template reads no clock.

        Raises RequestError where the template refuses the messages, UnsupportedError where there
        are tools and it does not take them.
        """
        ...


class PlainTemplate:
    """`role: content` lines, for models that come without a template. Takes no tools."""

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> str:
        """One line a message."""
        del values
        if tools:
            raise _no_tools()
        lines = [f"{message['role']}: {message['content']}\n" for message in messages]
        return "".join([*lines, "assistant: "] if add_generation_prompt else lines)


class JinjaTemplate:
    """A template in Jinja. Raises ModelError where it cannot be parsed."""

    def __init__(
        self,
        source: str,
        *,
        special_tokens: Mapping[str, str],
        now: Callable[[], datetime],
        with_tools: str | None = None,
    ) -> None:
        """`with_tools` is another template, used where tools are given."""
        environment = _environment(now)
        self._special_tokens = dict(special_tokens)
        self._plain = _Parsed(environment, source)
        self._tools = _Parsed(environment, with_tools) if with_tools else self._plain

    @property
    def takes_tools(self) -> bool:
        """Whether the template reads `tools` anywhere."""
        return self._tools.takes_tools

    @property
    def takes_parts(self) -> bool:
        """Whether the template loops over a message's content: a list of parts, not a text."""
        return self._plain.takes_parts

    def reads(self, name: str) -> bool:
        """Whether the template reads a value of this name."""
        return name in self._plain.names or name in self._tools.names

    @property
    def knows_developer(self) -> bool:
        """Whether the template speaks of the role `developer`."""
        return self._plain.knows_developer

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> str:
        """As the model's authors wrote it."""
        chunks = self.generate(
            messages, tools=tools, add_generation_prompt=add_generation_prompt, values=values
        )
        return "".join(chunks)

    def generate(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] = (),
        add_generation_prompt: bool = True,
        values: Mapping[str, object] | None = None,
    ) -> Iterator[str]:
        """The same text in chunks as the template writes them, without ever holding it whole."""
        if tools and not self.takes_tools:
            raise _no_tools()
        template = self._tools if tools else self._plain
        names = {
            **self._special_tokens,
            **(values or {}),
            "messages": messages,
            # Templates test `tools is not none` as well as `if tools`.
            "tools": list(tools) or None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            yield from template.compiled.generate(names)
        except Exception as error:
            # A template is a program: whatever it raises on these messages is about the messages.
            raise RequestError(
                f"the model's chat template refuses the messages: {_words(error)}; "
                "send roles and contents that it takes",
                param="messages",
            ) from error


def _words(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _no_tools() -> UnsupportedError:
    return UnsupportedError(
        "tools are given, but the model's chat template does not take any; leave them out",
        param="tools",
    )


class _Parsed:
    def __init__(self, environment: "ImmutableSandboxedEnvironment", source: str) -> None:
        from jinja2 import TemplateError, meta  # noqa: PLC0415  # see _environment

        try:
            tree = environment.parse(source)
            self.compiled = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(
                f"the model's chat template does not parse: {error}; fetch the model again"
            ) from error
        self.names = meta.find_undeclared_variables(tree)
        self.takes_tools = "tools" in self.names
        self.takes_parts = loops_over_parts(tree)
        self.knows_developer = "'developer'" in source or '"developer"' in source


def _environment(now: Callable[[], datetime]) -> "ImmutableSandboxedEnvironment":
    try:
        from jinja2 import ext, nodes  # noqa: PLC0415  # comes with the extra `engine`
        from jinja2.exceptions import TemplateError  # noqa: PLC0415
        from jinja2.parser import Parser  # noqa: PLC0415
        from jinja2.runtime import LoopContext  # noqa: PLC0415
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ModelError(
            "chat templates need the package jinja2, which is not installed; "
            "run: pip install 'stemcache[engine]'"
        ) from None

    class Generation(ext.Extension):
        """`{% generation %}` marks the assistant's text for training; here it changes nothing."""

        tags = {"generation"}  # noqa: RUF012  # as the base class has it

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))

    class Environment(ImmutableSandboxedEnvironment):
        """The sandbox, quicker where templates spend their time: `message.role`, `loop.first`.

        Answers as its base does: a dict has no attribute of that name, so the key is what the
        base would come to, and the sandbox forbids nothing of a loop.
        """

        def getattr(self, obj: object, attribute: str) -> object:
            if type(obj) is dict and attribute not in _DICT_NAMES:
                if attribute in obj:
                    return obj[attribute]
                return self.undefined(obj=obj, name=attribute)
            if type(obj) is LoopContext and attribute in _LOOP_NAMES:
                return getattr(obj, attribute)
            return super().getattr(obj, attribute)

    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    def strftime_now(form: str) -> str:
        return now().strftime(form)

    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, ext.loopcontrols],
        # Output is text for a model, not HTML; escaping would change the tokens.
        autoescape=False,
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def _tojson(
    value: object,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002  # positional in some templates
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def load_template(directory: Path, *, now: Callable[[], datetime]) -> ChatTemplate:
    """The template of a model directory, or PlainTemplate if it has none.

    `chat_template.jinja` comes before `tokenizer_config.json`, whose entry may be one template or
    a list of named ones: `default`, and `tool_use` for conversations with tools.
    """
    config: dict[str, object] = {}
    path = directory / "tokenizer_config.json"
    try:
        if path.is_file():
            config = json.loads(path.read_text(encoding="utf-8"))
        file = directory / "chat_template.jinja"
        found = file.read_text(encoding="utf-8") if file.is_file() else config.get("chat_template")
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read the chat template in {directory}: {error}; fetch the model again"
        ) from error
    named = {"default": found} if isinstance(found, str) else {}
    if isinstance(found, list):
        named = {str(one["name"]): str(one["template"]) for one in found if isinstance(one, dict)}
    if "default" not in named:
        return PlainTemplate()
    return JinjaTemplate(
        named["default"],
        special_tokens=_special_tokens(config),
        now=now,
        with_tools=named.get("tool_use"),
    )


def _special_tokens(config: Mapping[str, object]) -> dict[str, str]:
    # A token is written as its text, or as an object with the text in `content`.
    tokens = {}
    for name, value in config.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if name.endswith("_token") and isinstance(text, str):
            tokens[name] = text
    return tokens
