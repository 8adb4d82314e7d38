"""Plug-ins: objects that other distributions add through entry points (`importlib.metadata`).

Looking for plug-ins reads the metadata of installed distributions only; the code of a plug-in is imported when the
object is asked for. A plug-in never replaces a name: two of one name are refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from assay.errors import PlugInError

Plugged = TypeVar("Plugged")


class PlugIns(Mapping[str, Plugged], Generic[Plugged]):
    """The plug-ins of one entry-point group by name, each imported when it is asked for, and what assay itself has.

    Args:
        group: of the entry points.
        accepts: tells an object that belongs to the group.
        description: of such an object, for messages.
        own: the objects of assay itself by name, which stand before the plug-ins in the same table.
        reserved: returns further names that no plug-in may have.
    """

    def __init__(
        self,
        group: str,
        accepts: Callable[[object], bool],
        description: str,
        reserved: Callable[[], Iterable[str]] = tuple,
        own: Mapping[str, Plugged] | None = None,
    ) -> None:
        self._group = group
        self._accepts = accepts
        self._description = description
        self._reserved = reserved
        self._own = dict(own or {})
        self._loaded = self._own.copy()

    def __getitem__(self, name: str) -> Plugged:
        """Return the object of that name.

        Raises:
            KeyError: there is none.
            PlugInError: it cannot be imported, or it is not what the group holds.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(self._entries[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, those of plug-ins last and in alphabetical order; nothing is imported.

        Raises:
            PlugInError: a name is used twice.
        """
        return iter((*self._own, *self._entries))

    def __len__(self) -> int:
        return len(self._own) + len(self._entries)

    @cached_property
    def _entries(self) -> Mapping[str, EntryPoint]:
        entries: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=self._group), key=lambda entry: entry.name):
            other = entries.setdefault(entry.name, entry)
            # one distribution is seen twice where two folders of the path hold its metadata
            if (other.value, _distribution(other)) != (entry.value, _distribution(entry)):
                raise PlugInError(
                    f"{plug_in_origin(other)} and {plug_in_origin(entry)} have one name; expected different names"
                )
        clashes = [entries[name] for name in (*self._own, *self._reserved()) if name in entries]
        if clashes:
            raise PlugInError(f"{plug_in_origin(clashes[0])}: assay itself uses this name; expected another name")
        return entries

    def _load(self, entry: EntryPoint) -> Plugged:
        try:
            loaded: Plugged = entry.load()
        except (Exception, SystemExit) as error:  # importing a plug-in runs code of others, which may raise anything
            message = " ".join(f"{type(error).__name__}: {error}".split())
            raise PlugInError(
                f"{plug_in_origin(entry)} cannot be imported ({message}); expected a plug-in that works: "
                "repair or uninstall it"
            ) from error
        if not self._accepts(loaded):
            raise PlugInError(
                f"{plug_in_origin(entry)} is of type {type(loaded).__name__}; expected {self._description}"
            )
        # an object is requested by the name of its entry point, and its results have its own
        name = getattr(loaded, "name", entry.name)
        if name != entry.name:
            raise PlugInError(f"{plug_in_origin(entry)} has the name {name!r}; expected that of its entry point")
        return loaded


def plug_in_origin(entry: EntryPoint) -> str:
    """Return the entry point and its distribution in words."""
    return f"plug-in {entry.name!r} of {_distribution(entry)} ({entry.group}: {entry.value})"


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
