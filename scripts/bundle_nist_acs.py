"""Make the bundled pair counts of NIST ACS from the published file in SEEPAGE_DATA."""

import sys
from pathlib import Path

import seepage as sp

BUNDLED = Path(__file__).parents[1] / "src/seepage/datasets/bundled"


def main() -> None:
    """Count all pairs of NIST ACS and save them to the package."""
    pairs = sp.dataset("nist-acs").pairs()
    path = BUNDLED / "nist_acs.parquet"
    pairs.save(path)
    sys.stdout.write(f"{pairs} in {path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
