"""Finding weights on disk, their digest, and what is said when they are not usable."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from stemcache.engine.torch.convert import convert
from stemcache.engine.torch.files import digest, locate
from stemcache.engine.torch.model import TorchModel
from stemcache.errors import ModelError
from tests.engine.torch.twins import MakeTwin


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "no weights at"),
        (["pytorch_model.bin"], "holds only .bin weights, which can run code when read"),
        (["a.gguf", "b.gguf"], r"2 GGUF files in .*; name one of them \(a.gguf, b.gguf\)"),
    ],
)
def test_a_directory_without_usable_weights_is_refused(
    tmp_path: Path, names: list[str], words: str
) -> None:
    """The message says what is there and what to give instead."""
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(ModelError, match=words):
        locate(tmp_path)


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    """A path that does not exist is named."""
    with pytest.raises(ModelError, match=r"no model at .*nowhere; give a directory"):
        locate(tmp_path / "nowhere")


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    """An index that names a file which is not there does not load."""
    index = {"weight_map": {"x": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"names model-1.safetensors, which is missing"):
        locate(tmp_path)


def test_the_digest_follows_every_byte(make_twin: MakeTwin, tmp_path: Path) -> None:
    """Equal files in another place have the same digest; one changed byte or setting another."""
    path = make_twin().path
    before = digest(locate(path))
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    assert digest(locate(copy)) == before
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert digest(locate(copy)) != before
    config = path / "config.json"
    config.write_text(config.read_text().replace("512", "513"))
    assert digest(locate(path)) != before


def test_a_damaged_file_is_refused(make_twin: MakeTwin) -> None:
    """A download cut short is said to be one."""
    path = make_twin().path
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ModelError, match=r"cannot read .*model.safetensors.*; download it again"):
        TorchModel.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("model.extra.weight", r"1 tensors in .* have no place .*\(model.extra.weight\)"),
        ("model.norm.weight", "lacks the tensor model.norm.weight; download the model again"),
    ],
)
def test_tensors_must_be_those_of_the_decoder(make_twin: MakeTwin, change: str, words: str) -> None:
    """A tensor too many is computed by nobody, a tensor too few by guess: both are refused."""
    path = make_twin().path
    weights = path / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(weights).items()}
    if change in tensors:
        del tensors[change]
    else:
        tensors[change] = next(iter(tensors.values())).clone()
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=words):
        TorchModel.load(path)


def test_weights_must_fit_the_configuration(make_twin: MakeTwin) -> None:
    """A configuration from another model is noticed before anything is computed."""
    path = make_twin().path
    config = path / "config.json"
    config.write_text(
        config.read_text().replace('"num_key_value_heads": 1', '"num_key_value_heads": 3')
    )
    with pytest.raises(ModelError, match=r"k_proj.weight in .* has 16 rows where .* says 48"):
        TorchModel.load(path)


def test_a_configuration_that_cannot_be_read_is_named(make_twin: MakeTwin) -> None:
    """The reason that transformers gives is passed on."""
    path = make_twin().path
    (path / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(ModelError, match=r"cannot read the configuration in"):
        TorchModel.load(path)


def test_convert_wants_a_gguf_file_and_a_free_place(tmp_path: Path) -> None:
    """Neither another format nor an existing target is touched."""
    with pytest.raises(ModelError, match=r"no GGUF file at"):
        convert(tmp_path, tmp_path / "out")
    (tmp_path / "model.gguf").touch()
    with pytest.raises(ModelError, match="exists already"):
        convert(tmp_path / "model.gguf", tmp_path)
    with pytest.raises(ModelError, match=r"cannot read the GGUF file"):
        convert(tmp_path / "model.gguf", tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["model.gguf"]
