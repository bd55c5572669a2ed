"""The engines that make `PairCounts`: one pass over the records.

`kernel` counts one batch (NumPy, or Numba in `compiled_kernel`), `count` adds the batches of a
table up, `distinct` keeps distinct records.
"""

from seepage.data.counting.count import PairAccumulator, count_codes

__all__ = ["PairAccumulator", "count_codes"]
