"""The kernel that Numba compiles: bitmaps, AND and popcount, and histograms beside them.

Imported only when the work is large: importing Numba and loading the cached machine code takes
about a second, compiling it for the first time several.  Rows are handled in chunks that stay in
the cache.  Of each stretch of rows, eight bitmaps at a time stay in the L1 cache while those of all
smaller columns pass by.  Alphabets too large for bitmaps are counted by histograms.

LLVM intrinsics that Numba does not expose come first.  All compiled code is in this one file, since
Numba's cache notices changes of a function's own file only.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from seepage.data.counting.kernel import TRIPLE_CELLS

WORD = 64

entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
"""Compiles a function that Python calls; the machine code is kept for the next time."""

compiled: Any = numba.njit(nogil=True, error_model="numpy")
"""Compiles a function that compiled functions call."""

intrinsic: Any = extending.intrinsic


@intrinsic
def popcount(typing_context, word):
    """Return the number of bits set; loops over it are vectorised."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return word(word), generate


@intrinsic
def pointer(typing_context, address):
    """Return an address as a pointer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uintp), generate


@intrinsic
def equal_bits(typing_context, codes, word, value):
    """Return which of codes 64 word to 64 word + 63 equal the value."""

    def generate(context, builder, signature, arguments):
        number, code = ir.IntType(32), ir.IntType(codes.dtype.bitwidth)
        vector = ir.VectorType(code, WORD)
        undefined = ir.Constant(vector, ir.Undefined)
        array = context.make_array(codes)(context, builder, arguments[0])
        begin = builder.mul(arguments[1], ir.Constant(arguments[1].type, WORD))
        block = builder.bitcast(builder.gep(array.data, [begin]), vector.as_pointer())
        wanted = builder.trunc(arguments[2], code)
        single = builder.insert_element(undefined, wanted, ir.Constant(number, 0))
        first = ir.Constant(ir.VectorType(number, WORD), [0] * WORD)
        every = builder.shuffle_vector(single, undefined, first)
        equal = builder.icmp_unsigned("==", builder.load(block, align=1), every)
        return builder.bitcast(equal, ir.IntType(WORD))

    return types.uint64(codes, types.intp, types.intp), generate


@compiled
def bytes_at(address, rows):
    """Return the uint8 array at an address."""
    return numba.carray(pointer(address), rows, np.uint8)


@compiled
def shorts_at(address, rows):
    """Return the uint16 array at an address."""
    return numba.carray(pointer(address), rows, np.uint16)


CHUNK = 1 << 16
"""Rows handled at once: 64 kB of a column, long enough for the memory to stream."""
STRETCH = 256
"""Words of a bitmap compared at once: 2 kB, eight of them half of an L1 cache."""
TILE = 8
"""Bitmaps that each other bitmap is compared with at once."""
JOINT_ROWS = 1 << 11
"""Rows whose joint codes are computed at once; they stay in the L1 cache."""
FOUR_COPIES = 1 << 11
"""Cells up to which a histogram has four copies, so that equal neighbours need not wait."""
TWO_COPIES = 1 << 14
"""Cells up to which a histogram of two columns has two copies; larger ones have none."""


class KernelColumns(NamedTuple):
    """Where the codes of each column are, the bytes of a code, and what all codes are below."""

    addresses: Any
    widths: Any
    sizes: Any


class KernelGroups(NamedTuple):
    """What is counted how: the fields of `PairSchedule`."""

    packed: Any
    first: Any
    stop: Any
    triples: Any
    pairs: Any


class Totals(NamedTuple):
    """The fields of `PairCells`, and where each pair's table and each column's marginal begin."""

    capacities: Any
    marginals: Any
    tables: Any
    begins: Any


class Room(NamedTuple):
    """Scratch memory: a pair; joint codes of small and of large histograms; cells of small ones."""

    pair: Any
    joint: Any
    wide_joint: Any
    cells: Any


@entry
def count_rows(columns, rows, groups, totals):
    """Add every chunk of rows; return the first column with a code too large, else -1."""
    bits = np.zeros((-(-groups.first[-1] // TILE) * TILE, STRETCH), dtype=np.uint64)
    indices = _bitmap_indices(groups, len(bits))
    room = Room(
        np.empty(2, np.int64),
        np.empty(JOINT_ROWS, np.uint16),
        np.empty(JOINT_ROWS, np.uint32),
        np.empty(2 * TRIPLE_CELLS, np.uint32),
    )
    for begin in range(0, rows, CHUNK):
        chunk = _from_row(columns, begin)
        count = min(CHUNK, rows - begin)
        for column in range(len(columns.sizes)):
            if _largest(chunk, column, count) >= columns.sizes[column]:
                return column
        for start in range(0, count, STRETCH * WORD):
            stretch = _from_row(chunk, start)
            _pack_all(stretch, min(STRETCH * WORD, count - start), groups, bits)
            used = min(STRETCH, -(-(count - start) // WORD))
            _add_bitmaps(bits, used, indices, totals)
            _compare(bits, used, indices, totals)
        _tally_all(chunk, count, groups, totals, room)
    return -1


@compiled
def _from_row(columns, row):
    """Return the columns from a row on."""
    steps = (row * columns.widths).astype(np.uintp)
    return KernelColumns(columns.addresses + steps, columns.widths, columns.sizes)


@compiled
def _largest(columns, column, rows):
    """Return the largest code of a column."""
    if columns.widths[column] == 1:
        return np.int64(_largest_code(bytes_at(columns.addresses[column], rows)))
    return np.int64(_largest_code(shorts_at(columns.addresses[column], rows)))


@compiled
def _largest_code(codes):
    found = codes[0]
    for code in codes:
        found = max(found, code)
    return found


@compiled
def _bitmap_indices(groups, padded):
    """Return, for each bitmap, its column, its code and how many bitmaps it is compared with."""
    indices = np.zeros((padded, 3), dtype=np.int64)
    for index in range(len(groups.packed)):
        for bitmap in range(groups.first[index], groups.first[index + 1]):
            indices[bitmap, 0] = groups.packed[index]
            indices[bitmap, 1] = bitmap - groups.first[index] + 1
            indices[bitmap, 2] = groups.stop[index]
    return indices


@compiled
def _pack_all(columns, rows, groups, bits):
    """Write the bitmaps of a stretch: one for each code of a packed column but 0."""
    for index in range(len(groups.packed)):
        own = bits[groups.first[index] : groups.first[index + 1]]
        address = columns.addresses[groups.packed[index]]
        if columns.widths[groups.packed[index]] == 1:
            _pack(bytes_at(address, rows), own)
        else:
            _pack(shorts_at(address, rows), own)


@compiled
def _pack(codes, bits):
    words = len(codes) // WORD
    for bitmap in range(len(bits)):
        for word in range(words):
            bits[bitmap, word] = equal_bits(codes, word, bitmap + 1)
        if words * WORD < len(codes):
            tail = np.uint64(0)
            for row in range(words * WORD, len(codes)):
                tail |= np.uint64(codes[row] == bitmap + 1) << np.uint64(row - words * WORD)
            bits[bitmap, words] = tail


@compiled
def _add_bitmaps(bits, words, indices, totals):
    """Add the bits of each bitmap to its code's marginal count."""
    for bitmap in range(len(bits)):
        found = np.uint64(0)
        for word in range(words):
            found += popcount(bits[bitmap, word])
        column, code, _ = indices[bitmap]
        totals.marginals[totals.begins[column, column] + code] += np.int64(found)


