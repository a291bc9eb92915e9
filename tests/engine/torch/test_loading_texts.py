"""The whole of what is said of files that are there and cannot be used."""

from pathlib import Path

import pytest

from stemcache.engine.torch.convert import convert
from stemcache.engine.torch.model import TorchModel
from stemcache.errors import ModelError


def test_a_conversion_of_nothing_is_refused(tmp_path: Path) -> None:
    """A directory without a GGUF file has nothing to convert."""
    with pytest.raises(ModelError) as caught:
        convert(tmp_path, tmp_path / "out")

    assert f"no GGUF file at {tmp_path}; give a .gguf file or a directory with one" == str(
        caught.value
    )


def test_a_conversion_does_not_write_over_anything(tmp_path: Path) -> None:
    """Not even an empty directory."""
    (tmp_path / "m.gguf").touch()
    (tmp_path / "out").mkdir()
    with pytest.raises(ModelError) as caught:
        convert(tmp_path / "m.gguf", tmp_path / "out")

    assert f"{tmp_path / 'out'} exists already; give a directory to be made" == str(caught.value)


def test_a_gguf_file_that_is_none_is_told(tmp_path: Path) -> None:
    """With the reason that the library gives between."""
    file = tmp_path / "m.gguf"
    file.write_bytes(b"no weights")
    with pytest.raises(ModelError) as caught:
        TorchModel.load(file)

    assert str(caught.value).startswith(f"cannot read the GGUF file {file}: ")
    assert str(caught.value).endswith("; give a directory of safetensors instead")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model_type": "no-such-model"}'])
def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path, content: str) -> None:
    """With the reason that the library gives behind."""
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ModelError) as caught:
        TorchModel.load(tmp_path)

    assert str(caught.value).startswith(f"cannot read the configuration in {tmp_path}: ")


def test_a_configuration_that_is_missing_is_told(tmp_path: Path) -> None:
    """Weights alone are no model."""
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ModelError) as caught:
        TorchModel.load(tmp_path)

    assert str(caught.value).startswith(f"cannot read the configuration in {tmp_path}: ")
