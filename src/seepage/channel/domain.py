"""`Domain` and `Attribute`: the columns of a table, their values and the codes of
these.
"""

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, SupportsIndex

from seepage._core import checks
from seepage._core.errors import DomainError, InputError
from seepage._core.results import json_ready
from seepage._core.text import MAX_SHOWN

MISSING = "(missing)"
"""Label of the category of missing values."""


OTHER = "(other)"
"""Label of the category of pooled values; tables coded in a domain that has it put all
other values there."""


PERCENT = 100
"""The sum of the shares of an attribute."""


ALL_OTHERS = "*"
"""Key of mappings by column or attribute for those that they do not name."""


@dataclass(frozen=True)
class Attribute:
    """One column: its name and the labels of its values, in the order of their codes.

    Parameters
    ----------
    name
        The column's name.
    values
        The labels, distinct, at least one; code `i` stands for `values[i]`.
    edges
        For a binned numeric column, the ascending edges e_0 < ... < e_b of its b bins:
        bin i is e_i <= x < e_(i+1), the last one includes e_b.  Empty for categories.
    merged
        Pairs (value, label): further values that are coded as one of the labels, `"*"`
        for all other values.  Without `"*"` these are "(other)" if the attribute has
        it, else "(missing)" if it has shares, else they raise.
    shares
        How a person without an answer is given one at random, on her device: the share
        of each answer in whole percent, fixed in advance.  Empty: missing is a value
        like others, or raises.
    scores, score_errors
        The number that each answer stands for in a mean, such as the mean within an
        interval, and its standard error.  Empty: the value itself, or a midpoint.
    protects_missing
        Whether what is promised about answers is also promised about having none; only
        where people of the table have none.

    Notes
    -----
    With shares an attribute has two forms: that of records, with the answers and
    "(missing)" last (`as_coded`), and that of reports, with the answers alone
    (`as_reported`) [theory-population: No answer].

    Examples
    --------
    >>> sex = Attribute("sex", ("Female", "Male"))
    >>> sex.size, sex.code("Male")
    (2, 1)
    >>> asked = Attribute("sex", ("Female", "Male"), shares=(40, 60))
    >>> asked.as_coded.values, asked.as_coded.answers
    (('Female', 'Male', '(missing)'), 2)
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    shares: tuple[int, ...] = ()
    protects_missing: bool = False
    scores: tuple[float, ...] = ()
    score_errors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the attribute's values, edges, merged values, scores and shares."""
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(
                "an attribute's name must be a nonempty string, got "
                f"{checks.shown(self.name)}"
            )
        object.__setattr__(self, "values", tuple(checks.items(self.values, "values")))
        object.__setattr__(self, "edges", tuple(checks.numbers(self.edges, "edges")))
        object.__setattr__(self, "shares", tuple(checks.items(self.shares, "shares")))
        for name in ("scores", "score_errors"):
            numbers = tuple(checks.numbers(getattr(self, name), name))
            object.__setattr__(self, name, numbers)
        self._check_values()
        self._check_shares()
        self._check_edges()
        self._check_scores()
        pairs = [
            checks.texts(pair, "merged") for pair in checks.items(self.merged, "merged")
        ]
        object.__setattr__(self, "merged", tuple(map(tuple, pairs)))
        self._check_merged()

    @property
    def catch_all(self) -> str | None:
        """The value that stands for all values outside the attribute's domain; None if
        these raise.

        With shares that is "(missing)", unless values are merged into "(other)".
        """
        label = dict(self.merged).get(ALL_OTHERS)
        if label is None and OTHER in self._codes:
            return OTHER
        if label is None and self.shares:
            return MISSING
        return label

    def _check_values(self) -> None:
        """Raise a DomainError unless the attribute's values are different texts."""
        if not self.values:
            raise DomainError(
                f"attribute {self.name!r} must have at least one value, got none"
            )
        if not all(isinstance(value, str) for value in self.values):
            raise DomainError(f"the values of attribute {self.name!r} must be strings")
        for code, value in enumerate(self.values):
            if self._codes[value] != code:
                raise DomainError(
                    f"attribute {self.name!r} has the value {value!r} twice"
                )

    def _check_shares(self) -> None:
        """Raise a DomainError unless the attribute has one share for each answer, in
        whole percent.
        """
        checks.flag(self.protects_missing, "protects_missing")
        if not self.shares:
            if self.protects_missing:
                raise DomainError(
                    f"attribute {self.name!r} must have shares to protect what is "
                    "missing"
                )
            return
        for share in self.shares:
            checks.integer(share, "each of shares", 0, PERCENT)
        is_last = MISSING not in self.values[:-1]
        if len(self.shares) != self.answers or not is_last:
            raise DomainError(
                f"attribute {self.name!r} must have one share for each answer, and "
                f"{MISSING} last or not at all"
            )
        if sum(self.shares) != PERCENT:
            raise DomainError(
                f"the shares of attribute {self.name!r} must sum to {PERCENT}, got "
                f"{sum(self.shares)}"
            )

    def _check_merged(self) -> None:
        """Raise a DomainError unless the attribute's values are merged into values of
        it.
        """
        named_labels = set[str]()
        labels = set(self._codes)
        if self.shares:
            labels.add(MISSING)
        for pair in self.merged:
            if len(pair) != 2 or pair[0] in self._codes or pair[1] not in labels:
                raise DomainError(
                    f"attribute {self.name!r} must merge other values into one of its "
                    f"own, got {checks.shown(pair)}"
                )
            value, label = pair
            if value != ALL_OTHERS:
                named_labels.add(label)
        if self.edges and len(named_labels) > 1:
            raise DomainError(
                f"attribute {self.name!r} has bins and must merge into one of them"
            )

    def _check_scores(self) -> None:
        """Raise a DomainError unless the attribute has one score for each answer, or
        none.
        """
        are_given = bool(self.scores or self.score_errors)
        if not are_given:
            return
        sizes = {len(self.scores), len(self.score_errors)}
        are_finite = all(map(math.isfinite, (*self.scores, *self.score_errors)))
        if sizes != {self.answers} or not are_finite or min(self.score_errors) < 0:
            raise DomainError(
                f"attribute {self.name!r} must have a finite score and an error of at "
                "least 0 for each answer"
            )

    def _check_edges(self) -> None:
        """Raise a DomainError unless the attribute's bin edges ascend and fit its
        values.
        """
        if not self.edges:
            return
        if any(not low < high for low, high in pairwise(self.edges)):
            raise DomainError(f"the bin edges of attribute {self.name!r} must ascend")
        bins = len(self.values) - (MISSING in self._codes)
        if bins != len(self.edges) - 1:
            raise DomainError(
                f"attribute {self.name!r} has {len(self.edges)} edges and {bins} bins; "
                "b bins have b + 1 edges"
            )

    @cached_property
    def _codes(self) -> dict[str, int]:
        """The code of each value of the attribute."""
        return {value: code for code, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        """Alphabet size of the attribute: the number of its values."""
        return len(self.values)

    @property
    def answers(self) -> int:
        """The number of values that a report of the attribute can be of: all but
        "(missing)" with shares.
        """
        if self.shares:
            return self.size - (MISSING in self._codes)
        return self.size

    @property
    def protected_answers(self) -> int:
        """The number of the attribute's answers, also of having none, between which a
        limit holds.
        """
        return self.answers + self.protects_missing

    @property
    def as_coded(self) -> "Attribute":
        """The attribute as records are coded in it: with shares, "(missing)" is its
        last value.
        """
        if not self.shares or MISSING in self._codes:
            return self
        return replace(self, values=(*self.values, MISSING))

    @property
    def as_reported(self) -> "Attribute":
        """The attribute as reports have it: with shares, without "(missing)"."""
        if self.answers == self.size:
            return self
        return replace(self, values=self.values[:-1])

    def code(self, value: str) -> int:
        """Return the code of a value of the attribute; an unknown value raises and
        suggests the closest one.
        """
        if isinstance(value, str) and value in self._codes:
            return self._codes[value]
        hint = checks.near_miss(value, self.values)
        raise DomainError(
            f"attribute {self.name!r} has no value {checks.shown(value)}{hint}"
        )

    def restrict(self, codes: Iterable[int]) -> "Attribute":
        """Return the attribute with the values of these codes, in this order, without
        bin edges.
        """
        kept = [
            checks.integer(c, "code", 0, self.size - 1)
            for c in checks.items(codes, "codes")
        ]
        return Attribute(self.name, tuple(self.values[code] for code in kept))


class Domain:
    """An ordered collection of attributes with distinct names: the columns of a table.

    Attributes
    ----------
    names, sizes
        Names and alphabet sizes of the attributes.

    Examples
    --------
    >>> domain = Domain(
    ...     [Attribute("sex", ("Female", "Male")), Attribute("smoker", ("no", "yes"))]
    ... )
    >>> domain.names, domain.sizes, domain["sex"].values
    (('sex', 'smoker'), (2, 2), ('Female', 'Male'))
    """

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        """Check that the attributes of the domain are some, with different names."""
        self._attributes: tuple[Attribute, ...] = tuple(
            checks.items(attributes, "attributes")
        )
        for attribute in self._attributes:
            checks.instance(attribute, "each of attributes", Attribute, "an Attribute")
        if not self._attributes:
            raise DomainError("a domain must have at least one attribute, got none")
        self.names = tuple(attribute.name for attribute in self._attributes)
        self.sizes = tuple(attribute.size for attribute in self._attributes)
        self._index = {name: index for index, name in enumerate(self.names)}
        for index, name in enumerate(self.names):
            if self._index[name] != index:
                raise DomainError(f"the domain has the attribute {name!r} twice")

    def index(self, name: str | SupportsIndex) -> int:
        """Return the index of an attribute of the domain by name, or by index, which
        may be negative.
        """
        if isinstance(name, str):
            if name in self._index:
                return self._index[name]
            hint = checks.near_miss(name, self.names)
            raise DomainError(f"there is no attribute {name!r}{hint}")
        try:
            return range(len(self))[operator.index(name)]
        except (TypeError, IndexError):
            rule = f"an attribute must be a name or an index below {len(self)}"
            raise DomainError(f"{rule}, got {checks.shown(name)}") from None

    def select(self, names: Iterable[str | SupportsIndex]) -> "Domain":
        """Return the domain of these attributes only, in this order."""
        return Domain(
            self._attributes[self.index(name)] for name in checks.items(names, "names")
        )

    def rename(self, names: Mapping[str, str]) -> "Domain":
        """Return the domain with attributes renamed, old name to new."""
        for name in checks.mapping(names, "names"):
            self.index(name)
        return Domain(
            replace(a, name=names.get(a.name, a.name)) for a in self._attributes
        )

    def as_coded(self) -> "Domain":
        """Return the domain of records, see `Attribute.as_coded`."""
        return Domain(attribute.as_coded for attribute in self)

    def as_reported(self) -> "Domain":
        """Return the domain of reports, see `Attribute.as_reported`."""
        return Domain(attribute.as_reported for attribute in self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one JSON-ready dict per attribute of the domain: name, values, edges,
        and merged, scores and shares if it has any.
        """
        return [_attribute_dict(attribute) for attribute in self]

    @classmethod
    def from_dicts(cls, attributes: Iterable[Mapping[str, Any]]) -> "Domain":
        """Return the domain of the dicts of `to_dicts`."""
        import msgspec

        try:
            return cls(msgspec.convert(attributes, tuple[Attribute, ...], strict=False))
        except (msgspec.ValidationError, UnicodeEncodeError) as problem:
            raise DomainError(
                f"the attributes are not those of a domain: {problem}"
            ) from None

    def __getitem__(self, name: str | SupportsIndex) -> Attribute:
        """Return an attribute of the domain by name or index."""
        return self._attributes[self.index(name)]

    def __len__(self) -> int:
        """Return the number of attributes of the domain."""
        return len(self._attributes)

    def __iter__(self) -> Iterator[Attribute]:
        """Yield the attributes of the domain."""
        return iter(self._attributes)

    def __contains__(self, name: object) -> bool:
        """Return whether the domain has an attribute of this name."""
        return isinstance(name, str) and name in self._index

    def __eq__(self, other: object) -> bool:
        """Return whether two domains have the same attributes in the same order."""
        return isinstance(other, Domain) and self._attributes == other._attributes

    def __hash__(self) -> int:
        """Return the hash of the domain's attributes."""
        return hash(self._attributes)

    def __repr__(self) -> str:
        """Return the domain in one line: names and numbers of values of its
        attributes.
        """
        shown = [f"{a.name}[{a.size}]" for a in self._attributes[:MAX_SHOWN]]
        if len(self) > MAX_SHOWN:
            shown.append(f"{len(self) - MAX_SHOWN} more")
        return f"Domain({', '.join(shown)})"

    def differences(self, other: "Domain") -> str:
        """Describe the first difference between two domains in one line, empty if
        equal.
        """
        checks.instance(other, "other", Domain, "a Domain")
        if self.names != other.names:
            return (
                f"attributes {', '.join(self.names)} against {', '.join(other.names)}"
            )
        for mine, theirs in zip(self, other, strict=True):
            unshared = set(mine.values) ^ set(theirs.values)
            for value in (*mine.values, *theirs.values):
                if value in unshared:
                    return f"attribute {mine.name!r}: only one has {value!r}"
            if mine.values != theirs.values:
                return f"attribute {mine.name!r}: their values are in another order"
            if mine.edges != theirs.edges:
                return (
                    f"attribute {mine.name!r}: bin edges {mine.edges} against "
                    f"{theirs.edges}"
                )
            if mine.merged != theirs.merged:
                return f"attribute {mine.name!r}: they merge other values"
            if mine != theirs:
                return f"attribute {mine.name!r}: other shares or scores of its answers"
        return ""


def _attribute_dict(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as a JSON-ready dict, see `Domain.to_dicts`."""
    content = {
        "name": attribute.name,
        "values": list(attribute.values),
        "edges": json_ready(attribute.edges),
    }
    if attribute.merged:
        content["merged"] = [list(pair) for pair in attribute.merged]
    if attribute.scores:
        content["scores"] = list(attribute.scores)
        content["score_errors"] = list(attribute.score_errors)
    if attribute.shares:
        content["shares"] = list(attribute.shares)
        content["protects_missing"] = attribute.protects_missing
    return content


def for_each(domain: Domain, setting: Any, name: str) -> list[Any]:
    """Return a setting as a list with one entry per attribute of the domain.

    Parameters
    ----------
    domain
        The attributes.
    setting
        One value for all attributes, a sequence in the domain's order, or a mapping by
        name, with `"*"` for those that it does not name.
    name
        The parameter's name, for messages.
    """
    if isinstance(setting, Mapping):
        return _for_each_named(domain, setting, name)
    several = isinstance(setting, Sequence) or getattr(setting, "ndim", 0) == 1
    if several and not isinstance(setting, str):
        if len(setting) != len(domain):
            raise InputError(
                f"{name} must be one number or one for each of the {len(domain)} "
                f"attributes, got {len(setting)}",
                parameter=name,
            )
        return list(setting)
    return [setting] * len(domain)


def _for_each_named(
    domain: Domain, settings: Mapping[str, Any], name: str
) -> list[Any]:
    """Return the settings of a domain's attributes from a mapping by name, in the
    domain's order.
    """
    for attribute in settings:
        if attribute != ALL_OTHERS:
            domain.index(attribute)
    if ALL_OTHERS in settings:
        others = dict.fromkeys(domain.names, settings[ALL_OTHERS])
        settings = {**others, **settings}
    for attribute in domain.names:
        if attribute not in settings:
            raise InputError(
                f"{name} must be given for every attribute, {attribute!r} has none",
                parameter=name,
            )
    return [settings[attribute] for attribute in domain.names]
