"""The kernel that Numba compiles: bitmaps, AND and popcount, and histograms beside them.

Imported only when the work is large: importing Numba and loading the cached machine code takes
about a second, compiling it for the first time several.

Rows are handled in chunks, whose bitmaps stay in the L2 cache.  Bitmaps lie in an array by stretch
of rows, bitmap and word; of each stretch, eight bitmaps at a time stay in the L1 cache while those
of all smaller columns pass by.  Alphabets too large for bitmaps are counted by histograms.

All compiled code is in this one file, since Numba's cache notices changes of a function's own file
only.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

import numpy as np

from seepage.counting.intrinsics import (
    WORD,
    bytes_at,
    compiled,
    equal_bits,
    popcount,
    shorts_at,
)

__all__ = ["CHUNK", "count_rows"]

CHUNK = 1 << 16
"""Rows packed at once: 64 kB of a column, long enough for the memory to stream."""
MANY_WORDS = 1 << 18
"""Words that all bitmaps of a chunk may have together: 2 MB; with many, chunks are shorter."""
STRETCH = 256
"""Words of a bitmap compared at once: 2 kB, eight of them half of an L1 cache."""
TILE = 8
"""Bitmaps that each other bitmap is compared with at once."""
LANES = 4
"""Copies of a small histogram, so that equal neighbours do not wait for one another."""
JOINT_ROWS = 1 << 11
"""Rows whose joint codes are computed at once; they stay in the L1 cache."""


@compiled
def count_rows(addresses, widths, rows, sizes, plan, capacities, marginals, tables):
    """Add every chunk of rows; return the first column with a code too large, else -1."""
    packed, first, stop, tallied = plan
    columns = len(sizes)
    words = min(CHUNK // WORD, max(STRETCH, MANY_WORDS // (first[-1] + 1) // STRETCH * STRETCH))
    bits = _empty_bitmaps(first[-1], words)
    places = _bitmap_places(packed, first, stop, bits)
    begins = _table_begins(capacities)
    room = _scratch(CHUNK)
    alone = np.ones(columns, dtype=np.bool_)
    alone[packed] = False
    for begin in range(0, rows, words * WORD):
        count = min(words * WORD, rows - begin)
        chunk = addresses + (begin * widths).astype(np.uintp)
        for column in range(columns):
            if _largest(chunk[column], widths[column], count) >= sizes[column]:
                return column
        for place in range(len(packed)):
            column, last = packed[place], first[place + 1]
            _pack(chunk[column], widths[column], count, first[place], last, bits)
        _add_bitmaps(bits, -(-count // WORD), places, begins, marginals)
        _compare(bits, -(-count // WORD), places, begins, capacities, tables)
        for column in range(columns):
            if alone[column]:
                own = marginals[begins[column, column] :][: capacities[column]]
                _tally(chunk, widths, column, column, count, 0, room, own)
        for pair in range(len(tallied)):
            a, b = tallied[pair]
            own = tables[begins[a, b] :][: capacities[a] * capacities[b]]
            _tally(chunk, widths, a, b, count, capacities[b], room, own)
    return -1


@compiled
def _table_begins(capacities):
    """Return where each pair's table begins, and on the diagonal each column's marginal."""
    columns = len(capacities)
    begins = np.zeros((columns, columns), dtype=np.int64)
    table = 0
    marginal = 0
    for a in range(columns):
        begins[a, a] = marginal
        marginal += capacities[a]
        for b in range(a + 1, columns):
            begins[a, b] = table
            begins[b, a] = table
            table += capacities[a] * capacities[b]
    return begins


@compiled
def _empty_bitmaps(bitmaps, words):
    """Return room for so many bitmaps of so many words, rounded up to whole tiles."""
    shape = (-(-words // STRETCH), -(-bitmaps // TILE) * TILE, STRETCH)
    return np.zeros(shape, dtype=np.uint64)


@compiled
def _bitmap_places(packed, first, stop, bits):
    """Return, for each bitmap, its column, its code and how many bitmaps it is compared with."""
    places = np.zeros((bits.shape[1], 3), dtype=np.int64)
    for place in range(len(packed)):
        for bitmap in range(first[place], first[place + 1]):
            places[bitmap, 0] = packed[place]
            places[bitmap, 1] = bitmap - first[place] + 1
            places[bitmap, 2] = stop[place]
    return places


@compiled
def _pack(address, width, rows, first, last, bits):
    """Write the bitmaps of a column's codes 1, 2, ...; they are `first` to `last`."""
    if width == 1:
        _pack_codes(bytes_at(address, rows), first, last, bits)
    else:
        _pack_codes(shorts_at(address, rows), first, last, bits)


