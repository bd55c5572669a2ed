"""Maxima of likelihoods, and intervals of coefficients by the profile likelihood.

For a linear function c = d b of the coefficients b, with l(c) the largest logarithm of
the likelihood at it and c^ the estimate,

    r(c) = sign(c - c^) sqrt(2 (l(c^) - l(c)) / s)

is about standard normal at the true c [Wilks 1938], and the interval is the set of
those c with |r(c)| <= z.  Where the covariates nearly separate the outcome, estimate
and standard error grow without a bound [Hauck and Donner 1977], so that normal
intervals fail, but l(c) only levels off: an end of the interval is infinite if |r|
stays below z.

s is 1 for a likelihood of independent people.  With weights, or for a quasi-likelihood,
it is the variance of the estimate by the sandwich over that by the information [Rao and
Scott 1984].
"""

from typing import NamedTuple, Protocol

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage.collection.estimated_cells import NORMAL_QUANTILE

MAX_STEPS = 100
"""Maximum number of steps of Newton's method."""


MAX_CHANGE = 4.0
"""Maximum change of a linear predictor in one step."""


NO_RISE = 1e-5
"""Rise of the logarithm of the likelihood of one person's weight: 0.005 standard errors
or less."""


NEGLIGIBLE = 1e-10
"""Eigenvalues of scaled second derivatives that count as 0."""


UNDERFLOW = 1e-200
"""Information at most this is 0."""


RIDGE = 1e-8
"""Added to the diagonal of scaled information to solve equations with it."""


FINITE_PREDICTOR = 15.0
"""A linear predictor above it, a share within 4e-7 of 0 or 1, counts as infinite."""


REACH = 40.0
"""Linear predictors up to which an end of an interval is searched."""


LEVEL_ROOT = 0.02
"""Largest |r| of a function of coefficients whose likelihood has its maximum at
infinity."""


ROOT_ERROR = 0.003
"""Error of |r| at a finite end, in standard errors."""


MAX_TRIALS = 40
"""Maximum number of values at which r is computed for one end."""


class Derivatives(NamedTuple):
    """The logarithm of a likelihood with its derivatives at some parameters.

    `information` is the sum of outer products of scores, or the expectation of it;
    `hessian` is minus the second derivative.
    """

    value: float
    gradient: Floats
    information: Floats
    hessian: Floats


