import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stemcache.errors import ModelError, RequestError, UnsupportedError
from stemcache.text.chat_template import JinjaTemplate, PlainTemplate, load_template

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] "
    "+ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITH_TOOLS = "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}" + CHATML
HELLO = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "größe", "description": "<b> & 'c'"}}


def now() -> datetime:
    """A fixed moment."""
    return datetime(2026, 5, 4, tzinfo=UTC)


def template(source: str, **special_tokens: str) -> JinjaTemplate:
    """A template of this source."""
    return JinjaTemplate(source, special_tokens=special_tokens, now=now)


def test_a_conversation_is_written_as_the_template_says() -> None:
    """With and without the beginning of an answer."""
    text = template(CHATML).render(HELLO)
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    text = template(CHATML).render(HELLO, add_generation_prompt=False)
    assert text == "<|im_start|>user\nhi<|im_end|>\n"


def test_user_text_is_not_escaped() -> None:
    """The model sees what the user wrote, HTML or template syntax and all."""
    text = template(CHATML).render([{"role": "user", "content": "<a> & {{ 7 * 7 }}"}])
    assert "<a> & {{ 7 * 7 }}" in text


def test_tools_are_written_as_json_without_html_escapes() -> None:
    """Letters, quotes and angle brackets stay as they are."""
    text = template(WITH_TOOLS).render(HELLO, tools=[TOOL])
    assert text.startswith(json.dumps(TOOL, ensure_ascii=False) + "\n")


def test_whether_a_template_takes_tools_is_read_from_it() -> None:
    """It does if it reads the name anywhere, and only then."""
    assert template(WITH_TOOLS).takes_tools
    assert not template(CHATML).takes_tools
    assert not template("{# tools #}{{ 'tools' }}").takes_tools


@pytest.mark.parametrize("form", [PlainTemplate(), template(CHATML)])
def test_tools_that_the_template_does_not_take_are_unsupported(
    form: PlainTemplate | JinjaTemplate,
) -> None:
    """They would be dropped in silence otherwise."""
    with pytest.raises(UnsupportedError, match="does not take any; leave them out") as caught:
        form.render(HELLO, tools=[TOOL])
    assert caught.value.param == "tools"


def test_templates_have_the_names_that_they_expect() -> None:
    """Special tokens, the date, loop controls, generation marks and values of the request."""
    source = (
        "{{ bos_token }}{{ strftime_now('%d %b %Y') }}"
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
        "{% break %}{% endfor %}{{ thinking }}{{ tools is none }}{{ eos_token }}"
    )
    text = template(source, bos_token="<s>", eos_token="</s>").render(
        HELLO * 2, values={"thinking": "off"}
    )
    assert text == "<s>04 May 2026hioffTrue</s>"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[5].content }}", "no element 5"),
        ("{{ messages[0].content + 1 }}", "can only concatenate"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "of 'list' object is unsafe"),
    ],
)
def test_a_template_that_fails_refuses_the_messages(source: str, reason: str) -> None:
    """Whatever goes wrong inside, and whatever it tries to reach, is the request's error."""
    with pytest.raises(RequestError, match="the model's chat template refuses the messages") as c:
        template(source).render(HELLO)
    assert reason in str(c.value)
    assert c.value.param == "messages"


def test_a_template_that_does_not_parse_is_a_broken_model() -> None:
    """It is found when loading, not at the first request."""
    with pytest.raises(ModelError, match=r"does not parse: .*; fetch the model again"):
        template("{% if %}")


def test_the_file_comes_before_the_configuration(tmp_path: Path) -> None:
    """`chat_template.jinja` is where newer models keep it."""
    config = {
        "chat_template": "old",
        "bos_token": {"content": "<s>"},
        "eos_token": None,
        "model_max_length": 5,
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert load_template(tmp_path, now=now).render(HELLO) == "old"
    (tmp_path / "chat_template.jinja").write_text("new{{ bos_token }}{{ eos_token }}")
    assert load_template(tmp_path, now=now).render(HELLO) == "new<s>"


def test_a_model_may_have_a_template_of_its_own_for_tools(tmp_path: Path) -> None:
    """It is used where tools are given."""
    named = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "tools {{ tools | length }}"},
    ]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    loaded = load_template(tmp_path, now=now)
    assert loaded.render(HELLO) == "plain"
    assert loaded.render(HELLO, tools=[TOOL]) == "tools 1"


def test_a_model_without_a_template_gets_plain_lines(tmp_path: Path) -> None:
    """One line a message, and the name of who is to speak."""
    loaded = load_template(tmp_path, now=now)
    assert loaded.render(HELLO) == "user: hi\nassistant: "
    assert loaded.render(HELLO, add_generation_prompt=False) == "user: hi\n"


def test_a_broken_configuration_is_refused(tmp_path: Path) -> None:
    """The message says where."""
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ModelError, match=r"cannot read the chat template in .*; fetch the model"):
        load_template(tmp_path, now=now)


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The base install has no jinja2."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModelError, match=r"run: pip install 'stemcache\[engine\]'"):
        template(CHATML)
