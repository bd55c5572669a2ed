"""The counting kernel compiled by Numba: AND and popcount of bitmaps, and histograms.

Imported only if the work is large: importing Numba and loading the cached machine code
takes about a second, compiling it for the first time several.  Rows are processed in
chunks that stay in the cache.  Within a stretch of rows, tiles of eight bitmaps stay in
the L1 cache while each is compared with the bitmaps of all smaller columns.  Alphabets
too large for bitmaps are counted by histograms.

LLVM intrinsics that Numba does not expose are defined first.  All compiled code is in
this file, since Numba's cache detects changes of a function's own file only.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from seepage.counting.schedule import TRIPLE_CELLS

WORD = 64
"""Bits of a word."""


entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of a function called from Python; the machine code is cached on disk."""


compiled: Any = extending.register_jitable(error_model="numpy")
"""Decorator of a function called from compiled functions only, so it gets no wrapper
for Python."""


intrinsic: Any = extending.intrinsic


@intrinsic
def popcount(typing_context, word):
    """Return the number of bits set in compiled code (LLVM `ctpop`, which
    vectorises).
    """

    def generate(context, builder, signature, arguments):
        """Generate the LLVM instruction of the number of bits set."""
        return builder.ctpop(arguments[0])

    return word(word), generate


@intrinsic
def pointer(typing_context, address):
    """Return an address as a pointer, in compiled code."""

    def generate(context, builder, signature, arguments):
        """Generate the LLVM instruction that makes an address a pointer."""
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uintp), generate


@intrinsic
def equal_bits(typing_context, codes, word, value):
    """Return the bits of `codes[64 * word : 64 * word + 64] == value` as a uint64, in
    compiled code.
    """

    def generate(context, builder, signature, arguments):
        """Generate the LLVM instructions that compare 64 codes at once."""
        number = ir.IntType(32)
        code = ir.IntType(codes.dtype.bitwidth)
        vector = ir.VectorType(code, WORD)
        undefined = ir.Constant(vector, ir.Undefined)
        array = context.make_array(codes)(context, builder, arguments[0])
        start = builder.mul(arguments[1], ir.Constant(arguments[1].type, WORD))
        block = builder.bitcast(builder.gep(array.data, [start]), vector.as_pointer())
        scalar = builder.trunc(arguments[2], code)
        single = builder.insert_element(undefined, scalar, ir.Constant(number, 0))
        zeros = ir.Constant(ir.VectorType(number, WORD), [0] * WORD)
        broadcast = builder.shuffle_vector(single, undefined, zeros)
        equal = builder.icmp_unsigned("==", builder.load(block, align=1), broadcast)
        return builder.bitcast(equal, ir.IntType(WORD))

    return types.uint64(codes, types.intp, types.intp), generate


@compiled
def bytes_at(address, rows):
    """Return the uint8 array at an address, in compiled code."""
    return numba.carray(pointer(address), rows, np.uint8)


@compiled
def shorts_at(address, rows):
    """Return the uint16 array at an address, in compiled code."""
    return numba.carray(pointer(address), rows, np.uint16)


CHUNK = 1 << 16
"""Rows processed at once: 64 kB of a uint8 column, long enough for the memory to
stream."""


STRETCH = 256
"""Words of a bitmap compared at once: 2 kB; eight fill half of an L1 cache."""


TILE = 8
"""Number of bitmaps that another bitmap is compared with at once."""


JOINT_ROWS = 1 << 11
"""Rows whose joint codes are computed at once; they stay in the L1 cache."""


FOUR_COPIES = 1 << 11
"""Maximum size of a histogram with four copies, against store-to-load stalls of equal
codes."""


TWO_COPIES = 1 << 14
"""Maximum size of a histogram of two columns with two copies; larger ones have a single
one."""


class KernelColumns(NamedTuple):
    """The columns: addresses of their codes, bytes per code, and alphabet sizes."""

    addresses: Any
    widths: Any
    sizes: Any


class KernelGroups(NamedTuple):
    """The fields of `PairSchedule`, `bitmaps` padded to tiles, pairs grouped into
    triples.
    """

    packed: Any
    first: Any
    bitmaps: Any
    triples: Any
    pairs: Any


class Totals(NamedTuple):
    """The arrays of `PairCells`; `offsets` is its `offset_matrix`."""

    capacities: Any
    marginals: Any
    tables: Any
    offsets: Any


class Scratch(NamedTuple):
    """Scratch memory: a pair; joint codes of small and large histograms; cells of small
    ones.
    """

    pair: Any
    joint: Any
    wide_joint: Any
    cells: Any


