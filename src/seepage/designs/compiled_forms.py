"""Numba kernels that count forms on bitmaps of sorted records.

A search counts thousands of forms, so the kernels save many times the time that loading Numba
takes: 0.05 ms a form of 115,000 distinct records and 40 attributes, NumPy 26 ms.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

from typing import Any

import numba
import numpy as np

from seepage.data.counting.compiled_kernel import popcount

entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")


@entry
def make_bitmaps(columns, order, words, bits, width):
    """Return bitmaps, words x values: row order[i] is bit bits[i] of word words[i]."""
    bitmaps = np.zeros((words[-1] + 1, width), np.uint64)
    for i in range(len(order)):
        row, bitmap = columns[order[i]], bitmaps[words[i]]
        bit = np.uint64(1) << np.uint64(bits[i])
        for k in range(len(row)):
            bitmap[row[k]] |= bit
    return bitmaps


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
