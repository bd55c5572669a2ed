"""`Randomiser`: the published parameters of somebody else's randomiser, as transition
matrices.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.files import read_small
from seepage.channel.channel import as_matrix
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.two_level import TwoLevelMechanism
from seepage.mechanisms.unary import BasicRAPPOR, Bits

SINGLE = "value"
"""The name of the attribute of a specification that names none."""


@dataclass(frozen=True, eq=False)
class RandomisedAttribute:
    """How one attribute is randomised.

    Parameters
    ----------
    name, values
        The attribute and the labels of its values.
    reports, channel
        The labels of the reports and P(report given value), if they are few; see
        `matrix`.
    pair
        For reports that are sets of values, all treated alike: P(both, only the first,
        only the second, none of two values in the set), given each of them.
    mechanism
        The mechanism, if it is one of this package.
    copies
        The number h of independent pairs in one report: the hash functions of RAPPOR.
    """

    name: str
    values: tuple[str, ...]
    reports: tuple[str, ...] = ()
    channel: Floats | None = None
    pair: Floats | None = None
    mechanism: Mechanism | None = None
    copies: int = 1

    @property
    def matrix(self) -> Floats:
        """P(report given value): one row per value, one column per report.

        Raises an InputError where there are too many reports.
        """
        if self.channel is None or self.copies > 1:
            raise InputError(f"{self.name!r} has too many reports for a matrix")
        return self.channel


class Randomiser(dict[str, RandomisedAttribute]):
    """Randomisers of one or several attributes, by name, from published parameters.

    Parameters
    ----------
    attributes
        One `RandomisedAttribute` for each attribute: `.values`, `.reports` and
        `.matrix`.
    rounds
        How often each attribute is reported.
    memoised
        Whether the first report is stored and repeated; for RAPPOR, the permanent
        response.
    linked
        Whether the reports of a person can be linked; or groups of attributes whose
        reports can be.

    Notes
    -----
    A specification is JSON: a matrix (rows values, columns reports), the parameters of one
    attribute, or `{"attributes": {name: parameters, ...}, "rounds": 1, "memoised": false,
    "linked": true}`.  The parameters are `values` (labels) or `k` (their number) and one of

    * `mechanism` and `epsilon` (and `delta`): a registered mechanism;
    * `p` and `q`: one bit for each value, 1 with probability p for the true value and q for others;
    * `f`, `p`, `q`, and `h`, `cohorts`: RAPPOR [Erlingsson, Pihur and Korolova 2014];
    * `p`, `p0`, `p1`: forced response, an honest answer with probability p, else no (p0) or yes
      (p1);
    * `keep`: the true value with this probability, else one of the others uniformly;
    * `matrix`, and `reports` (labels).

    Examples
    --------
    >>> survey = Randomiser.read(
    ...     {"p": 4 / 6, "p0": 1 / 6, "p1": 1 / 6, "values": ["no", "yes"]}
    ... )
    >>> survey["value"].reports, survey["value"].matrix.round(4).tolist()
    (('no', 'yes'), [[0.8333, 0.1667], [0.1667, 0.8333]])
    >>> Randomiser.read({"keeep": 0.5, "k": 3})
    Traceback (most recent call last):
    seepage.InputError: there is no key 'keeep' in 'value'; did you mean 'keep'?
    """

    def __init__(
        self,
        attributes: Sequence[RandomisedAttribute],
        rounds: int = 1,
        memoised: bool = False,
        linked: bool | Sequence[Sequence[str]] = True,
    ) -> None:
        kind = RandomisedAttribute, "a RandomisedAttribute"
        given = checks.items(attributes, "attributes")
        made = [checks.instance(one, "each of attributes", *kind) for one in given]
        super().__init__((one.name, one) for one in made)
        self.rounds = checks.integer(rounds, "rounds", 1, checks.MAX_RECORDS)
        self.memoised = checks.flag(memoised, "memoised")
        self.groups = self._groups(linked)
        self.linked = linked if isinstance(linked, bool) else self.groups

    def _groups(self, linked: Any) -> tuple[tuple[str, ...], ...]:
        """Return the groups of attributes whose reports can be linked."""
        if isinstance(linked, bool):
            return (tuple(self),) if linked else tuple((name,) for name in self)
        groups = [
            tuple(checks.texts(one, "linked")) for one in checks.items(linked, "linked")
        ]
        named = [
            checks.choice(name, "each of linked", self)
            for group in groups
            for name in group
        ]
        if len(set(named)) < len(named):
            raise checks.violation(
                "linked", "groups without a common attribute", groups
            )
        return (*groups, *((name,) for name in self if name not in named))

    def __missing__(self, name: str) -> RandomisedAttribute:
        return self[checks.choice(name, "attribute", self)]

    def __repr__(self) -> str:
        return f"Randomiser({', '.join(self)}; {self.rounds} rounds)"

    @classmethod
    def read(cls, source: Any) -> "Randomiser":
        """Return the randomiser of a specification: a mapping, a matrix, or a JSON or
        CSV file.
        """
        if isinstance(source, Randomiser):
            return source
        if isinstance(source, Mechanism):
            return cls([of_mechanism(SINGLE, _labels(SINGLE, None, source.k), source)])
        if isinstance(source, (str, os.PathLike)):
            source = read_content(source)
        if not isinstance(source, Mapping):
            source = {"matrix": source}
        if "attributes" not in source:
            return cls([_attribute(SINGLE, source)])
        whole = _converted(source, _Specification, "the specification")
        attributes = [
            _attribute(name, given) for name, given in whole.attributes.items()
        ]
        return cls(attributes, whole.rounds, whole.memoised, whole.linked)


# Mechanisms ---------------------------------------------------------------------------


def of_mechanism(
    name: str, values: tuple[str, ...], made: Mechanism, copies: int = 1
) -> RandomisedAttribute:
    """Return a mechanism of this package, with its matrix or that of two values."""
    reports = values
    channel = None
    pair = None
    with suppress(InputError):  # too many reports
        channel = as_matrix(made.channel())
        if channel.shape[1] != len(values):
            reports = tuple(map(str, range(channel.shape[1])))
    if (
        isinstance(made, TwoLevelMechanism)
        and made.k > 1
        and (channel is None or made.size != 1)
    ):
        inside = outside = made.other
        if (w := made.size) is not None:
            inside = Fraction(w - 1, made.k - 1)
            outside = Fraction(w, made.k - 1)
        pair = _pair(made.true, inside, outside)
    return RandomisedAttribute(name, values, reports, channel, pair, made, copies)


def _pair(p: Fraction, inside: Fraction, outside: Fraction) -> Floats:
    """Return P(both, first, second, none of two values in the set), given each of them.

    The true value is in the set with probability p; another one with probability
    `inside` if the true one is, else `outside`.
    """
    both = p * inside
    own = p * (1 - inside)
    other = (1 - p) * outside
    none = (1 - p) * (1 - outside)
    return np.array(
        [[both, own, other, none], [both, other, own, none]], dtype=np.float64
    )


# Specifications -----------------------------------------------------------------------

Labels = list[str | float | bool]


Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


Count = Annotated[int, msgspec.Meta(ge=1)]


class _Specification(msgspec.Struct):
    attributes: Annotated[dict[str, dict[str, Any]], msgspec.Meta(min_length=1)]
    rounds: Count = 1
    memoised: bool = False
    linked: bool | list[list[str]] = True


class _Parameters(msgspec.Struct):
    """All keys of the parameters of an attribute; `KINDS` has those that belong
    together.
    """

    values: Labels | None = None
    k: Count | None = None
    matrix: Any = None
    reports: Labels | None = None
    mechanism: str = ""
    epsilon: float = 0.0
    delta: float = 0.0
    keep: Probability = 0.0
    f: Probability = 0.0
    p: Probability = 0.0
    q: Probability = 0.0
    p0: Probability = 0.0
    p1: Probability = 0.0
    h: Count = 1
    cohorts: Count = 1  # of different hash functions, which change no epsilon


KINDS = {
    "matrix": ("matrix", "reports"),
    "mechanism": ("mechanism", "epsilon", "delta"),
    "keep": ("keep",),
    "p0": ("p", "p0", "p1"),
    "f": ("f", "p", "q", "h", "cohorts"),
    "q": ("p", "q"),
}
"""The keys of each kind of parameters, by the key that tells it from those below."""


OPTIONAL = ("reports", "delta", "h", "cohorts")


def _attribute(name: str, given: Mapping[str, Any]) -> RandomisedAttribute:
    """Return the attribute of parameters, of the first kind whose own key is given."""
    kind = next((key for key in KINDS if key in given), None)
    what = repr(name)
    if kind is None:
        _check_keys(given, _Parameters.__struct_fields__, what)
        raise InputError(
            f"{what} must have one of the keys {', '.join(KINDS)}, got {', '.join(given) or 'none'}"
        )
    _check_keys(given, ("values", "k", *KINDS[kind]), what)
    for key in KINDS[kind]:
        if key not in given and key not in OPTIONAL:
            raise InputError(f"{what} cannot be read: there is no key {key!r}")
    if kind == "matrix":
        given = {"k": len(as_matrix(given["matrix"], "matrix")), **given}
    elif kind == "p0":
        given = {"values": ["no", "yes"], **given}
    read = _converted(given, _Parameters, what)
    return _randomised(kind, name, _labels(name, read.values, read.k), read)


def _randomised(
    kind: str, name: str, values: tuple[str, ...], given: _Parameters
) -> RandomisedAttribute:
    """Return the attribute of one kind of parameters: a mechanism, bits or a matrix."""
    k = len(values)
    p = given.p
    q = given.q
    reports = values
    if kind == "mechanism":
        family = MECHANISMS.find(given.mechanism)
        return of_mechanism(name, values, family.create(k, given.epsilon, given.delta))
    if kind == "f":
        return of_mechanism(name, values, BasicRAPPOR(k, given.f, p, q), given.h)
    if kind == "q":
        made = None
        if (
            0 < min(p, q) <= max(p, q) < 1
        ):  # with p < q the bits are those of the complement
            made = Bits(k, *((p, q) if p >= q else (1 - p, 1 - q)))
        pair = _pair(Fraction(p), Fraction(q), Fraction(q)) if k > 1 else None
        return RandomisedAttribute(name, values, pair=pair, mechanism=made)
    if kind == "matrix":
        matrix = as_matrix(given.matrix, "matrix")
        if k != len(matrix):
            raise checks.violation("k", f"the number of rows, {len(matrix)}", k)
        reports = _labels(name, given.reports, matrix.shape[1])
    elif kind == "keep":
        matrix = np.full((k, k), (1 - given.keep) / max(1, k - 1))
        np.fill_diagonal(matrix, given.keep if k > 1 else 1.0)
    else:
        no = given.p0
        yes = given.p1
        if abs(p + no + yes - 1) > 1e-9 or k != 2:
            rule = f"p + p0 + p1 must be 1, got {p + no + yes:.12g}"
            raise InputError(f"{name!r} cannot be read: {rule}, for 2 values, got {k}")
        matrix = np.array([[p + no, yes], [no, p + yes]])
    return RandomisedAttribute(name, values, reports, matrix)


def _converted(given: Mapping[str, Any], kind: Any, what: str) -> Any:
    _check_keys(given, kind.__struct_fields__, what)
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as problem:
        raise InputError(f"{what} cannot be read: {problem}") from None


def _check_keys(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise for a key that is not known, with the closest one."""
    for key in given:
        if key not in known:
            hint = (
                checks.near_miss(key, known)
                or f"; its keys are {', '.join(sorted(known))}"
            )
            raise InputError(f"there is no key {checks.shown(key)} in {what}{hint}")


