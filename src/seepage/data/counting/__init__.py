"""The engines that make `PairCounts`: one pass over the records.

`kernel` counts one batch (NumPy, or Numba in `compiled_kernel`), `accumulator` adds batches and
shards up, `count` feeds them with the batches of a table, `distinct` keeps distinct records.
"""

from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.count import count_codes, count_pairs, is_spark_frame

__all__ = ["PairAccumulator", "count_codes", "count_pairs", "is_spark_frame"]
