"""What a setting is: a described field of a frozen part. Reads nothing from anywhere."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Required, TypeAlias, TypedDict, TypeVar, Unpack, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic.fields import FieldInfo

T = TypeVar("T")

ConvertText: TypeAlias = Callable[[str], object]
"""Turns the text of a reference's variable into our value or unit; ValueError says it cannot."""


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """What the loader and the tables need to know of a field, beside its type and default."""

    env: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    unit: str = ""
    shown_default: str = ""
    secret: bool = False
    project: bool = False
    lenient: frozenset[str] = frozenset()
    convert: Mapping[str, ConvertText] = field(default_factory=lambda: MappingProxyType({}))


class SettingOptions(TypedDict, total=False):
    """The words of `setting`."""

    description: Required[str]
    env: tuple[str, ...]
    """Names of the references that mean this setting too, the strongest first."""
    keys: tuple[str, ...]
    """Dotted keys of the references' configuration files that mean this setting too."""
    unit: str
    shown_default: str
    """What the tables say where the default depends on the machine."""
    secret: bool
    project: bool
    """A project file may set it. Closed by default: a folder that somebody cloned must not choose
    the database, the log file or where texts are sent."""
    lenient: frozenset[str]
    """Variables whose bad value is a warning, because their reference falls back to its default."""
    convert: Mapping[str, ConvertText]
    """By variable: how its text becomes our value, where unit or words differ."""


def setting(default: T, **about: Unpack[SettingOptions]) -> T:
    """One field of a part. A default that depends on the machine is given by `setting_from`."""
    return cast(T, _attach_info(Field(default=default, description=about["description"]), about))


def setting_from(factory: Callable[[], T], **about: Unpack[SettingOptions]) -> T:
    """One field whose default is worked out on the machine; say it in `shown_default`."""
    return cast(
        T, _attach_info(Field(default_factory=factory, description=about["description"]), about)
    )


@dataclass(frozen=True, slots=True)
class SettingConflict:
    """Two settings that are each right and cannot both hold. `field` is the one to change."""

    field: str
    expected: str


class SettingsSection(BaseModel):
    """The settings of the kernel or of one feature. An empty section is the kernel's."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    section: ClassVar[str] = ""
    live: ClassVar[frozenset[str]] = frozenset()
    """Keys of a configuration file, as dotted paths, that the feature reads itself, at any time."""

    def clashes(self) -> Iterator[SettingConflict]:
        """Rules over more than one field. Checked once, when every layer has been read."""
        yield from ()

    def remarks(self) -> Iterator[str]:
        """Warnings for who set this: above all, that it is accepted and unused."""
        yield from ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name, info in cls.model_fields.items():
            _require_described(f"{cls.__name__}.{name}", info)


def get_setting_info(info: FieldInfo) -> SettingInfo:
    """What was said of a field by `setting`."""
    return next(it for it in info.metadata if isinstance(it, SettingInfo))


def _attach_info(info: Any, about: SettingOptions) -> FieldInfo:
    # Pydantic types Field() as the default's type; at run time it is always a FieldInfo.
    described = cast(FieldInfo, info)
    known = {key: value for key, value in about.items() if key != "description"}
    described.metadata.append(SettingInfo(**cast(dict[str, Any], known)))
    return described


def _require_described(name: str, info: FieldInfo) -> None:
    if not any(isinstance(it, SettingInfo) for it in info.metadata):
        raise TypeError(f"{name} is not made by setting()")
    if not info.description:
        raise TypeError(f"{name} has no description")
    if info.is_required():
        raise TypeError(f"{name} has no default")
    if info.default_factory is not None and not get_setting_info(info).shown_default:
        raise TypeError(f"{name}: say in shown_default what the default is")
    if get_setting_info(info).secret != _holds_secret(info.annotation):
        raise TypeError(f"{name}: a secret is a SecretStr, and a SecretStr is a secret")
    if get_setting_info(info).secret and get_setting_info(info).project:
        raise TypeError(f"{name}: a project file is shared, so it holds no secret")


def _holds_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_holds_secret(it) for it in get_args(annotation))
