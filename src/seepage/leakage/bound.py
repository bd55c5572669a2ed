"""The upper bound on leakage from epsilon and delta alone: the paper's Algorithm 2."""

from typing import Any

from numpy.typing import ArrayLike

from seepage import _checks
from seepage.data.channel import Channel
from seepage.leakage.evidence import Leakage, two_level_leakage
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.operands import SparseLike, is_sparse
from seepage.leakage.sparse import sparse_leakage_bound

__all__ = ["leakage_bound"]


def leakage_bound(G: Channel | ArrayLike | SparseLike, epsilon: Any, delta: Any = 0.0) -> Leakage:
    """Return the most that any (epsilon, delta)-LDP mechanism on the source leaks about a target.

    exp(l) = max over x, x', S of (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),
    lambda = e^epsilon - 1, G_x(S) the sum of G[x, u] over u in S   [theory: The bound].

    Parameters
    ----------
    G
        P(source given target): m target values by t source values; a `Channel`, a matrix, or a
        sparse matrix of SciPy, of which only the cells that are not zero are held.
    epsilon, delta
        The budget of the mechanism that releases the source.

    Returns
    -------
    Leakage
        `value` is l, between 0 and epsilon, rounded up; 0 iff epsilon is 0 or all rows are equal,
        epsilon iff two rows have disjoint support.  `relaxation` is the certified delta' =
        delta (e^l - 1)/(e^epsilon - 1), `paper_relaxation` the paper's delta A, never smaller.
        The witness holds the two target values and S.

    Notes
    -----
    Dinkelbach's iteration on the hockey-stick profile, O(m^2 t); see `leakage.likely_sets`.  For a
    sparse matrix with n cells that are not zero O(m n), see `seepage.leakage.sparse`: the same
    fields and the same numbers up to rounding; where several pairs of target values attain the
    maximum, the witness may be another one of them.

    Examples
    --------
    >>> import seepage as sp
    >>> joint = [[0.2, 0, 0, 0], [0, 0.2, 0, 0], [0.1, 0.15, 0.03, 0.02], [0.1, 0.15, 0.03, 0.02]]
    >>> G = [[cell / sum(row) for cell in row] for row in joint]
    >>> found = sp.leakage_bound(G, epsilon=1.0)
    >>> found.value, found.witness.likelier, found.witness.other, found.witness.likely
    (1.0, 0, 1, (0,))

    >>> from scipy.sparse import csr_array
    >>> sp.leakage_bound(csr_array(G), epsilon=1.0) == found
    True
    """
    if is_sparse(G):
        return sparse_leakage_bound(G, epsilon, delta)
    budget, slack = _checks.epsilon(epsilon), _checks.delta(delta)
    return two_level_leakage(G, LikelySets("all", budget), slack)
