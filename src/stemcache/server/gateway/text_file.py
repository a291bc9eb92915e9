"""Files of the user's that a gateway reads whole: its configuration, and lists of keys."""

from pathlib import Path

from stemcache.errors import UsageError

__all__ = ["read_text"]

_MOST_BYTES = 4 * 2**20


def read_text(path: Path, flag: str = "--config") -> str:
    """The text of the file that a flag names. Raises UsageError.

    Without the byte order mark that editors on Windows put before it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{path} is larger than {_MOST_BYTES:,} bytes; give a text file")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot read {path}, the file of {flag}: {reason}; check the path"
        ) from None
