"""Every known setting under all its names: ours, the references' variables, the file keys. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from pecia.kernel.settings.model import SettingInfo, SettingsSection, get_setting_info

PREFIX = "PECIA_"


@dataclass(frozen=True)
class KnownSetting:
    """One setting of one part."""

    part: type[SettingsSection]
    field: str
    info: FieldInfo

    @cached_property
    def name(self) -> str:
        """The dotted name: `port`, `hub.timeout_s`."""
        return f"{self.part.section}.{self.field}".lstrip(".")

    @cached_property
    def about(self) -> SettingInfo:
        return get_setting_info(self.info)

    @cached_property
    def env(self) -> tuple[str, ...]:
        """Our variable, then the references', in the order in which they win."""
        return (PREFIX + self.name.replace(".", "_").upper(), *self.about.env)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Our key in a file, then the references'."""
        return (self.name, *self.about.keys)

    @property
    def meaning(self) -> str:
        return self.info.description or ""

    def default(self) -> object:
        """The default as a value, worked out where it depends on the machine."""
        return self.info.get_default(call_default_factory=True, validated_data={})

    def parse(self, raw: object) -> object:
        """The value that `raw` stands for. Raises pydantic's ValidationError."""
        value = self._from_text(raw) if isinstance(raw, str) else raw
        # The rest of the part is defaults: only this field is judged here.
        return getattr(self.part.model_validate({self.field: value}), self.field)

    def _from_text(self, text: str) -> object:
        shapes = set(_shapes(self.info.annotation))
        if not text.strip() and type(None) in shapes:
            return None
        if tuple in shapes:
            return tuple(word for part in text.split(",") if (word := part.strip()))
        return text


@dataclass(frozen=True)
class SettingsCatalog:
    """All settings of a program, found by any of their names."""

    settings: tuple[KnownSetting, ...]
    live: frozenset[str]

    @cached_property
    def by_name(self) -> Mapping[str, KnownSetting]:
        return {it.name: it for it in self.settings}

    @cached_property
    def by_key(self) -> Mapping[str, KnownSetting]:
        return {key: it for it in self.settings for key in it.keys}

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every environment variable that is read."""
        return frozenset(name for it in self.settings for name in it.env)

    @cached_property
    def sections(self) -> frozenset[str]:
        """Keys of a file that hold other keys."""
        return frozenset(
            ".".join(words[:depth])
            for words in (key.split(".") for key in self.by_key)
            for depth in range(1, len(words))
        )

    @cached_property
    def live_sections(self) -> frozenset[str]:
        """The same for keys that features read themselves."""
        return frozenset(
            ".".join(words[:depth])
            for words in (key.split(".") for key in self.live)
            for depth in range(1, len(words))
        )


def build_catalog(parts: Sequence[type[SettingsSection]]) -> SettingsCatalog:
    """Put the parts together. A name that two settings share is a mistake of the program."""
    settings = tuple(
        KnownSetting(part, field, info)
        for part in parts
        for field, info in part.model_fields.items()
    )
    _refuse_shared("key", settings, lambda it: it.keys)
    _refuse_shared("variable", settings, lambda it: it.env[:1])
    made = SettingsCatalog(settings, frozenset[str]().union(*(part.live for part in parts)))
    if blocked := made.by_key.keys() & (made.sections | made.live_sections):
        raise ValueError(f"a setting and a section are both called {sorted(blocked)[0]}")
    return made


def find_nearest_name(word: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return close[0]
    by_last = {name.rpartition(".")[2]: name for name in names}
    last = get_close_matches(word.rpartition(".")[2], by_last, n=1)
    return by_last[last[0]] if last else None


def _shapes(annotation: Any) -> Iterator[object]:
    """The type and, for a union, its members, without their rules."""
    yield get_origin(annotation) or annotation
    for member in get_args(annotation):
        yield get_origin(member) or member


def _refuse_shared(
    kind: str, settings: Iterable[KnownSetting], names: Callable[[KnownSetting], Iterable[str]]
) -> None:
    owners: dict[str, str] = {}
    for known in settings:
        for name in names(known):
            if owner := owners.get(name):
                raise ValueError(f"{owner} and {known.name} share the {kind} {name}")
            owners[name] = known.name
