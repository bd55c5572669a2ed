"""`Registry`: mechanisms and analysers by name, built in or of other packages."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from seepage._core import checks
from seepage._core.errors import InputError, Setting

Item = TypeVar("Item")
"""What is registered: the class of a mechanism, an analyser."""


class Registry(Mapping[str, Item]):
    """Extensions of one kind by case-insensitive, unique name.

    Parameters
    ----------
    kind
        What an item is called in messages: `"mechanism"`.
    group
        The entry-point group of other packages: the object of each entry point is
        registered at the first lookup.
    register
        The function that checks an object of an entry point and adds it.

    Examples
    --------
    >>> from seepage.mechanisms.mechanism_registry import MECHANISMS
    >>> "grr" in MECHANISMS, sorted(MECHANISMS)[:3]
    (True, ['approximate-grr', 'approximate-sue', 'basic-rappor'])
    """

    def __init__(self, kind: str, group: str, register: Callable[[Any], Any]) -> None:
        """Prepare an empty registry of one kind, with the entry points of a group to
        load.
        """
        self.kind = kind
        self.group = group
        self.register = register
        self._items: dict[str, Item] = {}
        self._unusable: str | None = None  # until the entry points are loaded

    def add(self, name: str, item: Item, *, replace: bool = False) -> Item:
        """Register an item in a registry; a name that is taken raises an InputError
        unless it is replaced.
        """
        if checks.flag(replace, "replace"):
            self._items[name.casefold()] = item
        if self._items.setdefault(name.casefold(), item) is not item:
            article = "a"
            if self.kind[0] in "aeiou":
                article = "an"
            known = f"{article} {self.kind} named {name!r} is registered already ("
            raise InputError(known, Setting("replace", True), " replaces it)")
        return item

    def remove(self, name: str) -> None:
        """Remove the item of a name from a registry."""
        del self._items[name.casefold()]

    def find(self, name: Any) -> Item:
        """Return the registered item of a name, or raise an InputError that lists the
        known names.
        """
        if isinstance(name, str):
            name = name.casefold()
        try:
            return self[checks.choice(name, self.kind, self)]
        except InputError as unknown:
            raise InputError(
                unknown, self.unusable, parameter=unknown.parameter
            ) from None

    @property
    def unusable(self) -> str:
        """The first entry point of the registry that cannot be loaded and why, for a
        message; else empty.
        """
        self._load()
        return self._unusable or ""

    def __getitem__(self, name: str) -> Item:
        """Return the registered item of a name."""
        self._load()
        return self._items[name.casefold()]

    def __iter__(self) -> Iterator[str]:
        """Yield the registered names."""
        self._load()
        return iter(self._items)

    def __len__(self) -> int:
        """Return the number of registered items."""
        self._load()
        return len(self._items)

    def _load(self) -> None:
        """Register the items of the entry points, once."""
        if self._unusable is not None:
            return
        self._unusable = ""
        for entry in entry_points(group=self.group):
            try:
                self.register(entry.load())
            except Exception as reason:
                item = f"the {self.kind} {entry.value!r} of another package"
                problem = f"; {item} cannot be used: {reason}"
                self._unusable = self._unusable or problem