@compiled
def _compare(bits, words, indices, totals):
    """Add the bits that each two bitmaps share to the count of their codes."""
    for tile in range(0, len(bits), TILE):
        others = 0
        for bitmap in range(tile, tile + TILE):
            others = max(others, indices[bitmap, 2])
        for other in range(others):
            shared = _compare_tile(bits, tile, other, words)
            for lane in range(TILE):
                if other < indices[tile + lane, 2]:
                    cell = _cell(indices[other], indices[tile + lane], totals)
                    totals.tables[cell] += np.int64(shared[lane])


@compiled
def _cell(one, two, totals):
    """Return where the count of two bitmaps' codes is in the flat tables."""
    begin = totals.begins[one[0], two[0]]
    if one[0] < two[0]:
        return begin + one[1] * totals.capacities[two[0]] + two[1]
    return begin + two[1] * totals.capacities[one[0]] + one[1]


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
def _tally_all(columns, rows, groups, totals, room):
    """Add the histograms of a chunk: of triples, of pairs, of columns that are in neither."""
    alone = np.ones(len(columns.sizes), dtype=np.bool_)
    for column in groups.packed:
        alone[column] = False
    for index in range(len(groups.triples)):
        triple = groups.triples[index]
        cells = columns.sizes[triple[0]] * columns.sizes[triple[1]] * columns.sizes[triple[2]]
        if cells <= rows:
            copies = np.int64(2)
            _histogram(columns, rows, triple, columns.sizes, copies, room.joint, room.cells, cells)
            _spread(room.cells, cells, triple, columns.sizes, alone, totals)
        else:
            for one, two in ((0, 1), (0, 2), (1, 2)):
                room.pair[0], room.pair[1] = triple[one], triple[two]
                _tally_pair(columns, rows, room.pair, totals, room)
    for index in range(len(groups.pairs)):
        _tally_pair(columns, rows, groups.pairs[index], totals, room)
    for column in range(len(alone)):
        if alone[column]:
            room.pair[0] = column
            begin = totals.begins[column, column]
            own = totals.marginals[begin : begin + totals.capacities[column]]
            _tally(columns, rows, room.pair[:1], totals.capacities, room, own)


