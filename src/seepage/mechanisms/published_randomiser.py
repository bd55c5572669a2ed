"""`Randomiser`: the published parameters of somebody else's randomiser, as transition
matrices.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.mechanisms.two_level import MAX_MATRIX_CELLS, TwoLevelMechanism
from seepage.mechanisms.unary import Bits
from seepage.tables.table_options import MAX_ALPHABET

SINGLE = "value"
"""The name of the attribute of a specification that names none."""


@dataclass(frozen=True, eq=False)
class AnswerChanges:
    """How the answers of an attribute change from one round to the next.

    Parameters
    ----------
    matrix
        P(answer in the next round given that of this round), one row for each value.
    start
        The shares of the values in the first round.
    """

    matrix: Floats
    start: Floats


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
    changes
        How answers change from one round to the next; None if that is not stated.
    """

    name: str
    values: tuple[str, ...]
    reports: tuple[str, ...] = ()
    channel: Floats | None = None
    pair: Floats | None = None
    mechanism: Mechanism | None = None
    copies: int = 1
    changes: "AnswerChanges | None" = None

    @property
    def matrix(self) -> Floats:
        """P(report given value) of an attribute of a published randomiser: one row per
        value, one column per report.

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
    A specification is JSON: a matrix (rows values, columns reports), the parameters of
    one attribute, or `{"attributes": {name: parameters, ...}, "rounds": 1, "memoised":
    false, "linked": true}`.  The parameters are `values` (labels) or `k` (their number)
    and one of

    * `mechanism` and `epsilon` (and `delta`): a registered mechanism;
    * `p` and `q`: one bit for each value, 1 with probability p for the true value and q
      for others;
    * `f`, `p`, `q`, and `h`, `cohorts`: RAPPOR [Erlingsson, Pihur and Korolova 2014];
    * `p`, `p0`, `p1`: forced response, an honest answer with probability p, else no
      (p0) or yes (p1);
    * `keep`: the true value with this probability, else one of the others uniformly;
    * `matrix`, and `reports` (labels).

    With `memoised` they may also say how answers change: `changes`, a matrix of
    P(answer in the next round given that of this round), and `start`, the shares of the
    values in the first round.

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
        """Check the published attributes, rounds and links of a randomiser."""
        super().__init__()
        for attribute in checks.items(attributes, "attributes"):
            checks.instance(
                attribute,
                "each of attributes",
                RandomisedAttribute,
                "a RandomisedAttribute",
            )
            self[attribute.name] = attribute
        self.rounds = checks.integer(rounds, "rounds", 1, checks.MAX_RECORDS)
        self.memoised = checks.flag(memoised, "memoised")
        self.groups = self._groups(linked)
        self.linked = linked if isinstance(linked, bool) else self.groups

    def _groups(self, linked: Any) -> tuple[tuple[str, ...], ...]:
        """Return the groups of attributes whose reports the published randomiser lets
        be linked.
        """
        if linked is True:
            return (tuple(self),)
        groups: list[tuple[str, ...]] = []
        in_a_group: list[str] = []
        if linked is not False:
            for group in checks.items(linked, "linked"):
                names = tuple(checks.texts(group, "linked"))
                groups.append(names)
                in_a_group += names
        for name in in_a_group:
            checks.choice(name, "each of linked", self)
        if len(set(in_a_group)) < len(in_a_group):
            raise checks.violation(
                "linked", "groups without a common attribute", groups
            )
        groups += [(name,) for name in self if name not in in_a_group]
        return tuple(groups)

    def __missing__(self, name: str) -> RandomisedAttribute:
        """Raise for an attribute that the published randomiser does not have."""
        return self[checks.choice(name, "attribute", self)]

    def __repr__(self) -> str:
        """Return a published randomiser in one line: its attributes and rounds."""
        return f"Randomiser({', '.join(self)}; {self.rounds} rounds)"

    @classmethod
    def read(cls, source: Any) -> "Randomiser":
        """Return the randomiser that was published: a mapping, a matrix, or a JSON or
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
        if str(source.get("format")).startswith("seepage "):
            raise InputError(
                "an audit needs the parameters of a randomiser, got a file of the "
                f"format {checks.shown(source['format'])}"
            )
        if "attributes" not in source:
            return cls([_attribute(SINGLE, source)])
        whole = _converted(source, _Specification, "the specification")
        attributes = [
            _attribute(name, parameters)
            for name, parameters in whole.attributes.items()
        ]
        return cls(attributes, whole.rounds, whole.memoised, whole.linked)


# Mechanisms ---------------------------------------------------------------------------


