"""Whether a home exists. Only starting a server creates one."""

from typing import TYPE_CHECKING

from pecia.kernel.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings


START = "pecia start FOLDER"


def has_home(settings: "KernelSettings") -> bool:
    """Whether these settings have a database. Creates nothing."""
    from pecia.kernel.store.cluster import ClusterOptions
    from pecia.kernel.store.cluster.paths import find_cluster_paths

    if settings.database_url is not None:
        return True
    return find_cluster_paths(settings.home, ClusterOptions().system) is not None


def require_home(settings: "KernelSettings", hint: str = START) -> None:
    """NotFound where these settings have no database yet. Creates nothing."""
    if settings.home.is_file():
        raise InvalidInput(
            f"the home {settings.home} is a file",
            field="home",
            got=str(settings.home),
            expected="a folder",
            hint="PECIA_HOME=/PATH names another",
        )
    if not has_home(settings):
        raise NotFound(no_home(settings), home=str(settings.home), hint=hint)


def no_home(settings: "KernelSettings") -> str:
    return f"there is no Pecia home at {settings.home} yet, and this command does not create one"
