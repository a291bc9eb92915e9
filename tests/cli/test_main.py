import subprocess
import sys

import pytest
from click.testing import CliRunner

from stemcache import __version__
from stemcache.cli.main import stemcache


def test_the_version_is_the_packages() -> None:
    """`--version` prints it."""
    result = CliRunner().invoke(stemcache, ["--version"])
    assert result.output == f"stemcache, version {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_shells_script(shell: str) -> None:
    """The script asks stemcache for what can follow."""
    result = CliRunner().invoke(stemcache, ["completion", shell])
    assert result.exit_code == 0
    assert "_STEMCACHE_COMPLETE" in result.output


def test_help_has_examples() -> None:
    """The group and each command show how they are used."""
    for arguments in (["--help"], ["serve", "--help"], ["completion", "--help"]):
        result = CliRunner().invoke(stemcache, arguments)
        assert result.exit_code == 0
        assert "Examples:" in result.output


def test_help_needs_neither_torch_nor_transformers() -> None:
    """The command line starts without what only the engine needs."""
    code = (
        "import sys\n"
        "from stemcache.cli.main import stemcache\n"
        "print({'torch', 'transformers', 'tokenizers', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
