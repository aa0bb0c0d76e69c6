"""Admin: users, groups, tokens, rights, secrets and the audit log, as ordinary tools."""

from typing import TYPE_CHECKING

from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.feature import Feature
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.on_demand import deferred_tools

if TYPE_CHECKING:
    from pecia.features.admin.tools.spaces import FolderPolicy
    from pecia.features.admin.tools.user_purge import Purger

INSTRUCTIONS = (
    "Administration: users, groups, tokens, grants, sources, spaces, the audit log. whoami says "
    "who you are and what you may do. What is granted takes effect with the next call; "
    "check_access says why somebody sees a file or not. Ask the "
    "person before you remove or purge anything."
)


def build_admin(
    store: Store,
    audit_log: AuditLog,
    keyring: Keyring,
    purgers: "tuple[Purger, ...]",
    folders: "FolderPolicy",
    kinds: ConnectorRegistry,
) -> Feature:
    """The feature, over one store. `purgers` come from the other features."""
    return Feature(
        "admin",
        instructions=INSTRUCTIONS,
        tools=(
            *deferred_tools("pecia.features.admin.tools.users:user_tools", store),
            *deferred_tools("pecia.features.admin.tools.directory_groups:directory_tools", store),
            *deferred_tools(
                "pecia.features.admin.tools.user_purge:purge_tools", store, audit_log, purgers
            ),
            *deferred_tools("pecia.features.admin.tools.grants:grant_tools", store, kinds),
            *deferred_tools("pecia.features.admin.tools.secrets:secret_tools", store, keyring),
            *deferred_tools(
                "pecia.features.admin.tools.spaces:space_tools",
                store,
                folders,
                Confirmations(store, keyring),
            ),
            *deferred_tools("pecia.features.admin.tools.tokens:token_tools", store),
            *deferred_tools(
                "pecia.features.admin.tools.audit_log:audit_log_tools", store, audit_log
            ),
            *deferred_tools("pecia.features.admin.tools.jobs:job_tools", store),
        ),
    )
