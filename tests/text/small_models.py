"""Model directories made in tests: a trained byte-level tokenizer and a template."""

from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

__all__ = ["CHATML", "STRIPS_THOUGHTS", "WITH_TOOLS", "model_directory"]

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] "
    "+ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITH_TOOLS = (
    "{% if tools %}<|im_start|>system\n"
    "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}"
    "<tool_call>{{ call.function.name }} {{ call.function.arguments | tojson }}</tool_call>"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>{% endif %}{% endif %}"
)
STRIPS_THOUGHTS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if loop.last %}{{ m.content }}{% else %}{{ m.content.split('</think>')[-1] }}{% endif %}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SAMPLES = [
    "the quick brown fox says hello",
    "über Käse 12 345",
    "日本語 😀",
    "x = {'a': 1}\n\n\tpass",
]
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|end|>")


def model_directory(
    directory: Path, template: str = CHATML, *, added: tuple[AddedToken, ...] = ()
) -> Path:
    """A directory with `tokenizer.json` and `chat_template.jinja`."""
    inner = Tokenizer.from_str(_trained())
    inner.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    inner.add_tokens([AddedToken("<tool_call>", normalized=False), *added])
    directory.mkdir(parents=True, exist_ok=True)
    inner.save(str(directory / "tokenizer.json"))
    (directory / "chat_template.jinja").write_text(template, encoding="utf-8")
    return directory


@cache
def _trained() -> str:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator(SAMPLES * 3, trainer)
    return str(inner.to_str())
