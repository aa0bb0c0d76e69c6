"""One row makes a kind of source: its arguments, its credential, its place in the registry."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic import Field

from pecia.app.connectors import CONNECTORS
from pecia.features.lake.core.source_config import AddSource, build_add_input, build_config
from pecia.features.lake.tools.sources import build_credential_input
from pecia.kernel.corpus.connector import Connector
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorKind,
    ConnectorRegistry,
    CredentialFormat,
    OriginOptions,
    SourceLogin,
    SourceOrigin,
)
from pecia.kernel.errors import Conflict, InvalidFormat, InvalidInput, MissingField


class FeedOrigin(SourceOrigin):
    url: str
    most: int


class FeedOptions(OriginOptions):
    feed: str | None = Field(default=None, description="A feed's URL.")
    most: int = Field(default=100, description="With feed: how many items.")

    def build_origin(self, source_id: str) -> FeedOrigin:
        return FeedOrigin(url=self.feed or "", most=self.most)


@asynccontextmanager
async def open_feed(origin: FeedOrigin, context: ConnectorContext) -> AsyncGenerator[Connector]:
    raise NotImplementedError
    yield


class NewsOptions(OriginOptions):
    ref: str = ""


FEED = ConnectorKind(
    "feed",
    "Items of a feed.",
    FeedOrigin,
    open_feed,
    options=FeedOptions,
    credential=CredentialFormat("KEY", lambda text: SourceLogin("key", text)),
)
REGISTRY = ConnectorRegistry.of((*CONNECTORS.kinds.values(), FEED))
ADD = build_add_input(REGISTRY.addable)


def ask(**fields: object) -> AddSource:
    return ADD.model_validate({"source_id": "s", **fields})


def test_a_row_adds_its_arguments_its_protocol_and_the_format_of_its_credential() -> None:
    schema = ADD.model_json_schema()
    assert schema["properties"]["feed"]["description"] == "A feed's URL."
    assert "feed" in str(schema["properties"]["protocol"])
    assert "space" not in str(schema["properties"]["protocol"])
    value = build_credential_input(REGISTRY.addable).model_json_schema()["properties"]["value"]
    assert "feed: KEY" in value["description"]
    assert value["secret"] is True


def test_the_argument_called_as_a_kind_chooses_it() -> None:
    config = build_config(ask(feed="https://example.org/feed", most=5), REGISTRY.addable)
    assert config.kind == "feed"
    assert config.origin == {"kind": "feed", "url": "https://example.org/feed", "most": 5}
    assert FEED.parse_origin(config.origin) == FeedOrigin(url="https://example.org/feed", most=5)


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"feed": "u", "folder": "/f"}, InvalidInput, "feed"),
        ({"folder": "/f", "most": 5}, InvalidInput, "most"),
        ({"feed": "u", "protocol": "git"}, InvalidInput, "protocol"),
        ({"feed": "u", "posix": True}, InvalidInput, "posix"),
        ({"protocol": "feed"}, MissingField, "feed"),
        ({}, MissingField, "folder"),
    ],
)
def test_arguments_of_two_kinds_or_of_none_are_refused(
    fields: dict[str, object], error: type[InvalidInput], field: str
) -> None:
    with pytest.raises(error) as caught:
        build_config(ask(**fields), REGISTRY.addable)
    assert caught.value.fields["field"] == field


def test_a_credential_that_has_not_the_format_is_refused_without_being_repeated() -> None:
    assert FEED.parse_login("k") == SourceLogin("key", "k")
    with pytest.raises(InvalidFormat) as caught:
        FEED.parse_login("secret\nline")
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidInput, match="needs no credential"):
        CONNECTORS.find("folder").parse_login("x")


@pytest.mark.parametrize(
    ("name", "options", "shared"),
    [("git", None, "name"), ("news", NewsOptions, "argument 'ref'")],
)
def test_two_rows_share_neither_name_nor_argument(
    name: str, options: type[OriginOptions] | None, shared: str
) -> None:
    other = ConnectorKind(name, "", FeedOrigin, open_feed, options=options)
    with pytest.raises(Conflict, match=f"'git' and '{name}' share the {shared}"):
        ConnectorRegistry.of((*CONNECTORS.kinds.values(), other))
