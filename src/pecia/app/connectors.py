"""The connector registry: one row per kind of source."""

from pecia.adapters.connectors.access import file_selection
from pecia.adapters.connectors.folder import FOLDER
from pecia.adapters.connectors.git import GIT
from pecia.adapters.connectors.s3 import S3
from pecia.adapters.connectors.web import WEB
from pecia.app.composition.wiki import SPACE
from pecia.features.lake.tools.uploads import upload_kind
from pecia.kernel.corpus.connector_kind import ConnectorRegistry

CONNECTORS = ConnectorRegistry.of(
    (
        FOLDER,
        GIT,
        S3,
        WEB,
        upload_kind(lambda context: file_selection(context).admits),
        SPACE,
    )
)