@compiled
def _tally_pair(columns, rows, pair, totals, room):
    begin = totals.begins[pair[0], pair[1]]
    cells = totals.capacities[pair[0]] * totals.capacities[pair[1]]
    own = totals.tables[begin : begin + cells]
    _tally(columns, rows, pair, totals.capacities, room, own)


@compiled
def _spread(counted, cells, triple, sizes, alone, totals):
    """Add the two copies of a histogram of three columns to the tables of its three pairs.

    And to the marginals of those of its columns that are alone; they no longer are, then.
    """
    a, b, c = triple
    of_c = totals.marginals[totals.begins[c, c] :]
    for i in range(sizes[a]):
        ac = totals.tables[totals.begins[a, c] + i * totals.capacities[c] :]
        for j in range(sizes[b]):
            bc = totals.tables[totals.begins[b, c] + j * totals.capacities[c] :]
            one = counted[(i * sizes[b] + j) * sizes[c] :]
            two = counted[(i * sizes[b] + j) * sizes[c] + cells :]
            whole = 0
            for k in range(sizes[c]):
                count = np.int64(one[k]) + np.int64(two[k])
                whole += count
                ac[k] += count
                bc[k] += count
                of_c[k] += count * alone[c]
            totals.tables[totals.begins[a, b] + i * totals.capacities[b] + j] += whole
            totals.marginals[totals.begins[a, a] + i] += whole * alone[a]
            totals.marginals[totals.begins[b, b] + j] += whole * alone[b]
    alone[a] = alone[b] = alone[c] = False


@compiled
def _tally(columns, rows, group, strides, room, table):
    """Add the histogram of a group of columns, laid out like the table."""
    cells = len(table)
    copies = 4 if cells <= FOUR_COPIES else 2
    if cells > TWO_COPIES or copies * cells > rows:
        _histogram(columns, rows, group, strides, 1, room.wide_joint, table, 0)
        return
    _histogram(columns, rows, group, strides, copies, room.joint, room.cells, cells)
    for copy in range(copies):
        for cell in range(cells):
            table[cell] += room.cells[copy * cells + cell]


@compiled
def _histogram(columns, rows, group, strides, copies, joint, cells, size):
    """Count the joint codes of some columns in copies of a histogram, `size` cells apart.

    The joint code of columns a, b, c is (code_a * stride_b + code_b) * stride_c + code_c.
    Where `size` is 0 the one histogram is added to, else it begins at 0.
    """
    cells[: copies * size] = 0
    for begin in range(0, rows, JOINT_ROWS):
        part = joint[: min(JOINT_ROWS, rows - begin)]
        for index in range(len(group)):
            column = group[index]
            address = columns.addresses[column] + np.uintp(begin * columns.widths[column])
            if columns.widths[column] == 1:
                _fold(bytes_at(address, len(part)), strides[column], index == 0, part)
            else:
                _fold(shorts_at(address, len(part)), strides[column], index == 0, part)
        _increment(part, cells, size * (1 % copies), size * (2 % copies), size * (3 % copies))


@compiled
def _fold(codes, stride, first, joint):
    """Replace joint codes by `joint * stride + code`; the first ones by `code`."""
    factor = joint.dtype.type(stride)
    if first:
        for row in range(len(joint)):
            joint[row] = codes[row]
    else:
        for row in range(len(joint)):
            joint[row] = joint[row] * factor + codes[row]


@compiled
def _increment(joint, cells, second, third, fourth):
    """Count joint codes, each of four neighbours in its copy of the histogram."""
    b, c, d = np.uint64(second), np.uint64(third), np.uint64(fourth)
    whole = len(joint) // 4 * 4
    for row in range(0, whole, 4):
        cells[joint[row]] += 1
        cells[joint[row + 1] + b] += 1
        cells[joint[row + 2] + c] += 1
        cells[joint[row + 3] + d] += 1
    for row in range(whole, len(joint)):
        cells[joint[row]] += 1
