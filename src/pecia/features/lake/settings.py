"""The settings of the lake."""

from pecia.kernel.settings.model import SettingsSection, setting
from pecia.kernel.settings.types import AbsolutePath, PositiveInt, Seconds


class LakeSettings(SettingsSection):
    """Which sources are allowed, and how they are read."""

    section = "lake"

    folders: tuple[str, ...] = setting(
        (),
        description="Folders that other administrators of a local install than its owner may add "
        "as sources, with everything below them. The owner may name any. On a server each tenant "
        "has its own: `pecia tenant allow`.",
    )
    trusted_hosts: tuple[str, ...] = setting(
        (),
        description="Internal hosts that sources of a local install, and layers of "
        "cascades, may be fetched from, as `host` or `host:port`. Public ones need no naming. On a "
        "server each tenant has its own: `pecia tenant allow`.",
    )
    authorities: AbsolutePath | None = setting(
        None,
        description="A PEM file of certificate authorities that sources may be signed by, beside "
        "those that the system trusts.",
    )
    page_timeout_s: Seconds = setting(
        30.0, unit="s", description="Timeout of one page of a site, to its last byte."
    )
    page_pause_s: Seconds = setting(
        0.1,
        unit="s",
        description="Delay between two requests to a site; its robots.txt can raise it.",
    )
    readers: PositiveInt = setting(
        2, description="How many files a worker reads at a time, in child processes."
    )
