"""Adult and the NIST extract of the American Community Survey: census records."""

import io
from typing import Any

from seepage.datasets.adult import ADULT_BINS, DATA, TEST, read_adult
from seepage.datasets.catalogue import Dataset, add
from seepage.datasets.files import PublishedFile

__all__ = ["ADULT", "NIST_ACS"]

NIST_FILE = PublishedFile(
    "nist_acs_national2019/national2019.csv",
    "b49ba83e18472b6b76438bb511a01668bdbe2c1ace54521614a32edcc748f79a",
)

NIST_COLUMNS = [
    "PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT",
    "DENSITY", "INDP_CAT", "EDU", "PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY", "DEYE", "DEAR",
]  # fmt: skip
"""All but the industry code, the income in dollars (its decile is kept), and the weights."""


def read_nist_acs() -> Any:
    """Return the 27,253 people; `N` (not applicable) is missing.

    PUMA and DENSITY determine one another: a case of perfect correlation.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    options = csv.ConvertOptions(
        null_values=["N"],
        strings_can_be_null=True,
        include_columns=NIST_COLUMNS,
        column_types={"DENSITY": pa.string()},
    )
    return csv.read_csv(io.BytesIO(NIST_FILE.read()), convert_options=options)


ADULT = add(
    Dataset(
        name="adult",
        title="48,842 people of the 1994 US census, 14 features and their income",
        files=(DATA, TEST),
        reader=read_adult,
        licence="CC BY 4.0",
        citation="Becker, Kohavi: Adult, UCI Machine Learning Repository, 1996",
        address="https://archive.ics.uci.edu/dataset/2",
        archive="https://archive.ics.uci.edu/static/public/2/adult.zip",
        table={"bins": ADULT_BINS},
    )
)
NIST_ACS = add(
    Dataset(
        name="nist-acs",
        title="27,253 people of the American Community Survey 2019, 20 attributes; "
        "a stand-in for DSS",
        files=(NIST_FILE,),
        reader=read_nist_acs,
        licence="US government work, public domain",
        citation="NIST Diverse Communities Data Excerpts, national 2019",
        address="https://github.com/usnistgov/SDNist",
        by_hand="take BenchmarkData/ACSDataExcerpts/national/national2019.csv from its repository, "
        "and put it into the folder nist_acs_national2019 of SEEPAGE_DATA",
        table={"bins": {"AGEP": [0, 18, 30, 45, 60, 75, 100], "POVPIP": "quantile:8"}},
    )
)
