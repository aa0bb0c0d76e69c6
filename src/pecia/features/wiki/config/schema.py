"""The settings of a space: their types, and who may set them in which file. Pure."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pecia.kernel.text.links.resolver import normalize_path

ConfigScope: TypeAlias = Literal["project", "user"]
ConfigPath: TypeAlias = tuple[str, ...]
SuggestRule: TypeAlias = Literal["readers", "agents"]


@dataclass(frozen=True, slots=True)
class ConfigLeaf:
    """`scope` is the allowed file, None for either; `lands` is the default file for a new value."""

    scope: ConfigScope | None
    default_scope: ConfigScope
    is_agent_settable: bool = False


LEAVES: dict[ConfigPath, ConfigLeaf] = {
    ("content", "dir"): ConfigLeaf("project", "project"),
    ("github", "oauthAppClientId"): ConfigLeaf(None, "user"),
    ("server", "host"): ConfigLeaf(None, "user"),
    ("server", "openOnAgentEdit"): ConfigLeaf(None, "user"),
    ("preview", "baseUrl"): ConfigLeaf("project", "project"),
    ("folders",): ConfigLeaf(None, "project", is_agent_settable=True),
    ("git", "autoInit"): ConfigLeaf("project", "project"),
    ("mcp", "autoStart"): ConfigLeaf(None, "user"),
    ("mcp", "tools", "read_document", "historyDepth"): ConfigLeaf(
        None, "user", is_agent_settable=True
    ),
    ("mcp", "tools", "search", "maxResults"): ConfigLeaf(None, "user", is_agent_settable=True),
    ("appearance", "theme"): ConfigLeaf("user", "user"),
    ("appearance", "editorModeDefault"): ConfigLeaf("user", "user"),
    ("autoSync", "enabled"): ConfigLeaf("project", "project"),
    ("links", "roots"): ConfigLeaf("project", "project"),
    ("templates", "dir"): ConfigLeaf("project", "project"),
    ("templates", "timezone"): ConfigLeaf(None, "project"),
}
REMOVED_KEYS: dict[ConfigPath, str] = {
    ("content", "include"): "Use `.okignore` instead, and remove this key.",
    ("content", "exclude"): "Put these patterns in `.okignore`, and remove this key.",
}


class LenientModel(BaseModel):
    """Unknown keys are kept: the file may serve other programs too."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True, strict=True)


def _require_inside(text: str) -> str:
    parts = text.split("/")
    if text.startswith("/") or ".." in parts or "\\" in text or "\0" in text:
        raise ValueError("must be a folder inside the project")
    if any(it.startswith(".") and it != "." for it in parts):
        raise ValueError("must not be hidden")
    return text


def _require_web_url(text: str) -> str:
    found = urlsplit(text)
    if found.scheme not in ("http", "https") or not found.netloc:
        raise ValueError("must be a URL that begins with http:// or https://")
    return text


class ContentConfig(LenientModel):
    dir: Annotated[str, AfterValidator(_require_inside)] = "."


class GithubConfig(LenientModel):
    oauthAppClientId: str | None = None


class SpaceServerConfig(LenientModel):
    host: str = Field(default="localhost", min_length=1, pattern=r"^[A-Za-z0-9.:\[\]_-]+$")
    openOnAgentEdit: bool = False


class PreviewConfig(LenientModel):
    baseUrl: Annotated[str, AfterValidator(_require_web_url)] | None = None


class RuleFrontmatter(LenientModel):
    """Defaults that a rule gives to every matching document."""

    title: str | None = None
    description: str | None = None
    tags: list[str] | None = None


class FolderRule(LenientModel):
    """`locked`: no tool changes documents there. `suggest`: whose writes land as suggestions, those
    of people who may only read, or those of all agents as well. `template`: the document that new
    ones there begin as; empty for none."""

    match: str = Field(min_length=1)
    frontmatter: RuleFrontmatter = RuleFrontmatter()
    locked: bool = False
    suggest: SuggestRule | None = None
    template: str | None = None


class SpaceGitConfig(LenientModel):
    autoInit: bool = False


class ReadDocumentConfig(LenientModel):
    historyDepth: int = Field(default=5, ge=0)


class SpaceSearchConfig(LenientModel):
    maxResults: int = Field(default=50, ge=1)


class SpaceToolsConfig(LenientModel):
    read_document: ReadDocumentConfig = ReadDocumentConfig()
    search: SpaceSearchConfig = SpaceSearchConfig()


class SpaceMcpConfig(LenientModel):
    autoStart: bool = True
    tools: SpaceToolsConfig = SpaceToolsConfig()


class AppearanceConfig(LenientModel):
    theme: Literal["light", "dark", "system"] | None = None
    editorModeDefault: Literal["wysiwyg", "source"] | None = None


class AutoSyncConfig(LenientModel):
    enabled: bool | None = None


def _require_site_path(text: str) -> str:
    if not text.startswith("/") or text.startswith("//") or ".." in text.split("/"):
        raise ValueError("must be a path of the site that begins with one slash, such as /en")
    return text


SitePath: TypeAlias = Annotated[str, AfterValidator(_require_site_path)]
ProjectFolder: TypeAlias = Annotated[str, AfterValidator(_require_inside)]


class LinksConfig(LenientModel):
    """`roots`: the folders that addresses of the site begin in, `/en: docs/en`; a link `/en/x` is
    then one to `docs/en/x`."""

    roots: dict[SitePath, ProjectFolder] = Field(default_factory=dict, max_length=100)

    @property
    def site_roots(self) -> tuple[tuple[str, str], ...]:
        """Each with one slash ahead and none behind; nothing for the root itself."""
        return tuple(
            (lead.rstrip("/"), f"/{normalize_path('', folder)}".rstrip("/"))
            for lead, folder in sorted(self.roots.items())
        )


def _require_timezone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be the name of a time zone, such as Europe/Berlin") from None
    return text


class TemplatesConfig(LenientModel):
    """`dir`: the folder of templates, below `content.dir`; empty for none. `timezone`: of dates in
    new documents; that of the server without one."""

    dir: ProjectFolder = "templates"
    timezone: Annotated[str, AfterValidator(_require_timezone)] | None = None


class SpaceConfig(LenientModel):
    """The merged configuration."""

    content: ContentConfig = ContentConfig()
    github: GithubConfig = GithubConfig()
    server: SpaceServerConfig = SpaceServerConfig()
    preview: PreviewConfig = PreviewConfig()
    folders: list[FolderRule] = []
    git: SpaceGitConfig = SpaceGitConfig()
    mcp: SpaceMcpConfig = SpaceMcpConfig()
    appearance: AppearanceConfig = AppearanceConfig()
    autoSync: AutoSyncConfig = AutoSyncConfig()
    links: LinksConfig = LinksConfig()
    templates: TemplatesConfig = TemplatesConfig()

    def to_json(self) -> dict[str, Any]:
        """As JSON, without null values."""
        return self.model_dump(mode="json", exclude_none=True)
