"""The settings of the hub, and the names the references gave them."""

from typing import Literal, TypeAlias

from pecia.kernel.settings.convert import milliseconds
from pecia.kernel.settings.model import Part, setting
from pecia.kernel.settings.shapes import Seconds

OnConflict: TypeAlias = Literal["prefix", "first-wins", "error"]


class HubSettings(Part):
    """How other servers' tools appear under our roof."""

    section = "hub"

    timeout_s: Seconds = setting(
        60.0,
        description="How long a call through the hub may take, our own tools included.",
        unit="s",
        env=("AGGREGATOR_TIMEOUT",),
        convert={"AGGREGATOR_TIMEOUT": milliseconds},
        project=True,
    )
    on_conflict: OnConflict = setting(
        "prefix",
        description="Two tools of one name: prefix with the server, keep the first, or stop.",
        env=("AGGREGATOR_CONFLICT_RESOLUTION",),
        project=True,
    )
