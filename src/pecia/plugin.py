"""The interface for plugins: `docs/plugins.md`. Names here do not change within a minor version.

Every command imports the registrations of plugins, and so this module: names are imported when they
are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import Field as Field

    from pecia.adapters.connectors.access import egress_guard as egress_guard
    from pecia.adapters.connectors.access import file_selection as file_selection
    from pecia.adapters.connectors.access import folder_bounds as folder_bounds
    from pecia.adapters.connectors.access import open_fetcher as open_fetcher
    from pecia.adapters.connectors.access import open_local_file as open_local_file
    from pecia.adapters.connectors.filesystem.scan import FileSelection as FileSelection
    from pecia.adapters.connectors.filesystem.temp_file import temp_file as temp_file
    from pecia.adapters.http.fetch import Fetcher as Fetcher
    from pecia.adapters.http.fetch import HttpFetchLimits as HttpFetchLimits
    from pecia.kernel.corpus.connector import Connector as Connector
    from pecia.kernel.corpus.connector import ListedFile as ListedFile
    from pecia.kernel.corpus.connector import ListingEntry as ListingEntry
    from pecia.kernel.corpus.connector import OriginalFile as OriginalFile
    from pecia.kernel.corpus.connector import SkippedFile as SkippedFile
    from pecia.kernel.corpus.connector import is_storable_key as is_storable_key
    from pecia.kernel.corpus.connector_kind import ConnectorContext as ConnectorContext
    from pecia.kernel.corpus.connector_kind import ConnectorKind as ConnectorKind
    from pecia.kernel.corpus.connector_kind import CredentialFormat as CredentialFormat
    from pecia.kernel.corpus.connector_kind import LocalOrigin as LocalOrigin
    from pecia.kernel.corpus.connector_kind import OriginOptions as OriginOptions
    from pecia.kernel.corpus.connector_kind import SourceLogin as SourceLogin
    from pecia.kernel.corpus.connector_kind import SourceOrigin as SourceOrigin
    from pecia.kernel.errors import Conflict as Conflict
    from pecia.kernel.errors import Forbidden as Forbidden
    from pecia.kernel.errors import InvalidEnum as InvalidEnum
    from pecia.kernel.errors import InvalidFormat as InvalidFormat
    from pecia.kernel.errors import InvalidInput as InvalidInput
    from pecia.kernel.errors import MissingField as MissingField
    from pecia.kernel.errors import NotFound as NotFound
    from pecia.kernel.errors import PayloadTooLarge as PayloadTooLarge
    from pecia.kernel.errors import PeciaError as PeciaError
    from pecia.kernel.errors import Unavailable as Unavailable
    from pecia.kernel.errors import Unprocessable as Unprocessable
    from pecia.kernel.errors import UpstreamError as UpstreamError
    from pecia.kernel.feature import Feature as Feature
    from pecia.kernel.feature import FeatureContext as FeatureContext
    from pecia.kernel.feature import FeaturePage as FeaturePage
    from pecia.kernel.feature import FeatureRequest as FeatureRequest
    from pecia.kernel.feature import FeatureRoute as FeatureRoute
    from pecia.kernel.feature import FeatureSocket as FeatureSocket
    from pecia.kernel.feature import MessageStream as MessageStream
    from pecia.kernel.identity.caller import Caller as Caller
    from pecia.kernel.identity.caller import Scope as Scope
    from pecia.kernel.jobs import Job as Job
    from pecia.kernel.jobs import JobArguments as JobArguments
    from pecia.kernel.jobs import JobCall as JobCall
    from pecia.kernel.jobs import NoArguments as NoArguments
    from pecia.kernel.jobs import RetryPolicy as RetryPolicy
    from pecia.kernel.jobs import defer as defer
    from pecia.kernel.logs import Log as Log
    from pecia.kernel.registration import FeatureRegistration as FeatureRegistration
    from pecia.kernel.settings.model import SettingsSection as SettingsSection
    from pecia.kernel.settings.model import setting as setting
    from pecia.kernel.store.purge import PurgeTarget as PurgeTarget
    from pecia.kernel.store.queries import load_queries as load_queries
    from pecia.kernel.store.store import Store as Store
    from pecia.kernel.store.store import Transaction as Transaction
    from pecia.kernel.tool.call import Call as Call
    from pecia.kernel.tool.model import CitedOutput as CitedOutput
    from pecia.kernel.tool.model import Input as Input
    from pecia.kernel.tool.model import Output as Output
    from pecia.kernel.tool.model import Prompt as Prompt
    from pecia.kernel.tool.model import PromptArgument as PromptArgument
    from pecia.kernel.tool.model import PromptMessage as PromptMessage
    from pecia.kernel.tool.model import Resource as Resource
    from pecia.kernel.tool.model import ResourceEntry as ResourceEntry
    from pecia.kernel.tool.model import ResourcePage as ResourcePage
    from pecia.kernel.tool.model import ResourceTemplate as ResourceTemplate
    from pecia.kernel.tool.model import TextContent as TextContent
    from pecia.kernel.tool.model import Tool as Tool
    from pecia.kernel.tool.model import ToolResult as ToolResult

_MODULES = {
    "pecia.adapters.connectors.access": (
        "egress_guard",
        "file_selection",
        "folder_bounds",
        "open_fetcher",
        "open_local_file",
    ),
    "pecia.adapters.connectors.filesystem.scan": ("FileSelection",),
    "pecia.adapters.connectors.filesystem.temp_file": ("temp_file",),
    "pecia.adapters.http.fetch": ("Fetcher", "HttpFetchLimits"),
    "pecia.kernel.corpus.connector": (
        "Connector",
        "ListedFile",
        "ListingEntry",
        "OriginalFile",
        "SkippedFile",
        "is_storable_key",
    ),
    "pecia.kernel.corpus.connector_kind": (
        "ConnectorContext",
        "ConnectorKind",
        "CredentialFormat",
        "LocalOrigin",
        "OriginOptions",
        "SourceLogin",
        "SourceOrigin",
    ),
    "pecia.kernel.errors": (
        "Conflict",
        "Forbidden",
        "InvalidEnum",
        "InvalidFormat",
        "InvalidInput",
        "MissingField",
        "NotFound",
        "PayloadTooLarge",
        "PeciaError",
        "Unavailable",
        "Unprocessable",
        "UpstreamError",
    ),
    "pecia.kernel.feature": (
        "Feature",
        "FeatureContext",
        "FeaturePage",
        "FeatureRequest",
        "FeatureRoute",
        "FeatureSocket",
        "MessageStream",
    ),
    "pecia.kernel.identity.caller": ("Caller", "Scope"),
    "pecia.kernel.jobs": ("Job", "JobArguments", "JobCall", "NoArguments", "RetryPolicy", "defer"),
    "pecia.kernel.logs": ("Log",),
    "pecia.kernel.registration": ("FeatureRegistration",),
    "pecia.kernel.settings.model": ("SettingsSection", "setting"),
    "pecia.kernel.store.purge": ("PurgeTarget",),
    "pecia.kernel.store.queries": ("load_queries",),
    "pecia.kernel.store.store": ("Store", "Transaction"),
    "pecia.kernel.tool.call": ("Call",),
    "pecia.kernel.tool.model": (
        "CitedOutput",
        "Input",
        "Output",
        "Prompt",
        "PromptArgument",
        "PromptMessage",
        "Resource",
        "ResourceEntry",
        "ResourcePage",
        "ResourceTemplate",
        "TextContent",
        "Tool",
        "ToolResult",
    ),
    "pydantic": ("Field",),
}
_HOLDERS = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOLDERS:
        raise AttributeError(f"pecia.plugin has no {name!r}")
    value = getattr(import_module(_HOLDERS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOLDERS)