def of_mechanism(
    name: str, values: tuple[str, ...], mechanism: Mechanism, copies: int = 1
) -> RandomisedAttribute:
    """Return an attribute of a randomiser with a mechanism of this package, with its
    matrix or that of two values.
    """
    reports = values
    channel = None
    with suppress(InputError):  # too many reports
        channel = as_matrix(mechanism.channel())
        if channel.shape[1] != len(values):
            reports = tuple(map(str, range(channel.shape[1])))
    pair = None
    if isinstance(mechanism, TwoLevelMechanism):
        pair = _pair_of_mechanism(mechanism, channel is not None)
    return RandomisedAttribute(
        name=name,
        values=values,
        reports=reports,
        channel=channel,
        pair=pair,
        mechanism=mechanism,
        copies=copies,
    )


def _pair_of_mechanism(
    mechanism: TwoLevelMechanism, has_channel: bool
) -> Floats | None:
    """Return the probabilities of two values in the set that a two-level randomiser
    reports.

    None for one value, and where the matrix is known and sets are single values.
    """
    size = mechanism.size
    if mechanism.k == 1 or (has_channel and size == 1):
        return None
    if size is None:
        return _pair(mechanism.true, mechanism.other, mechanism.other)
    inside = Fraction(size - 1, mechanism.k - 1)
    outside = Fraction(size, mechanism.k - 1)
    return _pair(mechanism.true, inside, outside)


def _pair(p: Fraction, inside: Fraction, outside: Fraction) -> Floats:
    """Return P(both, first, second, none of two values in the randomiser's set), given
    each of them.

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

MAX_VALUES = MAX_ALPHABET
"""Maximum number of values of an attribute: what a column of a table may have."""


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
    k: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUES)] | None = None
    changes: Any = None
    start: Any = None
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


COMMON = ("values", "k", "changes", "start")
"""The keys of all kinds."""


OPTIONAL = ("reports", "delta", "h", "cohorts")


def _attribute(name: str, content: Mapping[str, Any]) -> RandomisedAttribute:
    """Return the attribute that published parameters describe, of the first kind whose
    own key is there.
    """
    own_keys = [key for key in KINDS if key in content]
    what = repr(name)
    if not own_keys:
        _check_keys(content, _Parameters.__struct_fields__, what)
        raise InputError(
            f"{what} must have one of the keys {', '.join(KINDS)}, "
            f"got {', '.join(content) or 'none'}"
        )
    kind = own_keys[0]
    _check_keys(content, (*COMMON, *KINDS[kind]), what)
    for key in KINDS[kind]:
        if key not in content and key not in OPTIONAL:
            raise InputError(f"{what} cannot be read: there is no key {key!r}")
    if kind == "matrix":
        content = {"k": len(as_matrix(content["matrix"], "matrix")), **content}
    elif kind == "p0":
        content = {"values": ["no", "yes"], **content}
    parameters = _converted(content, _Parameters, what)
    values = _labels(name, parameters.values, parameters.k)
    attribute = _READERS[kind](name, values, parameters)
    return replace(attribute, changes=_answer_changes(name, len(values), parameters))


def _answer_changes(name: str, k: int, parameters: _Parameters) -> AnswerChanges | None:
    """Return how answers change between rounds by published parameters; None if they do
    not say.
    """
    if parameters.changes is None and parameters.start is None:
        return None
    if parameters.changes is None or parameters.start is None:
        raise InputError(f"{name!r} must have both changes and start, or neither")
    matrix = as_matrix(parameters.changes, "changes")
    start = as_matrix([parameters.start], "start")
    if matrix.shape != (k, k) or start.shape != (1, k):
        raise InputError(
            f"{name!r} cannot be read: changes must be a matrix of {k} rows and "
            f"columns, and start have {k} shares, got {matrix.shape} and "
            f"{start.shape[1]}"
        )
    return AnswerChanges(matrix, start[0])


def _by_mechanism(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return an attribute published with a registered mechanism."""
    family = MECHANISMS.find(parameters.mechanism)
    mechanism = family.create(len(values), parameters.epsilon, parameters.delta)
    return of_mechanism(name, values, mechanism)