@compiled
def _pack_codes(codes, first, last, bits):
    rows = len(codes)
    words = rows // WORD
    for stretch in range(-(-words // STRETCH)):
        begin = stretch * STRETCH
        for bitmap in range(first, last):
            part = bits[stretch, bitmap]
            for word in range(min(STRETCH, words - begin)):
                part[word] = equal_bits(codes, begin + word, bitmap - first + 1)
    if words * WORD < rows:
        for bitmap in range(first, last):
            tail = np.uint64(0)
            for row in range(words * WORD, rows):
                bit = np.uint64(codes[row] == bitmap - first + 1)
                tail |= bit << np.uint64(row - words * WORD)
            bits[words // STRETCH, bitmap, words % STRETCH] = tail


@compiled
def _add_bitmaps(bits, words, places, begins, marginals):
    """Add the bits of each bitmap to its code's marginal count."""
    for stretch in range(-(-words // STRETCH)):
        for bitmap in range(bits.shape[1]):
            part = bits[stretch, bitmap]
            total = np.uint64(0)
            for word in range(min(STRETCH, words - stretch * STRETCH)):
                total += popcount(part[word])
            column, code, _ = places[bitmap]
            marginals[begins[column, column] + code] += np.int64(total)


@compiled
def _compare(bits, words, places, begins, capacities, tables):
    """Add the bits that each two bitmaps share to the count of their codes."""
    for stretch in range(-(-words // STRETCH)):
        part = bits[stretch]
        used = min(STRETCH, words - stretch * STRETCH)
        for tile in range(0, len(part), TILE):
            for other in range(places[tile : tile + TILE, 2].max()):
                shared = _compare_tile(part, tile, other, used)
                for lane in range(TILE):
                    bitmap = tile + lane
                    if other < places[bitmap, 2]:
                        cell = _cell(places[other], places[bitmap], begins, capacities)
                        tables[cell] += np.int64(shared[lane])


@compiled
def _cell(one, two, begins, capacities):
    """Return where the count of two bitmaps' codes is in the flat tables."""
    begin = begins[one[0], two[0]]
    if one[0] < two[0]:
        return begin + one[1] * capacities[two[0]] + two[1]
    return begin + two[1] * capacities[one[0]] + one[1]


@compiled
def _compare_tile(bits, tile, other, words):
    """Return how many bits one bitmap shares with each of eight."""
    a = b = c = d = e = f = g = h = np.uint64(0)
    for word in range(words):
        mine = bits[other, word]
        a += popcount(mine & bits[tile, word])
        b += popcount(mine & bits[tile + 1, word])
        c += popcount(mine & bits[tile + 2, word])
        d += popcount(mine & bits[tile + 3, word])
        e += popcount(mine & bits[tile + 4, word])
        f += popcount(mine & bits[tile + 5, word])
        g += popcount(mine & bits[tile + 6, word])
        h += popcount(mine & bits[tile + 7, word])
    return a, b, c, d, e, f, g, h


@compiled
def _scratch(rows):
    """Return the room that `_tally` needs for chunks of so many rows."""
    return np.empty(JOINT_ROWS, dtype=np.uint32), np.empty(rows // 4, dtype=np.int64)


@compiled
def _largest(address, width, rows):
    """Return the largest code of a column."""
    if width == 1:
        return np.int64(_largest_code(bytes_at(address, rows)))
    return np.int64(_largest_code(shorts_at(address, rows)))


@compiled
def _largest_code(codes):
    found = codes[0]
    for code in codes:
        found = max(found, code)
    return found


@compiled
def _tally(addresses, widths, a, b, rows, stride, room, table):
    """Add a histogram of the joint codes `stride * code_a + code_b`; stride 0 is column b alone."""
    joint, lanes = room
    cells = len(table)
    copies = cells * LANES <= min(len(lanes), rows // 4)
    if copies:
        lanes[: LANES * cells] = 0
    for begin in range(0, rows, JOINT_ROWS):
        part = joint[: min(JOINT_ROWS, rows - begin)]
        _fold(addresses[a], widths[a], begin, np.uint32(0), part)
        _fold(addresses[b], widths[b], begin, np.uint32(stride), part)
        if copies:
            _increment(part, np.uint64(cells), lanes)
        else:
            _increment(part, np.uint64(0), table)
    if copies:
        for lane in range(LANES):
            for cell in range(cells):
                table[cell] += lanes[lane * cells + cell]


@compiled
def _fold(address, width, begin, factor, joint):
    """Replace joint codes by `factor * joint + code`."""
    start = address + np.uintp(begin * width)
    if width == 1:
        _fold_codes(bytes_at(start, len(joint)), factor, joint)
    else:
        _fold_codes(shorts_at(start, len(joint)), factor, joint)


@compiled
def _fold_codes(codes, factor, joint):
    for row in range(len(joint)):
        joint[row] = factor * joint[row] + codes[row]


@compiled
def _increment(joint, step, cells):
    """Count joint codes, each fourth one in its own copy of the histogram, `step` cells apart."""
    rows = len(joint)
    whole = rows // LANES * LANES
    for row in range(0, whole, LANES):
        cells[joint[row]] += 1
        cells[joint[row + 1] + step] += 1
        cells[joint[row + 2] + step + step] += 1
        cells[joint[row + 3] + step + step + step] += 1
    for row in range(whole, rows):
        cells[joint[row]] += 1
