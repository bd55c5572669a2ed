"""The real datasets, and the pair counts of those that may be bundled."""

from seepage.data.datasets.catalogue import BUNDLED, DATASETS, dataset, load_pairs
from seepage.data.datasets.published_files import Dataset
from seepage.data.datasets.survey import make_survey

__all__ = ["BUNDLED", "DATASETS", "Dataset", "dataset", "load_pairs", "make_survey"]
