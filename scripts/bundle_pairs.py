"""Make the bundled pair counts from the published files in SEEPAGE_DATA."""

import sys
from pathlib import Path

import seepage as sp
from seepage.datasets.catalogue import BUNDLED

FOLDER = Path(__file__).parents[1] / "src/seepage/datasets/bundled"


def main() -> None:
    """Count all pairs of each dataset whose counts are bundled, and save them to the
    package.
    """
    for name, file in BUNDLED.items():
        pairs = sp.dataset(name).pairs()
        path = FOLDER / file
        pairs.save(path)
        sys.stdout.write(f"{pairs} in {path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
