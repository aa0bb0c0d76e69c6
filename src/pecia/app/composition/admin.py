"""Builds the admin feature over all others."""

from pecia.app.composition.wiki import SpaceFolderCheck
from pecia.features.admin.feature import build_admin
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.kernel.feature import Feature, FeatureContext


def build_admin_feature(context: FeatureContext) -> Feature:
    """The admin feature. A purge of a user asks every feature built before."""
    return build_admin(
        context.store,
        context.audit_log,
        context.keyring,
        tuple(it.purge for it in context.features if it.purge),
        SpaceFolderCheck(context.service(SpaceRoots)),
        context.connectors,
    )
