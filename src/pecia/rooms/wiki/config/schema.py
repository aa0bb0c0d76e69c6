"""The settings of a space: what they may hold, and who may set them where. Pure."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Scope: TypeAlias = Literal["project", "user"]
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """`scope` is where it may stand, None for either; `lands` where it goes when it is nowhere."""

    scope: Scope | None
    lands: Scope
    by_agents: bool = False


LEAVES: dict[Path, Leaf] = {
    ("content", "dir"): Leaf("project", "project"),
    ("github", "oauthAppClientId"): Leaf(None, "user"),
    ("server", "host"): Leaf(None, "user"),
    ("server", "openOnAgentEdit"): Leaf(None, "user"),
    ("preview", "baseUrl"): Leaf("project", "project"),
    ("folders",): Leaf(None, "project", by_agents=True),
    ("git", "autoInit"): Leaf("project", "project"),
    ("mcp", "autoStart"): Leaf(None, "user"),
    ("mcp", "tools", "read_document", "historyDepth"): Leaf(None, "user", by_agents=True),
    ("mcp", "tools", "search", "maxResults"): Leaf(None, "user", by_agents=True),
    ("appearance", "theme"): Leaf("user", "user"),
    ("appearance", "editorModeDefault"): Leaf("user", "user"),
    ("autoSync", "enabled"): Leaf("project", "project"),
}
REMOVED: dict[Path, str] = {
    ("content", "include"): "What is a document is said in `.okignore`: remove this key.",
    ("content", "exclude"): "Put these patterns in `.okignore`, and remove this key.",
}


class Loose(BaseModel):
    """Keys that nobody knows are kept: the file may serve others too."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True, strict=True)


def _inside(text: str) -> str:
    parts = text.split("/")
    if text.startswith("/") or ".." in parts or "\\" in text or "\0" in text:
        raise ValueError("must be a folder inside the project")
    if any(it.startswith(".") and it != "." for it in parts):
        raise ValueError("must not be hidden")
    return text


def _web(text: str) -> str:
    found = urlsplit(text)
    if found.scheme not in ("http", "https") or not found.netloc:
        raise ValueError("must be a URL that begins with http:// or https://")
    return text


class Content(Loose):
    dir: Annotated[str, AfterValidator(_inside)] = "."


class Github(Loose):
    oauthAppClientId: str | None = None


class Server(Loose):
    host: str = Field(default="localhost", min_length=1, pattern=r"^[A-Za-z0-9.:\[\]_-]+$")
    openOnAgentEdit: bool = False


class Preview(Loose):
    baseUrl: Annotated[str, AfterValidator(_web)] | None = None


class Shared(Loose):
    """What a rule says of every document that it fits."""

    title: str | None = None
    description: str | None = None
    tags: list[str] | None = None


class FolderRule(Loose):
    match: str = Field(min_length=1)
    frontmatter: Shared


class Git(Loose):
    autoInit: bool = False


class ReadDocument(Loose):
    historyDepth: int = Field(default=5, ge=0)


class Search(Loose):
    maxResults: int = Field(default=50, ge=1)


class Tools(Loose):
    read_document: ReadDocument = ReadDocument()
    search: Search = Search()


class Mcp(Loose):
    autoStart: bool = True
    tools: Tools = Tools()


class Appearance(Loose):
    theme: Literal["light", "dark", "system"] | None = None
    editorModeDefault: Literal["wysiwyg", "source"] | None = None


class AutoSync(Loose):
    enabled: bool | None = None


class Config(Loose):
    """The whole, as merged."""

    content: Content = Content()
    github: Github = Github()
    server: Server = Server()
    preview: Preview = Preview()
    folders: list[FolderRule] = []
    git: Git = Git()
    mcp: Mcp = Mcp()
    appearance: Appearance = Appearance()
    autoSync: AutoSync = AutoSync()

    def shown(self) -> dict[str, Any]:
        """As JSON, without what has no value."""
        return self.model_dump(mode="json", exclude_none=True)
