"""The whole of what is said of templates and tokenizers that cannot be used."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stemcache.errors import ModelError, RequestError, UnsupportedError
from stemcache.text.chat_template import JinjaTemplate, PlainTemplate
from stemcache.text.file_tokenizer import FileTokenizer

HELLO = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f"}}


def template(source: str) -> JinjaTemplate:
    """A template of a model without special tokens."""
    return JinjaTemplate(source, special_tokens={}, now=lambda: datetime(2026, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('Roles must alternate.') }}", "Roles must alternate"),
        ("{{ messages[0].content + 1 }}", 'can only concatenate str (not "int") to str'),
        ("{{ messages[9].content }}", "list object has no element 9"),
    ],
)
def test_what_a_template_refuses_is_about_the_messages(source: str, reason: str) -> None:
    """In the template's own words, or Python's."""
    with pytest.raises(RequestError) as caught:
        template(source).render(HELLO)

    assert (
        f"the model's chat template refuses the messages: {reason}; send roles and contents that "
        "it takes"
    ) == str(caught.value)
    assert "messages" == caught.value.param


def test_a_template_that_does_not_parse_is_the_models() -> None:
    """It is told when the model is loaded, not with the first request."""
    with pytest.raises(ModelError) as caught:
        template("{% if %}")

    assert (
        "the model's chat template does not parse: Expected an expression, got 'end of statement "
        "block'; fetch the model again"
    ) == str(caught.value)


@pytest.mark.parametrize("one", [template("{{ messages }}"), PlainTemplate()])
def test_tools_that_a_template_would_drop_are_refused(one: JinjaTemplate | PlainTemplate) -> None:
    """A model that never saw them would answer as if they were not there."""
    with pytest.raises(UnsupportedError) as caught:
        one.render(HELLO, tools=[TOOL])

    assert (
        "tools are given, but the model's chat template does not take any; leave them out"
    ) == str(caught.value)


def test_without_jinja_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base install has none."""
    for name in [name for name in sys.modules if name.split(".")[0] == "jinja2"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModelError) as caught:
        template("x")

    assert (
        "chat templates need the package jinja2, which is not installed; run: pip install "
        "'stemcache[engine]'"
    ) == str(caught.value)


def test_without_tokenizers_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has none."""
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelError) as caught:
        FileTokenizer(tmp_path)

    assert (
        "tokenizer.json needs the package tokenizers, which is not installed; run: pip install "
        "'stemcache[engine]'"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("decoder", "named"), [(None, "nothing"), ({"type": "WordPiece"}, "WordPiece")]
)
def test_a_tokenizer_of_another_kind_is_refused(
    tmp_path: Path, decoder: dict[str, object] | None, named: str
) -> None:
    """Its tokens could not be told from their bytes."""
    if decoder is not None:
        decoder |= {"prefix": "##", "cleanup": True}
    file = tmp_path / "tokenizer.json"
    file.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "decoder": decoder,
                "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
            }
        )
    )
    with pytest.raises(ModelError) as caught:
        FileTokenizer(tmp_path)

    assert (
        f"{file} decodes by {named}, which is not supported; use a model with byte-level or "
        "SentencePiece tokens"
    ) == str(caught.value)
