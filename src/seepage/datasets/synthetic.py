"""The synthetic survey among the datasets: nothing to download, and a joint that is known."""

from seepage.datasets.catalogue import Dataset, add
from seepage.datasets.survey import make_survey

__all__ = ["SURVEY"]

SURVEY = add(
    Dataset(
        name="survey",
        title="10,000 made-up people with a known joint distribution; see make_survey",
        files=(),
        reader=make_survey,
        licence="part of seepage, Apache-2.0",
        citation="seepage",
        address="made by seepage.datasets.survey",
    )
)
