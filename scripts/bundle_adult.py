"""Make the bundled pair counts of Adult from the published files in SEEPAGE_DATA."""

import sys
from pathlib import Path

import seepage as sp
from seepage.data.datasets.catalogue import ADULT_BINS, read_adult

BUNDLED = Path(__file__).parents[1] / "src/seepage/datasets/bundled"


def main() -> None:
    """Count all pairs of Adult and save them to the package."""
    pairs = sp.count_pairs(read_adult(), bins=ADULT_BINS)
    path = BUNDLED / "adult.parquet"
    pairs.save(path)
    sys.stdout.write(f"{pairs} in {path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
