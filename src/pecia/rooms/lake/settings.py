"""The settings of the lake."""

from pecia.kernel.settings.model import Part, setting
from pecia.kernel.settings.shapes import Count


class LakeSettings(Part):
    """Where sources may lie."""

    section = "lake"

    folders: tuple[str, ...] = setting(
        (),
        description="Folders that sources of a server may read, with everything below them. The "
        "owner of a local install may name any folder.",
    )
    trusted_hosts: tuple[str, ...] = setting(
        (),
        description="Hosts in the own network that sources may be fetched from, as `host` or "
        "`host:port`. Public ones need no naming.",
    )
    readers: Count = setting(
        2, description="How many files a worker reads at a time, in child processes."
    )
