"""Numba kernels of `form_totals`: counting on bitmaps of sorted records, and the transform.

A search scores thousands of forms, so the kernels save many times the time that loading Numba
takes.  Tests compare every function with NumPy.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.counting.compiled_kernel import popcount

WORD = 64
"""Bits per word of a bitmap."""

entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")


SortedRows = tuple[NDArray[np.uint64], Integers, Integers]
"""Records sorted by cell: bitmaps (words x values), and the cell and the weight of each word."""


def sort_rows(
    columns: Integers,
    bits: Integers,
    strata: Integers,
    stem: tuple[int, ...],
    starts: Integers,
    sizes: Integers,
    width: int,
) -> SortedRows:
    """Return the rows sorted by stratum and answers to the stem, as bitmaps."""
    indices = np.array(stem, dtype=np.int64)
    spread = int(bits.max(initial=0)) + 1
    keys = _keys(columns, bits, strata, indices, starts, sizes, spread)
    count = (int(strata.max(initial=0)) + 1) * int(np.prod(sizes)) * spread
    order = _order(keys, count) if count <= 4 * len(keys) else np.argsort(keys, kind="stable")
    packed: SortedRows = _pack(columns, keys, order, spread, width)
    return packed


@entry
def _keys(columns, bits, strata, indices, starts, sizes, spread):
    keys = np.empty(len(columns), np.int64)
    for row in range(len(columns)):
        cell = strata[row]
        for s in range(len(indices)):
            cell = cell * sizes[s] + columns[row, indices[s]] - starts[indices[s]]
        keys[row] = cell * spread + bits[row]
    return keys


@entry
def _order(keys, count):
    """Return the permutation that sorts the keys, by a stable counting sort."""
    ends = np.zeros(count + 1, np.int64)
    for row in range(len(keys)):
        ends[keys[row] + 1] += 1
    for key in range(count):
        ends[key + 1] += ends[key]
    order = np.empty(len(keys), np.int64)
    for row in range(len(keys)):
        order[ends[keys[row]]] = row
        ends[keys[row]] += 1
    return order


@entry
def _pack(columns, keys, order, spread, width):
    words = 0
    filled = 0
    for i in range(len(order)):
        if i == 0 or keys[order[i]] != keys[order[i - 1]] or filled == WORD:
            words += 1
            filled = 0
        filled += 1
    bitmaps = np.zeros((words, width), np.uint64)
    cells = np.empty(words, np.int64)
    weights = np.empty(words, np.int64)
    word = -1
    filled = 0
    for i in range(len(order)):
        row = order[i]
        if i == 0 or keys[row] != keys[order[i - 1]] or filled == WORD:
            word += 1
            filled = 0
            cells[word] = keys[row] // spread
            weights[word] = 1 << (keys[row] % spread)
        bit = np.uint64(1) << np.uint64(filled)
        for k in range(columns.shape[1]):
            bitmaps[word, columns[row, k]] |= bit
        filled += 1
    return bitmaps, cells, weights


@entry
def count_with(bitmaps, cells, weights, start, size, count):
    """Return the counts of the stem's cells and one more attribute, (cells x size) x values."""
    words, width = bitmaps.shape
    counts = np.zeros((count * size, width))
    sums = np.zeros((size, width), np.int64)
    for word in range(words):
        weight = weights[word]
        for u in range(size):
            answer = bitmaps[word, start + u]
            if answer:
                for v in range(width):
                    sums[u, v] += weight * np.int64(popcount(bitmaps[word, v] & answer))
        if word + 1 == words or cells[word + 1] != cells[word]:
            base = cells[word] * size
            for u in range(size):
                for v in range(width):
                    counts[base + u, v] = sums[u, v]
                    sums[u, v] = 0
    return counts


@entry
def _ratios(shares, sizes, floors, weights, occurs, starts, alphabet, buffer):
    """Return the largest likelihood ratio about each attribute; `buffer` is like `shares`."""
    rows, width = shares.shape
    strata = len(occurs)
    answers = rows // strata
    buffer[:] = shares
    stride = answers
    for axis in range(len(sizes)):
        size = sizes[axis]
        stride //= size
        floor = floors[axis]
        weight = weights[axis]
        for base in range(0, rows, stride * size):
            for inner in range(stride):
                first = base + inner
                if size == 2:
                    other = first + stride
                    for v in range(width):
                        a = buffer[first, v]
                        b = buffer[other, v]
                        total = floor * (a + b)
                        buffer[first, v] = total + weight * a
                        buffer[other, v] = total + weight * b
                else:
                    for v in range(width):
                        total = 0.0
                        for z in range(size):
                            total += buffer[first + z * stride, v]
                        total *= floor
                        for z in range(size):
                            index = first + z * stride
                            buffer[index, v] = total + weight * buffer[index, v]
    best = np.ones(len(alphabet))
    for row in range(rows):
        stratum = row // answers
        for k in range(len(alphabet)):
            high = 0.0
            low = np.inf
            for v in range(starts[k], starts[k] + alphabet[k]):
                if occurs[stratum, v]:
                    high = max(high, buffer[row, v])
                    low = min(low, buffer[row, v])
            if high > best[k] * low:
                best[k] = high / low
    return best


def largest_ratios(
    shares: Floats,
    sizes: Integers,
    epsilons: Floats,
    occurs: Booleans,
    starts: Integers,
    alphabet: Integers,
    buffer: Floats,
) -> Floats:
    """Return the largest likelihood ratio of a report about each attribute, not rounded."""
    floors = np.array([math.exp(-e) for e in epsilons])
    weights = np.array([-math.expm1(-e) for e in epsilons])
    return np.asarray(_ratios(shares, sizes, floors, weights, occurs, starts, alphabet, buffer))
