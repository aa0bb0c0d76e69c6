"""The settings of the lake."""

from pecia.kernel.settings.model import SettingsSection, setting
from pecia.kernel.settings.types import AbsolutePath, PositiveInt, Seconds


class LakeSettings(SettingsSection):
    """Where sources may lie."""

    section = "lake"

    folders: tuple[str, ...] = setting(
        (),
        description="Folders that other administrators of a local install than its owner may add "
        "as sources, with everything below them. The owner may name any. On a server each tenant "
        "has its own: `pecia tenant allow`.",
    )
    trusted_hosts: tuple[str, ...] = setting(
        (),
        description="Hosts in the own network that sources of a local install, and layers of "
        "cascades, may be fetched from, as `host` or `host:port`. Public ones need no naming. On a "
        "server each tenant has its own: `pecia tenant allow`.",
    )
    authorities: AbsolutePath | None = setting(
        None,
        description="A PEM file of certificate authorities that sources may be signed by, beside "
        "those that the system trusts.",
    )
    page_timeout_s: Seconds = setting(
        30.0, unit="s", description="How long one page of a site may take, to its last byte."
    )
    page_pause_s: Seconds = setting(
        0.1,
        unit="s",
        description="The rest between two requests to a site; its robots.txt can ask for more.",
    )
    readers: PositiveInt = setting(
        2, description="How many files a worker reads at a time, in child processes."
    )
