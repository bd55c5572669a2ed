"""`Registry`: mechanisms and analysers by name, built in or of other packages."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from seepage._core import checks
from seepage._core.errors import InputError, Setting

if TYPE_CHECKING:
    from seepage.mechanisms.base import Mechanism


Item = TypeVar("Item")
"""What is registered: the class of a mechanism, an analyser."""


class Registry(Mapping[str, Item]):
    """Extensions of one kind by case-insensitive, unique name.

    Parameters
    ----------
    kind
        What an item is called in messages: `"mechanism"`.
    home
        The function that registers an item, as `"module:function"`.  Its module
        registers the built-in items and is imported at the first lookup, so that layers
        above the extensions can use the registry.
    group
        The entry-point group of other packages: the object of each entry point is
        registered.

    Examples
    --------
    >>> "grr" in MECHANISMS, sorted(MECHANISMS)[:3]
    (True, ['approximate-grr', 'approximate-sue', 'basic-rappor'])
    """

    def __init__(self, kind: str, home: str, group: str) -> None:
        self.kind = kind
        self.home = home
        self.group = group
        self._items: dict[str, Item] = {}
        self._unusable: str | None = None  # until the entry points are loaded

    def add(self, name: str, item: Item, *, replace: bool = False) -> Item:
        """Register an item; a name that is taken raises an InputError unless it is
        replaced.
        """
        if checks.flag(replace, "replace"):
            self._items[name.casefold()] = item
        if self._items.setdefault(name.casefold(), item) is not item:
            article = "an" if self.kind[0] in "aeiou" else "a"
            known = f"{article} {self.kind} named {name!r} is registered already ("
            raise InputError(known, Setting("replace", True), " replaces it)")
        return item

    def remove(self, name: str) -> None:
        """Unregister an item."""
        del self._items[name.casefold()]

    def find(self, name: Any) -> Item:
        """Return the item of a name, or raise an InputError that lists the known names."""
        folded = name.casefold() if isinstance(name, str) else name
        try:
            return self[checks.choice(folded, self.kind, self)]
        except InputError as unknown:
            raise InputError(
                unknown, self.unusable, parameter=unknown.parameter
            ) from None

    @property
    def unusable(self) -> str:
        """The first entry point that cannot be loaded and why, for a message; else
        empty.
        """
        self._load()
        return self._unusable or ""

    def __getitem__(self, name: str) -> Item:
        self._load()
        return self._items[name.casefold()]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._items)

    def __len__(self) -> int:
        self._load()
        return len(self._items)

    def _load(self) -> None:
        """Import the home module and register the entry points, once."""
        if self._unusable is not None:
            return
        from importlib.metadata import entry_points

        self._unusable = ""
        module, function = self.home.split(":")
        register = getattr(import_module(module), function)
        for entry in entry_points(group=self.group):
            try:
                register(entry.load())
            except Exception as reason:
                what = (
                    f"the {self.kind} {entry.value!r} of another package cannot be used"
                )
                self._unusable = self._unusable or f"; {what}: {reason}"


MECHANISMS: "Registry[type[Mechanism]]" = Registry(
    "mechanism", "seepage.mechanisms.built_in:register", "seepage.mechanisms"
)
"""Mechanism classes by name."""