class Likelihood(Protocol):
    """The likelihood of coefficients, the first parameters, and of other parameters."""

    @property
    def design(self) -> Floats:
        """The covariates of each linear predictor of a likelihood, one row each."""

    @property
    def sum_of_weights(self) -> float:
        """The sum of the weights of people in a likelihood."""

    @property
    def mean_weight(self) -> float:
        """The mean of the weights of people in a likelihood, weighted by themselves."""

    def start(self) -> Floats:
        """Return the parameters from which the maximum of a likelihood is searched."""

    def occupied(self, parameters: Floats) -> Booleans:
        """Return which rows of a likelihood's design somebody has."""

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return the logarithm of any likelihood with its derivatives."""


class Maximum(NamedTuple):
    """Parameters of the largest likelihood, and its derivatives there."""

    parameters: Floats
    derivatives: Derivatives


class Covariances(NamedTuple):
    """The covariance of the coefficients by the information, and by the sandwich, and
    whether the information determines all coefficients.
    """

    information: Floats
    sandwich: Floats
    is_determined: bool


def coefficient_covariances(
    information: Floats, scores: Floats, bread: Floats, count: int
) -> Covariances:
    """Return the covariances of the first parameters at the maximum of a likelihood.

    Parameters
    ----------
    information
        The information of all parameters.
    scores
        The sum of outer products of weighted scores, of all parameters.
    bread
        The pseudo-inverse of the information on both sides of them in the sandwich.
    count
        The number of coefficients.
    """
    inverse = scaled_inverse(information, np.abs(np.diag(information)))
    known = (inverse @ information)[:count, :count]
    sandwich = bread @ scores @ bread
    return Covariances(
        information=inverse[:count, :count],
        sandwich=sandwich[:count, :count],
        is_determined=bool(np.abs(known - np.eye(count)).max() < 1e-6),
    )


def scaled_inverse(matrix: Floats, diagonal: Floats) -> Floats:
    """Return the pseudo-inverse of a likelihood's information matrix with absolute
    eigenvalues, scaled by a diagonal.

    Scaled, parameters of cells that hardly occur have second derivatives as large as
    others.
    """
    scale = np.sqrt(np.where(diagonal > UNDERFLOW, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    kept = np.abs(values) > NEGLIGIBLE
    roots = vectors[:, kept] / scale[:, None]
    return np.asarray((roots / np.abs(values[kept])) @ roots.T)


def check_design(design: Floats) -> None:
    """Raise an InputError if the covariates of a likelihood's design repeat each
    other.
    """
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise InputError(
            "the reports do not determine the coefficients: the covariates repeat each "
            "other; use fewer covariates"
        )


def maximise(likelihood: Likelihood) -> Maximum:
    """Return the maximum of a likelihood; raise if it is not found."""
    maximum, rise = _climb(likelihood, likelihood.start())
    if rise > NO_RISE * likelihood.mean_weight:
        raise InputError(
            "the reports do not determine the coefficients: there are too few for this "
            "noise; use fewer covariates or more people"
        )
    return maximum


def _climb(
    likelihood: Likelihood, start: Floats, direction: Floats | None = None
) -> tuple[Maximum, float]:
    """Return the maximum of a likelihood by Newton's method, and the rise of the last
    step.

    With a direction, parameters change only at right angles to it, and a rise that is
    negligible for an interval is the last one.
    """
    count = likelihood.design.shape[1]
    small = NO_RISE * likelihood.mean_weight
    rounding = 1e-12 * likelihood.sum_of_weights
    enough = 1e-14 * likelihood.sum_of_weights
    basis = None
    if direction is not None:
        basis = _orthogonal_basis(direction, len(start))
        enough = small
    parameters = start
    here = likelihood.derivatives(parameters)
    rise = np.inf
    for _ in range(MAX_STEPS):
        step = _newton_step(here, basis)
        length = max(
            float(np.abs(likelihood.design @ step[:count]).max()),
            float(np.abs(step[count:]).max(initial=0.0)),
        )
        if length > MAX_CHANGE:
            step = step * (MAX_CHANGE / length)
        ahead = likelihood.derivatives(parameters + step)
        while ahead.value < here.value - rounding:
            step = step / 2.0
            ahead = likelihood.derivatives(parameters + step)
        rise = float(here.gradient @ step)
        # Frequencies of 0, and coefficients of separated cells, may fall without an
        # end.
        has_stalled = rise < small and ahead.value < here.value + rounding
        parameters = parameters + step
        here = ahead
        if rise < enough or has_stalled:
            break
    return Maximum(parameters, here), rise


def _newton_step(at: Derivatives, basis: Floats | None) -> Floats:
    """Return the step of Newton's method up a likelihood, within the span of a
    basis.
    """
    diagonal = np.maximum(np.diag(at.information), np.abs(np.diag(at.hessian)))
    if basis is None:
        return scaled_inverse(at.hessian, diagonal) @ at.gradient
    inverse = scaled_inverse(basis.T @ at.hessian @ basis, basis.T**2 @ diagonal)
    return np.asarray(basis @ (inverse @ (basis.T @ at.gradient)))


def _orthogonal_basis(direction: Floats, size: int) -> Floats:
    """Return a basis, in columns, of the parameters that the profiled linear function
    ignores.
    """
    weights = np.zeros(size)
    weights[: len(direction)] = direction
    pivot = int(np.abs(weights).argmax())
    basis = np.eye(size)
    basis[pivot] = -weights / weights[pivot]
    return np.delete(basis, pivot, axis=1)


class FunctionLimits(NamedTuple):
    """A linear function of the coefficients: its estimate, which may be infinite or
    NaN, and its 95 % interval.
    """

    value: float
    lower: float
    upper: float


class ProfileLikelihood:
    """The profile likelihood of linear functions of the coefficients.

    Parameters
    ----------
    likelihood, maximum
        The likelihood and its maximum.
    covariances
        The covariances of the coefficients.
    is_exact
        Whether s is 1.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        maximum: Maximum,
        covariances: Covariances,
        *,
        is_exact: bool,
    ) -> None:
        """Hold the maximum of a likelihood, whose profile gives intervals."""
        self._likelihood = likelihood
        self._maximum = maximum
        self._covariances = covariances
        self._is_exact = is_exact
        self._design = likelihood.design[likelihood.occupied(maximum.parameters)]

    @property
    def covariance(self) -> Floats:
        """The covariance of the coefficients at the maximum of the likelihood."""
        if self._is_exact:
            return self._covariances.information
        return self._covariances.sandwich

    @property
    def is_regular(self) -> bool:
        """Whether all linear predictors at the likelihood's maximum are finite and
        determined.
        """
        return self._is_finite and self._covariances.is_determined

    def estimates(self) -> Floats:
        """Return the coefficients, infinite or NaN where the likelihood is level."""
        count = self._likelihood.design.shape[1]
        if self.is_regular:
            return self._maximum.parameters[:count]
        return np.array([self.limits(direction).value for direction in np.eye(count)])

    @property
    def _is_finite(self) -> bool:
        """Whether all linear predictors at the likelihood's maximum are finite."""
        return _largest_predictor(self._design, self._maximum) <= FINITE_PREDICTOR

    def limits(self, direction: Floats) -> FunctionLimits:
        """Return the estimate and the profile interval of a linear function."""
        return self._line(direction).limits()

    def p_value(self, direction: Floats) -> float:
        """Return the p-value of the test by the profile that a linear function is 0."""
        from scipy.special import ndtr

        line = self._line(direction)
        _, root = line.constrained(0.0, self._maximum)
        return float(2.0 * ndtr(-root))

    def _line(self, direction: Floats) -> "_ProfileLine":
        """Return the profile of the likelihood along a linear function."""
        return _ProfileLine(
            likelihood=self._likelihood,
            maximum=self._maximum,
            direction=direction,
            design=self._design,
            scale=self._scale(direction),
            first_step=self._first_step(direction),
            is_regular=self.is_regular,
        )

    def _scale(self, direction: Floats) -> float:
        """Return the profile's s, by the weights alone where the variances are not
        finite.
        """
        if self._is_exact:
            return 1.0
        above = float(direction @ self._covariances.sandwich @ direction)
        below = float(direction @ self._covariances.information @ direction)
        if self.is_regular and above > 0 and below > 0:
            return above / below
        return self._likelihood.mean_weight

    def _first_step(self, direction: Floats) -> float:
        """Return the distance of a normal end of the profile's interval from the
        estimate, or of one predictor.
        """
        variance = float(direction @ self.covariance @ direction)
        moved = direction / float(direction @ direction)
        largest = 1.0 / float(np.abs(self._likelihood.design @ moved).max())
        if not self.is_regular or not variance > 0:
            return largest
        return min(NORMAL_QUANTILE * float(np.sqrt(variance)), REACH * largest)


