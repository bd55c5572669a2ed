"""What Numba has no word for: instructions of LLVM on words, vectors and addresses.

LLVM lowers each to the best that the processor has (AVX-512 has one instruction for each), and to
something right on any other.

After a change here, save `compiled.py` too: Numba's cache notices changes of that file only.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["WORD", "bytes_at", "compiled", "entry", "equal_bits", "popcount", "shorts_at"]

WORD = 64

entry: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
"""Compiles a function that Python calls; the machine code is kept for the next time."""

compiled: Any = numba.njit(nogil=True, error_model="numpy")
"""Compiles a function that compiled functions call."""


def _popcount(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return word(word), generate


def _pointer(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uintp), generate


def _equal_bits(typing_context, codes, word, value):
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


popcount: Any = intrinsic(_popcount)
"""`popcount(word)`: the number of bits set; loops over it are vectorised."""

pointer: Any = intrinsic(_pointer)
"""`pointer(address)`: an address as a pointer."""

equal_bits: Any = intrinsic(_equal_bits)
"""`equal_bits(codes, word, value)`: which of codes 64 word to 64 word + 63 equal the value."""


@compiled
def bytes_at(address, rows):
    """Return the uint8 array at an address."""
    return numba.carray(pointer(address), rows, np.uint8)


@compiled
def shorts_at(address, rows):
    """Return the uint16 array at an address."""
    return numba.carray(pointer(address), rows, np.uint16)
