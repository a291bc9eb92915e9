"""What a reload changes of what runs, in words for the log, and what none may change. Pure."""

from dataclasses import replace

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Admin, Configuration

__all__ = ["check_doors", "what_changed"]


def what_changed(before: Configuration, after: Configuration) -> list[str]:
    """`configuration`, `keys`, both or neither. Keys are those of clients and of admins."""
    changed = []
    if _without_keys(before) != _without_keys(after):
        changed.append("configuration")
    if _keys(before) != _keys(after):
        changed.append("keys")
    return changed


def check_doors(before: Configuration, after: Configuration) -> None:
    """Raise UsageError where no API key is left: who takes the last one away wants nobody in.

    Without any, everybody is let in; only a start may say so.
    """
    if before.settings.api_keys and not after.settings.api_keys:
        raise UsageError(
            "there is no API key any more, and without one everybody may ask; leave a key that "
            "nobody has, or restart the gateway to let everybody in"
        )


def _keys(configuration: Configuration) -> object:
    return configuration.settings.api_keys, configuration.admin.keys


def _without_keys(configuration: Configuration) -> Configuration:
    return replace(
        configuration,
        settings=replace(configuration.settings, api_keys=()),
        admin=Admin(open_metrics=configuration.admin.open_metrics),
    )