class _ProfileLine(NamedTuple):
    """The profile likelihood of one linear function, whose weights are `direction`.

    `design` has the rows that somebody has.
    """

    likelihood: Likelihood
    maximum: Maximum
    direction: Floats
    design: Floats
    scale: float
    first_step: float
    is_regular: bool

    def limits(self) -> FunctionLimits:
        """Return the estimate and the interval of one profile."""
        value = self._value_of(self.maximum)
        lower, root_below = self._end(-1.0)
        upper, root_above = self._end(1.0)
        is_level_below = np.isinf(lower) and root_below < LEVEL_ROOT
        is_level_above = np.isinf(upper) and root_above < LEVEL_ROOT
        if is_level_below and is_level_above:
            value = np.nan
        elif is_level_below:
            value = -np.inf
        elif is_level_above:
            value = np.inf
        return FunctionLimits(value, lower, upper)

    def constrained(self, value: float, nearby: Maximum) -> tuple[Maximum, float]:
        """Return the likelihood's maximum at a value of the profiled function, and |r|
        there.

        Beside infinite predictors the likelihood is level, so that Newton's method may
        stay where it is; then it begins at the start of the search as well.
        """
        starts = [self._moved(nearby, value)]
        if not self.is_regular:
            neutral = self.maximum.parameters.copy()
            count = len(self.direction)
            square = float(self.direction @ self.direction)
            neutral[:count] = value * self.direction / square
            starts.append(neutral)
        points = [_climb(self.likelihood, at, self.direction)[0] for at in starts]
        best = max(points, key=lambda point: point.derivatives.value)
        drop = self.maximum.derivatives.value - best.derivatives.value
        return best, float(np.sqrt(max(0.0, 2.0 * drop / self.scale)))

    def _end(self, sign: float) -> tuple[float, float]:
        """Return the end of the profile's interval in a direction, and |r| as far as it
        went.
        """
        nearest = self.maximum
        inside = self._value_of(nearest)
        inside_root = 0.0
        step = self.first_step
        largest = _largest_predictor(self.design, nearest)
        reach = REACH + max(0.0, largest - FINITE_PREDICTOR)
        for _ in range(MAX_TRIALS):
            trial = inside + sign * step
            nearest, root = self.constrained(trial, nearest)
            if root >= NORMAL_QUANTILE:
                return self._crossing((inside, inside_root), (trial, root)), root
            is_far = _largest_predictor(self.design, nearest) > reach
            is_unknown = root == 0.0 and step > REACH * self.first_step
            if is_far or is_unknown:
                return sign * np.inf, root
            slope = max((root - inside_root) / step, 1e-9)
            missing = (NORMAL_QUANTILE - root) / slope
            inside = trial
            inside_root = root
            step = float(np.clip(1.05 * missing, step / 2.0, 3.0 * step))
        return sign * np.inf, inside_root

    def _crossing(
        self, inside: tuple[float, float], outside: tuple[float, float]
    ) -> float:
        """Return where |r| of the profile is z, between two values with their |r|, by
        the method of Illinois.
        """
        near = inside[0]
        near_gap = inside[1] - NORMAL_QUANTILE
        far = outside[0]
        far_gap = outside[1] - NORMAL_QUANTILE
        was_outside = None
        for _ in range(MAX_TRIALS):
            if far_gap < ROOT_ERROR:
                break
            trial = near + (far - near) * near_gap / (near_gap - far_gap)
            gap = self.constrained(trial, self.maximum)[1] - NORMAL_QUANTILE
            is_outside = gap >= 0
            if is_outside:
                far = trial
                far_gap = gap
                if was_outside is True:
                    near_gap /= 2.0
            else:
                near = trial
                near_gap = gap
                if was_outside is False:
                    far_gap = max(far_gap / 2.0, 2.0 * ROOT_ERROR)
            was_outside = is_outside
        return far

    def _value_of(self, point: Maximum) -> float:
        """Return the value of the profiled function at a point."""
        return float(self.direction @ point.parameters[: len(self.direction)])

    def _moved(self, point: Maximum, value: float) -> Floats:
        """Return where a likelihood with the same information, and a maximum at the
        point, is largest at a value of the profiled function.

        So predictors that are as good as infinite move, and others stay.  A frequency
        near 0 has hardly any information: its logit, one of the further parameters,
        changes by at most `MAX_CHANGE`, since a frequency that became 1 would begin the
        climb to another maximum.
        """
        information = point.derivatives.information
        diagonal = np.diag(information)
        root = np.sqrt(np.where(diagonal > UNDERFLOW, diagonal, 1.0))
        scaled = information / np.outer(root, root)
        scaled += RIDGE * np.eye(len(scaled))
        weights = np.zeros(len(scaled))
        weights[: len(self.direction)] = self.direction
        shift = np.linalg.solve(scaled, weights / root) / root
        gap = value - self._value_of(point)
        change = shift * (gap / float(weights @ shift))
        count = len(self.direction)
        change[count:] = np.clip(change[count:], -MAX_CHANGE, MAX_CHANGE)
        return np.asarray(point.parameters + change)


def _largest_predictor(design: Floats, point: Maximum) -> float:
    """Return the largest absolute linear predictor of a likelihood's rows at a
    point.
    """
    count = design.shape[1]
    return float(np.abs(design @ point.parameters[:count]).max(initial=0.0))