@entry
def count_rows(columns, rows, groups, totals):
    """Count all rows in compiled code; return the first column with a code not below
    its size, else -1.
    """
    bits = np.zeros((len(groups.bitmaps), STRETCH), dtype=np.uint64)
    scratch = Scratch(
        np.empty(2, np.int64),
        np.empty(JOINT_ROWS, np.uint16),
        np.empty(JOINT_ROWS, np.uint32),
        np.empty(2 * TRIPLE_CELLS, np.uint32),
    )
    for start in range(0, rows, CHUNK):
        chunk = _from_row(columns, start)
        count = min(CHUNK, rows - start)
        for column in range(len(columns.sizes)):
            if _max_of_column(chunk, column, count) >= columns.sizes[column]:
                return column
        for row in range(0, count, STRETCH * WORD):
            stretch = _from_row(chunk, row)
            _pack_all(stretch, min(STRETCH * WORD, count - row), groups, bits)
            words = min(STRETCH, -(-(count - row) // WORD))
            _add_bitmaps(bits, words, groups.bitmaps, totals)
            _compare(bits, words, groups.bitmaps, totals)
        _tally_all(chunk, count, groups, totals, scratch)
    return -1


@compiled
def _from_row(columns, row):
    """Return the columns starting at a row, by their addresses in compiled code."""
    steps = (row * columns.widths).astype(np.uintp)
    return KernelColumns(columns.addresses + steps, columns.widths, columns.sizes)


@compiled
def _max_of_column(columns, column, rows):
    """Return the maximum code of a column, in compiled code."""
    if columns.widths[column] == 1:
        return np.int64(_max_code(bytes_at(columns.addresses[column], rows)))
    return np.int64(_max_code(shorts_at(columns.addresses[column], rows)))


@compiled
def _max_code(codes):
    """Return the maximum of codes, in compiled code."""
    maximum = codes[0]
    for code in codes:
        maximum = max(maximum, code)
    return maximum


@compiled
def _pack_all(columns, rows, groups, bits):
    """Write the bitmaps of a stretch in compiled code: one for each code of a packed
    column but 0.
    """
    for index in range(len(groups.packed)):
        bitmaps = bits[groups.first[index] : groups.first[index + 1]]
        address = columns.addresses[groups.packed[index]]
        if columns.widths[groups.packed[index]] == 1:
            _pack(bytes_at(address, rows), bitmaps)
        else:
            _pack(shorts_at(address, rows), bitmaps)


@compiled
def _pack(codes, bits):
    """Write the bitmap of each code of a column but 0, in compiled code."""
    words = len(codes) // WORD
    for bitmap in range(len(bits)):
        for word in range(words):
            bits[bitmap, word] = equal_bits(codes, word, bitmap + 1)
        if words * WORD < len(codes):
            tail = np.uint64(0)
            for row in range(words * WORD, len(codes)):
                tail |= np.uint64(codes[row] == bitmap + 1) << np.uint64(
                    row - words * WORD
                )
            bits[bitmap, words] = tail


@compiled
def _add_bitmaps(bits, words, bitmaps, totals):
    """Add in compiled code the popcount of each bitmap to the marginal count of its
    code.
    """
    for bitmap in range(len(bits)):
        count = np.uint64(0)
        for word in range(words):
            count += popcount(bits[bitmap, word])
        column, code, _ = bitmaps[bitmap]
        totals.marginals[totals.offsets[column, column] + code] += np.int64(count)


@compiled
def _compare(bits, words, bitmaps, totals):
    """Add in compiled code the popcount of each two bitmaps' common bits to the count
    of their codes, in tiles.
    """
    for tile in range(0, len(bits), TILE):
        stop = 0
        for bitmap in range(tile, tile + TILE):
            stop = max(stop, bitmaps[bitmap, 2])
        for other in range(stop):
            common = _compare_tile(bits, tile, other, words)
            for lane in range(TILE):
                if other < bitmaps[tile + lane, 2]:
                    cell = _cell(bitmaps[other], bitmaps[tile + lane], totals)
                    totals.tables[cell] += np.int64(common[lane])


@compiled
def _cell(first, second, totals):
    """Return the index in the flat tables of the count of two bitmaps' codes, in
    compiled code.
    """
    offset = totals.offsets[first[0], second[0]]
    if first[0] < second[0]:
        return offset + first[1] * totals.capacities[second[0]] + second[1]
    return offset + second[1] * totals.capacities[first[0]] + first[1]


@compiled
def _compare_tile(bits, tile, other, words):
    """Return in compiled code the number of common bits of one bitmap with each of the
    eight of a tile.
    """
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
def _tally_all(columns, rows, groups, totals, scratch):
    """Add the histograms of a chunk in compiled code: of triples, of pairs, and of
    columns without a marginal yet.

    The marginals of packed columns are those of their bitmaps.
    """
    no_marginal = np.ones(len(columns.sizes), dtype=np.bool_)
    for column in groups.packed:
        no_marginal[column] = False
    for index in range(len(groups.triples)):
        triple = groups.triples[index]
        cells = (
            columns.sizes[triple[0]]
            * columns.sizes[triple[1]]
            * columns.sizes[triple[2]]
        )
        if cells <= rows:
            copies = np.int64(2)
            _histogram(
                columns,
                rows,
                triple,
                columns.sizes,
                copies,
                scratch.joint,
                scratch.cells,
                cells,
            )
            _marginalise(
                scratch.cells, cells, triple, columns.sizes, no_marginal, totals
            )
        else:
            for i, j in ((0, 1), (0, 2), (1, 2)):
                scratch.pair[0] = triple[i]
                scratch.pair[1] = triple[j]
                _tally_pair(columns, rows, scratch.pair, totals, scratch)
    for index in range(len(groups.pairs)):
        _tally_pair(columns, rows, groups.pairs[index], totals, scratch)
    for column in range(len(no_marginal)):
        if no_marginal[column]:
            scratch.pair[0] = column
            start = totals.offsets[column, column]
            marginal = totals.marginals[start : start + totals.capacities[column]]
            _tally(
                columns, rows, scratch.pair[:1], totals.capacities, scratch, marginal
            )


@compiled
def _tally_pair(columns, rows, pair, totals, scratch):
    """Add the histogram of two columns to their table, in compiled code."""
    start = totals.offsets[pair[0], pair[1]]
    cells = totals.capacities[pair[0]] * totals.capacities[pair[1]]
    table = totals.tables[start : start + cells]
    _tally(columns, rows, pair, totals.capacities, scratch, table)


@compiled
def _marginalise(counted, cells, triple, sizes, no_marginal, totals):
    """Add the two copies of a compiled histogram of three columns to the tables of its
    three pairs.

    Also to the marginals of its columns with `no_marginal`, which is cleared.
    """
    a, b, c = triple
    of_c = totals.marginals[totals.offsets[c, c] :]
    for i in range(sizes[a]):
        ac = totals.tables[totals.offsets[a, c] + i * totals.capacities[c] :]
        for j in range(sizes[b]):
            bc = totals.tables[totals.offsets[b, c] + j * totals.capacities[c] :]
            first = counted[(i * sizes[b] + j) * sizes[c] :]
            second = counted[(i * sizes[b] + j) * sizes[c] + cells :]
            total = 0
            for k in range(sizes[c]):
                count = np.int64(first[k]) + np.int64(second[k])
                total += count
                ac[k] += count
                bc[k] += count
                of_c[k] += count * no_marginal[c]
            totals.tables[totals.offsets[a, b] + i * totals.capacities[b] + j] += total
            totals.marginals[totals.offsets[a, a] + i] += total * no_marginal[a]
            totals.marginals[totals.offsets[b, b] + j] += total * no_marginal[b]
    no_marginal[a] = no_marginal[b] = no_marginal[c] = False


@compiled
def _tally(columns, rows, group, strides, scratch, table):
    """Add the compiled histogram of a group of columns to its table, row-major with
    these strides.
    """
    cells = len(table)
    copies = 4 if cells <= FOUR_COPIES else 2
    if cells > TWO_COPIES or copies * cells > rows:
        _histogram(columns, rows, group, strides, 1, scratch.wide_joint, table, 0)
        return
    _histogram(
        columns, rows, group, strides, copies, scratch.joint, scratch.cells, cells
    )
    for copy in range(copies):
        for cell in range(cells):
            table[cell] += scratch.cells[copy * cells + cell]


@compiled
def _histogram(columns, rows, group, strides, copies, joint, cells, size):
    """Count the joint codes of some columns in copies of a compiled histogram, `size`
    cells apart.

    The joint code of columns a, b, c is (code_a * stride_b + code_b) * stride_c +
    code_c. With `size` 0 there is one histogram, to which counts are added; else cells
    are zeroed first.
    """
    cells[: copies * size] = 0
    for start in range(0, rows, JOINT_ROWS):
        part = joint[: min(JOINT_ROWS, rows - start)]
        for index in range(len(group)):
            column = group[index]
            address = columns.addresses[column] + np.uintp(
                start * columns.widths[column]
            )
            if columns.widths[column] == 1:
                _fold(bytes_at(address, len(part)), strides[column], index == 0, part)
            else:
                _fold(shorts_at(address, len(part)), strides[column], index == 0, part)
        _increment(
            part, cells, size * (1 % copies), size * (2 % copies), size * (3 % copies)
        )


@compiled
def _fold(codes, stride, first, joint):
    """Replace `joint` by `joint * stride + code` in compiled code, or by `code` for the
    first column.
    """
    factor = joint.dtype.type(stride)
    if first:
        for row in range(len(joint)):
            joint[row] = codes[row]
    else:
        for row in range(len(joint)):
            joint[row] = joint[row] * factor + codes[row]


@compiled
def _increment(joint, cells, second, third, fourth):
    """Count joint codes in compiled code, row r in copy r mod 4; the other copies begin
    at these offsets.
    """
    b = np.uint64(second)
    c = np.uint64(third)
    d = np.uint64(fourth)
    unrolled = len(joint) // 4 * 4
    for row in range(0, unrolled, 4):
        cells[joint[row]] += 1
        cells[joint[row + 1] + b] += 1
        cells[joint[row + 2] + c] += 1
        cells[joint[row + 3] + d] += 1
    for row in range(unrolled, len(joint)):
        cells[joint[row]] += 1