def _by_rappor(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return an attribute published with RAPPOR, one pair of values for each hash
    function.
    """
    rappor = BasicRAPPOR(len(values), parameters.f, parameters.p, parameters.q)
    return of_mechanism(name, values, rappor, parameters.h)


def _by_bits(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return an attribute published with one bit for each value.

    With p < q the bits are those of the complement.
    """
    p = parameters.p
    q = parameters.q
    mechanism = None
    if 0 < q <= p < 1:
        mechanism = Bits(len(values), p, q)
    elif 0 < p < q < 1:
        mechanism = Bits(len(values), 1 - p, 1 - q)
    pair = None
    if len(values) > 1:
        pair = _pair(Fraction(p), Fraction(q), Fraction(q))
    return RandomisedAttribute(name, values, pair=pair, mechanism=mechanism)


def _by_matrix(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return an attribute published with a matrix, rows values and columns reports."""
    matrix = as_matrix(parameters.matrix, "matrix")
    if len(values) != len(matrix):
        raise checks.violation("k", f"the number of rows, {len(matrix)}", len(values))
    reports = _labels(name, parameters.reports, matrix.shape[1])
    return RandomisedAttribute(name, values, reports, matrix)


def _by_keeping(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return an attribute published as kept with a probability, else another uniform
    one.
    """
    k = len(values)
    if k * k > MAX_MATRIX_CELLS:
        raise InputError(
            f"{name!r} has too many values for a matrix: at most "
            f"{math.isqrt(MAX_MATRIX_CELLS):,}, got {k:,}"
        )
    keep = parameters.keep if k > 1 else 1.0
    matrix = np.full((k, k), (1 - parameters.keep) / max(1, k - 1))
    np.fill_diagonal(matrix, keep)
    return RandomisedAttribute(name, values, values, matrix)


def _by_forced_response(
    name: str, values: tuple[str, ...], parameters: _Parameters
) -> RandomisedAttribute:
    """Return a binary attribute published with an honest answer, else no or yes."""
    honest = parameters.p
    no = parameters.p0
    yes = parameters.p1
    if abs(honest + no + yes - 1) > 1e-9 or len(values) != 2:
        rule = f"p + p0 + p1 must be 1, got {honest + no + yes:.12g}"
        raise InputError(
            f"{name!r} cannot be read: {rule}, for 2 values, got {len(values)}"
        )
    matrix = np.array([[honest + no, yes], [no, honest + yes]])
    return RandomisedAttribute(name, values, values, matrix)


_READERS: dict[
    str, Callable[[str, tuple[str, ...], _Parameters], RandomisedAttribute]
] = {
    "matrix": _by_matrix,
    "mechanism": _by_mechanism,
    "keep": _by_keeping,
    "p0": _by_forced_response,
    "f": _by_rappor,
    "q": _by_bits,
}
"""How each kind of parameters is read."""


def _converted(content: Mapping[str, Any], kind: Any, what: str) -> Any:
    """Return published parameters as a structure; raise for others."""
    _check_keys(content, kind.__struct_fields__, what)
    try:
        return msgspec.convert(dict(content), kind)
    except msgspec.ValidationError as problem:
        raise InputError(f"{what} cannot be read: {problem}") from None


def _check_keys(keys: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise for a key of published parameters that is not known, with the closest
    one.
    """
    for key in keys:
        if key not in known:
            hint = checks.near_miss(key, known)
            if not hint:
                hint = f"; its keys are {', '.join(sorted(known))}"
            raise InputError(f"there is no key {checks.shown(key)} in {what}{hint}")


def read_content(path: str | os.PathLike[str]) -> Any:
    """Return the content of a published JSON file, or the numbers of any other, with
    commas between.
    """
    file = checks.input_path(path)
    content = read_small(file)
    try:
        if file.suffix.casefold() == ".json":
            return _json_of_unique_keys(content)
        lines = content.decode("utf-8-sig").splitlines() or ["no numbers"]
        return np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        reason = str(problem).partition(";")[0]
        raise InputError(
            f"{str(file)!r} is no JSON and no matrix of numbers: {reason}"
        ) from None


def _json_of_unique_keys(content: bytes) -> Any:
    """Return published parameters in JSON; an object that has a key twice, of which one
    would be lost, raises.
    """
    decoded = msgspec.json.decode(content)
    json.loads(content, object_pairs_hook=_check_unique)
    return decoded


def _check_unique(pairs: Sequence[tuple[str, Any]]) -> None:
    """Raise for a key that published parameters have twice."""
    seen = set[str]()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key {checks.shown(key)} is given twice")
        seen.add(key)


def _labels(
    name: str, labels: Sequence[Any] | None, count: int | None
) -> tuple[str, ...]:
    """Return the labels of a published randomiser as tables have them, or the codes
    from 0; their number must be the count.
    """
    if labels is None:
        if count is None:
            raise InputError(f"{name!r} must have values or k, got neither")
        return tuple(map(str, range(count)))
    names = tuple(map(label, labels))
    number = count or len(names)
    if len(set(names)) < len(names) or len(names) != number:
        raise InputError(f"{name!r} must have {number} different labels, got {names}")
    return names


def label(value: Any) -> str:
    """Return the label of a randomiser's value or report, as tables have it."""
    from seepage.tables.column import key_label
    from seepage.tables.labels import field_key

    return key_label(field_key(str(value)))
