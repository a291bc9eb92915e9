"""A GGUF file, written by the format's own library, read directly and converted."""

from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
import pytest
import transformers

from stemcache.engine.torch.convert import convert
from stemcache.engine.torch.model import TorchModel
from tests.engine.torch.twins import Ints, MakeTwin, Twin, step

PIECES = [*"abcdefghijklmnopqrstuvwxyz0123456789", "Ġ", "ab", "ĠĠ"]


def write_gguf(twin: Twin, file: Path) -> None:
    """Write the twin's weights the way llama.cpp's converter does."""
    config = twin.oracle.config
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    filler = [f"<{i}>" for i in range(config.vocab_size - len(special) - len(PIECES))]
    writer.add_token_list([*special, *PIECES, *filler])
    writer.add_token_types([3] * 3 + [1] * (config.vocab_size - 3))
    writer.add_token_merges(["a b", "Ġ Ġ"])
    writer.add_eos_token_id(2)
    writer.add_bos_token_id(1)
    writer.add_chat_template("{{ messages }}<|im_end|>")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, parameter in twin.oracle.state_dict().items():
        target = names.get_name(name, try_suffixes=(".weight",))
        assert target is not None, name
        data = parameter.numpy()
        if "q_proj" in name:
            data = interleave(data, config.num_attention_heads)
        if "k_proj" in name:
            data = interleave(data, config.num_key_value_heads)
        writer.add_tensor(target, np.ascontiguousarray(data))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """Reorder rows as GGUF keeps them for llama."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def test_gguf_directly_and_converted_equals_the_original(
    make_twin: MakeTwin, tokens: Ints, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Logits, stop tokens and chat template survive both ways in, and nothing is printed."""
    twin = make_twin(num_attention_heads=4, num_key_value_heads=2, head_dim=12)
    file = tmp_path / "gguf" / "tiny.gguf"
    file.parent.mkdir()
    write_gguf(twin, file)
    converted = tmp_path / "made" / "converted"
    capfd.readouterr()
    convert(file.parent, converted)
    expected = twin.logits(tokens[:40])[[39]]
    for path in (file, file.parent, converted):
        model = TorchModel.load(path, dtype="float32")
        model.allocate(3, 16)
        got = model.forward([step(tokens, 0, 40, np.arange(3, dtype=np.int32))])
        assert np.abs(got - expected).max() < 2e-5 * np.abs(expected).max()
        assert model.info.stop_tokens == frozenset({2})
        assert model.info.context_tokens == 512
    assert capfd.readouterr() == ("", "")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(converted))
    assert tokenizer.tokenize("ab  25") == ["ab", "ĠĠ", "2", "5"]
    assert tokenizer.chat_template == "{{ messages }}<|im_end|>"
    assert [item.name for item in converted.parent.iterdir()] == ["converted"]
