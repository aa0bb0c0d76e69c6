"""The one place that reads the process environment. Everything else is handed a mapping."""

import os
from collections.abc import Mapping
from types import MappingProxyType


def read_environment() -> Mapping[str, str]:
    """The environment as it is now; later changes do not show."""
    # Settings are read once, and this is where.
    return MappingProxyType(dict(os.environ))  # noqa: TID251
