"""Reading specs.toml: every fact with its source, and no mistake let through."""

import dataclasses
import datetime
import math
import re
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from course.specs.chips import KINDS, Chip, Gpu, facts_of
from course.specs.words import closest


@dataclass(frozen=True)
class Source:
    """Where a fact comes from.

    Attributes
    ----------
    document, url : str
        The document that states it, and its address.
    date : datetime.date
        The day on which it was read.
    read_at : str or None
        Where it was read or quoted, if not in the document itself.
    unconfirmed : str or None
        Why the fact is not certain; None if a document states it outright.
    note : str or None
        What a reader of the number should know.
    """

    document: str
    url: str
    date: datetime.date
    read_at: str | None = None
    unconfirmed: str | None = None
    note: str | None = None

    def __str__(self) -> str:
        where = f" as quoted in {self.read_at}" if self.read_at else ""
        return f"{self.document}, {self.url}, read on {self.date}{where}"

    def _repr_markdown_(self) -> str:
        where = f" as [quoted]({self.read_at}) elsewhere" if self.read_at else ""
        if self.read_at and not self.read_at.startswith("http"):
            where = f" in {self.read_at}"
        return f"[{self.document}]({self.url}), read on {self.date}{where}"


@dataclass(frozen=True)
class Catalogue:
    """All chips of a specs.toml, and the source of each fact of each."""

    chips: Mapping[str, Chip]
    sources: Mapping[str, Mapping[str, Source]]
    aliases: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text of a specs.toml.

        Raises
        ------
        ValueError
            If anything in it is wrong: the message names the chip, the fact and what to do.
        """
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"specs.toml is not TOML: {error}.") from None
        documents = {name: _source(name, table) for name, table in data["sources"].items()}
        known: dict[str, dict[str, tuple[Any, Source]]] = {}
        chips, aliases = {}, {}
        for kind in ("family", *KINDS):
            for name, entry in data.get(kind, {}).items():
                known[name] = _merge(name, entry, KINDS.get(kind, Gpu), documents, known)
                if kind in KINDS:
                    chips[name] = _build(KINDS[kind], name, known[name])
                    for alias in {_fold(word) for word in (name, *entry.get("aliases", ()))}:
                        aliases[alias] = (*aliases.get(alias, ()), name)
        used = {(s.document, s.url) for facts in known.values() for _, s in facts.values()}
        unused = [name for name, s in documents.items() if (s.document, s.url) not in used]
        if unused:
            raise ValueError(f"specs.toml: no fact uses the sources {', '.join(unused)}.")
        sources = {name: {key: s for key, (_, s) in known[name].items()} for name in chips}
        return cls(chips, sources, aliases)

    def find(self, name: str) -> Chip:
        """Return the one chip called `name`; see `chip`."""
        found = self.aliases.get(_fold(name), ())
        if len(found) == 1:
            return self.chips[found[0]]
        if found:
            raise ValueError(f"{name!r} may be {' or '.join(found)}: say which.")
        raise ValueError(f"No chip is called {name!r}. {closest(name, self.chips)}")


def _source(name: str, table: Mapping[str, Any]) -> Source:
    if unknown := table.keys() - {"document", "url", "date", "read_at"}:
        raise ValueError(f"specs.toml, source {name}: unknown entries {', '.join(unknown)}.")
    if missing := {"document", "url", "date"} - table.keys():
        raise ValueError(f"specs.toml, source {name}: {', '.join(sorted(missing))} is missing.")
    if not isinstance(table["date"], datetime.date) or not table["url"].startswith("http"):
        raise ValueError(f"specs.toml, source {name}: a URL and a plain date like 2026-11-30.")
    return Source(**table)


def _merge(
    name: str,
    entry: Mapping[str, Any],
    kind: type[Chip],
    documents: Mapping[str, Source],
    known: Mapping[str, dict[str, tuple[Any, Source]]],
) -> dict[str, tuple[Any, Source]]:
    """Return the facts of one entry with their sources: its base's, overridden by its own."""
    where = f"specs.toml, {name}"
    if unknown := entry.keys() - {"base", "aliases", "facts", "unconfirmed", "notes"}:
        raise ValueError(f"{where}: {', '.join(unknown)} stands under no source.")
    base = entry.get("base")
    if base is not None and base not in known:
        raise ValueError(f"{where}: its base {base!r} does not stand above it.")
    own: dict[str, tuple[Any, Source]] = {}
    for document, facts in entry.get("facts", {}).items():
        if document not in documents:
            raise ValueError(
                f"{where}: no source is called {document!r}. {closest(document, documents)}"
            )
        for key, value in facts.items():
            if key in own:
                raise ValueError(f"{where}: {key} is given twice, by {document} and by another.")
            _check_fact(where, kind, key, value)
            own[key] = (value, documents[document])
    merged = (known[base] if base is not None else {}) | own
    for attribute, texts in (("unconfirmed", "unconfirmed"), ("note", "notes")):
        for key, text in entry.get(texts, {}).items():
            if key not in merged:
                raise ValueError(f"{where}: {texts} speaks of {key}, which is not among its facts.")
            value, origin = merged[key]
            merged[key] = (value, dataclasses.replace(origin, **{attribute: text}))
    return merged


def _check_fact(where: str, kind: type[Chip], key: str, value: Any) -> None:
    """Refuse an unknown fact or one of the wrong kind."""
    known = {f.name for f in facts_of(kind)}
    if key not in known:
        raise ValueError(f"{where}: there is no fact {key!r}. {closest(key, known)}")
    hint = typing.get_type_hints(kind)[key]
    wanted = next((t for t in typing.get_args(hint) if t is not type(None)), hint)
    number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    right = {
        str: isinstance(value, str) and bool(value),
        int: number and isinstance(value, int),
        float: number and value > 0,
    }[wanted]
    if not right:
        raise ValueError(f"{where}: {key} = {value!r} should be a {wanted.__name__}, not negative.")
    if key == "announced" and not re.fullmatch(r"\d{4}(-\d\d){0,2}", value):
        raise ValueError(f"{where}: announced = {value!r} should be like 2022-03-22 or 2022-03.")


def _build(kind: type[Chip], name: str, sourced: Mapping[str, tuple[Any, Source]]) -> Chip:
    """Return the chip, after the checks that need more than one fact."""
    where = f"specs.toml, {name}"
    facts = {key: value for key, (value, _) in sourced.items()}
    required = {f.name for f in facts_of(kind) if f.default is dataclasses.MISSING}
    if missing := sorted(required - facts.keys()):
        raise ValueError(f"{where}: {', '.join(missing)} is missing.")
    for key, sparse in facts.items():
        if key.endswith("_sparse"):
            dense = facts.get(key.removesuffix("_sparse"))
            if dense is None or not 1.99 < sparse / dense < 2.01:
                raise ValueError(
                    f"{where}: {key} = {sparse:g} is not twice the dense peak of {dense}. Data "
                    f"sheets often print the sparse peak alone: is that what happened?"
                )
    if facts.get("sms", 0) > facts.get("die_sms", math.inf):
        raise ValueError(f"{where}: more SMs ({facts['sms']}) than on its die.")
    doubts = {key: s.unconfirmed for key, (_, s) in sourced.items() if s.unconfirmed}
    return kind(name=name, unconfirmed=doubts, **facts)


def _fold(name: str) -> str:
    """Return `name` without case, maker, spaces and dashes: what people vary."""
    return re.sub(r"^(nvidia|google|amd)|[^a-z0-9]", "", re.sub(r"[\s_-]", "", name.lower()))
