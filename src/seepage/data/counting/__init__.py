"""Counting engines: one pass over the records.

`kernel` counts one batch (NumPy, or Numba in `compiled_kernel`), `count` sums the batches of a
table to pair counts, `distinct` keeps distinct or sampled records.
"""
