"""Admin: users, groups, tokens, rights, secrets and the audit log, as ordinary tools."""

from pecia.features.admin.tools.audit_log import audit_log_tools
from pecia.features.admin.tools.directory_groups import directory_tools
from pecia.features.admin.tools.grants import grant_tools
from pecia.features.admin.tools.jobs import job_tools
from pecia.features.admin.tools.secrets import secret_tools
from pecia.features.admin.tools.spaces import FolderPolicy, space_tools
from pecia.features.admin.tools.tokens import token_tools
from pecia.features.admin.tools.user_purge import Purger, purge_tools
from pecia.features.admin.tools.users import user_tools
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.feature import Feature
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations

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
    purgers: tuple[Purger, ...],
    folders: FolderPolicy,
    kinds: ConnectorRegistry,
) -> Feature:
    """The feature, over one store. `purgers` come from the other features."""
    return Feature(
        "admin",
        instructions=INSTRUCTIONS,
        tools=(
            *user_tools(store),
            *directory_tools(store),
            *purge_tools(store, audit_log, purgers),
            *grant_tools(store, kinds),
            *secret_tools(store, keyring),
            *space_tools(store, folders, Confirmations(store, keyring)),
            *token_tools(store),
            *audit_log_tools(store, audit_log),
            *job_tools(store),
        ),
    )
