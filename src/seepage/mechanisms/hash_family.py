"""The hash functions of local hashing: one for each 64-bit seed, into g buckets.

For seed s and value v, in arithmetic modulo 2^64,

    x = s + (v + 1) STEP,   then twice:  x = (x xor x >> shift) factor,
    bucket = floor(x g / 2^64), from the upper 48 bits of x.

These are the steps of SplitMix64 [Steele, Lea and Flood 2014] without its last shift, which only
concerns lower bits: a seed's values are hashed to the successive outputs of a tested generator
that starts at the seed.

* One value: s -> x is a bijection, so over uniform seeds x is exactly uniform, and a bucket has
  probability 1/g to within 2^-48, exactly if g is a power of 2.  (This bias reaches only the
  estimate, far below any standard error; the privacy of local hashing does not rest on the hash.)
* Several values: independent as far as tests can tell, for pairs and for whole splits of the
  alphabet.  Multiply-shift hashing has a proof for pairs, but it can split successive values in a
  few ways only; the attack's hit rate and the leakage need all splits.

The definition is fixed: reports in files are read back by it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._numerics import Booleans

__all__ = ["MOST_BUCKETS", "bucket_of", "hashes_to"]

MOST_BUCKETS = 1 << 16
"""The largest g: the product of g and 48 bits still fits a 64-bit word."""

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def bucket_of(seeds: ArrayLike, values: ArrayLike, buckets: int) -> Words:
    """Return the bucket of each value under each seed's hash function.

    Parameters
    ----------
    seeds, values
        Unsigned 64-bit seeds and codes of values, broadcast against each other.
    buckets
        The number g of buckets, from 2 to 2^16.

    Examples
    --------
    >>> bucket_of([[1], [2]], [0, 1, 2, 3, 4, 5], 3).tolist()
    [[1, 2, 2, 1, 1, 2], [1, 2, 1, 2, 0, 1]]
    """
    mixed = _mix(np.asarray(seeds, dtype=np.uint64), np.asarray(values, dtype=np.uint64))
    return (mixed >> np.uint64(16)) * np.uint64(buckets) >> np.uint64(48)


def hashes_to(seeds: Words, reported: ArrayLike, k: int, buckets: int) -> Booleans:
    """Return which of the values 0 to k - 1 fall into each seed's reported bucket.

    One row a seed and one column a value; about 4 nanoseconds a cell.  A bucket is an interval
    of x, so that one subtraction and comparison replace the product with g.

    Examples
    --------
    >>> hashes_to(np.array([1, 2], dtype=np.uint64), [1, 2], 6, 3).astype(int).tolist()
    [[1, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 0]]
    """
    rows = np.asarray(reported, dtype=np.uint64)
    begin, end = _first_of(rows, buckets), _first_of(rows + np.uint64(1), buckets)
    mixed = _mix(seeds[:, None], np.arange(k, dtype=np.uint64))
    mixed -= begin[:, None]
    return np.asarray(mixed < (end - begin)[:, None])


def _mix(seeds: Words, values: Words) -> Words:
    mixed = np.atleast_1d(seeds) + (np.atleast_1d(values) + np.uint64(1)) * _STEP
    for shift, factor in _ROUNDS:
        mixed ^= mixed >> shift
        mixed *= factor
    return mixed


def _first_of(bucket: Words, buckets: int) -> Words:
    """Return the least x of a bucket, ceil(b 2^48 / g) 2^16, modulo 2^64: 0 for b = g."""
    upper = (bucket << np.uint64(48)) + np.uint64(buckets - 1)
    return upper // np.uint64(buckets) << np.uint64(16)