def read_content(path: str | os.PathLike[str]) -> Any:
    """Return the content of a JSON file, or the numbers of any other, with commas
    between.
    """
    file = checks.input_path(path)
    content = read_small(file)
    try:
        if file.suffix.casefold() == ".json":
            return msgspec.json.decode(content)
        lines = content.decode("utf-8-sig").splitlines() or ["no numbers"]
        return np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        told = str(problem).partition(";")[0]
        raise InputError(
            f"{str(file)!r} is no JSON and no matrix of numbers: {told}"
        ) from None


def _labels(
    name: str, labels: Sequence[Any] | None, count: int | None
) -> tuple[str, ...]:
    """Return labels as tables have them, or the codes from 0; their number must be the
    count.
    """
    if labels is None:
        if count is None:
            raise InputError(f"{name!r} must have values or k, got neither")
        return tuple(map(str, range(count)))
    made = tuple(map(label, labels))
    if len(set(made)) < len(made) or len(made) != (count or len(made)):
        raise InputError(
            f"{name!r} must have {count or len(made)} different labels, got {made}"
        )
    return made


def label(value: Any) -> str:
    """Return the label of a value or report, as tables have it."""
    from seepage.tables.column import key_label
    from seepage.tables.labels import field_key

    return key_label(field_key(str(value)))
