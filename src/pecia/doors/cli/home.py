"""Whether there is a home to work on. Only starting a server makes one."""

from typing import TYPE_CHECKING

from pecia.kernel.errors import NotFound

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings


def require_home(settings: "KernelSettings", hint: str = "pecia start") -> None:
    """NotFound where these settings have no database yet. Makes nothing."""
    from pecia.kernel.store.cluster import Options
    from pecia.kernel.store.cluster.places import find_places

    if settings.database_url is not None:
        return
    if find_places(settings.home, Options().system) is None:
        raise NotFound(
            f"there is no Pecia in {settings.home} yet, and this command makes none",
            home=str(settings.home),
            hint=hint,
        )
