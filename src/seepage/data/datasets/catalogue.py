"""The catalogue of datasets: files, readers, licences, and default columns and bins."""

import io
from importlib import resources
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage.data.datasets.published_files import Dataset, PublishedFile
from seepage.data.datasets.survey import make_survey
from seepage.data.pairs import PairCounts
from seepage.errors import TableError

BUNDLED = {"adult": "adult.parquet", "nist-acs": "nist_acs.parquet"}
"""Files of the pair counts bundled with the package, by dataset name."""

ADULT_DATA = PublishedFile(
    "adult/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
)
ADULT_TEST = PublishedFile(
    "adult/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
)

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip

ADULT_BINS: dict[str, list[float]] = {
    "age": [17, 25, 35, 45, 55, 65, 90],
    "fnlwgt": [
        12_000, 66_000, 106_000, 129_000, 159_000, 178_000,
        196_000, 220_000, 260_000, 329_000, 1_500_000,
    ],
    "capital-gain": [0, 1, 5_000, 10_000, 100_000],
    "capital-loss": [0, 1, 1_500, 2_000, 5_000],
    "hours-per-week": [1, 20, 35, 40, 41, 50, 60, 99],
}  # fmt: skip
"""Bin edges; those of fnlwgt (a sampling weight) are its rounded deciles."""


def _read_csv(content: bytes, *, names: Any = None, convert: Any = None, **parsing: Any) -> Any:
    """Return delimited text as a PyArrow table; the first line is the header unless `names`."""
    import pyarrow.csv as csv

    options = csv.ReadOptions(column_names=names), csv.ParseOptions(**parsing)
    return csv.read_csv(io.BytesIO(content), *options, csv.ConvertOptions(**convert or {}))


def read_adult() -> Any:
    """Return the 48,842 records of `adult.data` and `adult.test` as a PyArrow table.

    `?` is missing; the full stop after the incomes of `adult.test` and its first line are removed.
    """
    test = ADULT_TEST.read().split(b"\n", 1)[1].replace(b".\n", b"\n")
    content = (ADULT_DATA.read() + test).replace(b", ", b",")
    convert = {"null_values": ["?"], "strings_can_be_null": True}
    return _read_csv(content, names=ADULT_COLUMNS, convert=convert)


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
    """Return the 27,253 records; `N` (not applicable) is missing.

    PUMA and DENSITY determine each other: a case of perfect correlation.
    """
    convert = {
        "null_values": ["N"],
        "strings_can_be_null": True,
        "include_columns": NIST_COLUMNS,
        "column_types": {"DENSITY": "string"},
    }
    return _read_csv(NIST_FILE.read(), convert=convert)


CELEBA_FILE = PublishedFile(
    "celeba/list_attr_celeba.txt",
    "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
)
LFW_FILE = PublishedFile(
    "lfw/lfw_binary_attributes_top2of3.csv",
    "f2951fe1ac81202972238e5194704886397c708f5e46a821975674ef2f5b39fd",
)
LFW_SCORES_FILE = PublishedFile(
    "lfw/lfw_attributes_subset2999.txt",
    "10948dff59cd0fae95104eaba5392dc634c84127106223d392b8fa1882d825bd",
)


def read_celeba() -> Any:
    """Return the 202,599 x 40 attributes, each -1 or 1, without the image names."""
    count, header, body = CELEBA_FILE.read().split(b"\r\n", 2)
    names = ["image", *header.decode("ascii").split()]
    table = _read_csv(body.replace(b"  ", b" "), names=names, delimiter=" ")
    assert table.num_rows == int(count)
    return table.drop_columns(["image"])


def read_lfw() -> Any:
    """Return 13,143 x 73 attributes, 0 or 1, without the image names.

    1 means that the score is positive and among the top two thirds of the positive scores; the
    column Female, made from Male by the same rule, is left out.
    """
    return _read_csv(LFW_FILE.read()).drop_columns(["image", "Female"])


def read_lfw_scores() -> Any:
    """Return 2,999 x 73 attributes as real classifier scores, without person and image number.

    The format is that of the published text: a comment line, a header with one field more than
    the rows, and tab-separated numbers.
    """
    _, header, body = LFW_SCORES_FILE.read().split(b"\n", 2)
    names = header.decode("utf-8").split("\t")[1:]
    table = _read_csv(body, names=names, delimiter="\t", quote_char=False)
    return table.drop_columns(["person", "imagenum"])


CARDIO_FILE = PublishedFile(
    "cardio/cardio_train.csv", "21a705d23381b0dfd6a6416da701b490744f1fc3b47e9ff3db3968c420ffa10c"
)
DIABETES_FILE = PublishedFile(
    "diabetes130/diabetic_data.csv",
    "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
)

CARDIO_COLUMNS = ["gender", "cholesterol", "gluc", "smoke", "alco", "active", "cardio"]
"""The seven attributes of the paper's heat map."""

DIABETES_COLUMNS = [
    "race", "gender", "age", "admission_type_id", "discharge_disposition_id",
    "admission_source_id", "time_in_hospital", "payer_code", "num_procedures",
    "number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses",
    "max_glu_serum", "A1Cresult", "metformin", "repaglinide", "glimepiride", "glipizide",
    "glyburide", "pioglitazone", "rosiglitazone", "insulin", "change", "diabetesMed",
    "readmitted",
]  # fmt: skip
"""Categorical columns of moderate size: no identifiers, diagnoses, constants or weight."""


def read_cardio() -> Any:
    """Return the 70,000 records; age is in days, and blood pressures hold known outliers."""
    return _read_csv(CARDIO_FILE.read(), delimiter=";")


def read_diabetes() -> Any:
    """Return the 101,766 encounters; `?` is missing, while None and No are values."""
    convert = {
        "null_values": ["?"],
        "strings_can_be_null": True,
        "include_columns": DIABETES_COLUMNS,
    }
    return _read_csv(DIABETES_FILE.read(), convert=convert)


_KNOWN = (
    Dataset(
        name="adult",
        title="48,842 people of the 1994 US census, 14 features and their income",
        files=(ADULT_DATA, ADULT_TEST),
        reader=read_adult,
        licence="CC BY 4.0",
        citation="Becker, Kohavi: Adult, UCI Machine Learning Repository, 1996",
        address="https://archive.ics.uci.edu/dataset/2",
        archive="https://archive.ics.uci.edu/static/public/2/adult.zip",
        table={"bins": ADULT_BINS},
    ),
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
    ),
    Dataset(
        name="celeba",
        title="40 binary attributes of 202,599 photographs of faces",
        files=(CELEBA_FILE,),
        reader=read_celeba,
        licence="non-commercial research only; no redistribution",
        citation="Liu, Luo, Wang, Tang: Deep Learning Face Attributes in the Wild, ICCV 2015",
        address="https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        by_hand="accept the agreement on its page, download list_attr_celeba.txt, and put it into "
        "the folder celeba of SEEPAGE_DATA",
    ),
    Dataset(
        name="lfw",
        title="73 binary attributes of 13,143 photographs of faces (derived from scores)",
        files=(LFW_FILE,),
        reader=read_lfw,
        licence="non-commercial research only",
        citation="Kumar, Berg, Belhumeur, Nayar: Attribute and Simile Classifiers, ICCV 2009",
        address="https://www.cs.columbia.edu/CAVE/databases/pubfig/",
        by_hand="put lfw_binary_attributes_top2of3.csv into the folder lfw of SEEPAGE_DATA",
    ),
    Dataset(
        name="lfw-scores",
        title="73 real-valued attribute scores of 2,999 photographs (62 people), a subset",
        files=(LFW_SCORES_FILE,),
        reader=read_lfw_scores,
        licence="non-commercial research only",
        citation="Kumar, Berg, Belhumeur, Nayar: Attribute and Simile Classifiers, ICCV 2009",
        address="https://www.cs.columbia.edu/CAVE/databases/pubfig/",
        by_hand="put lfw_attributes_subset2999.txt into the folder lfw of SEEPAGE_DATA",
        table={"bins": [float("-inf"), 0.0, float("inf")]},
    ),
    Dataset(
        name="cardio",
        title="CVD: 70,000 patients, cardiovascular disease and its risk factors",
        files=(CARDIO_FILE,),
        reader=read_cardio,
        licence="none stated",
        citation="Ulianova: Cardiovascular Disease dataset, Kaggle 2019",
        address="https://www.kaggle.com/datasets/sulianova/cardiovascular-disease-dataset",
        by_hand="download cardio_train.csv from its page (an account is needed), and put it into "
        "the folder cardio of SEEPAGE_DATA",
        table={"columns": CARDIO_COLUMNS},
    ),
    Dataset(
        name="diabetes130",
        title="101,766 hospital stays of diabetics, 26 attributes; a stand-in for DSS",
        files=(DIABETES_FILE,),
        reader=read_diabetes,
        licence="CC BY 4.0",
        citation="Strack et al.: Impact of HbA1c Measurement on Hospital Readmission Rates, 2014",
        address="https://archive.ics.uci.edu/dataset/296",
        archive="https://archive.ics.uci.edu/static/public/296/"
        "diabetes+130-us+hospitals+for+years+1999-2008.zip",
    ),
    Dataset(
        name="survey",
        title="10,000 synthetic people with a known joint distribution; see make_survey",
        files=(),
        reader=make_survey,
        licence="part of seepage, Apache-2.0",
        citation="seepage",
        address="made by seepage.data.datasets.survey",
    ),
)

DATASETS: dict[str, Dataset] = {known.name: known for known in _KNOWN}
"""All datasets by name."""


def dataset(name: str) -> Dataset:
    """Return a dataset by name.

    Examples
    --------
    >>> from seepage.data.datasets import dataset
    >>> dataset("celeba").licence
    'non-commercial research only; no redistribution'
    """
    return DATASETS[_checks.choice(name, "dataset", DATASETS)]


def load_pairs(name: str | Path) -> PairCounts:
    """Return the pair counts of a dataset, or of a file of pair counts.

    Parameters
    ----------
    name
        A dataset whose counts are bundled, such as `"adult"`, or whose files are in `SEEPAGE_DATA`,
        such as `"celeba"`; or the path of a Parquet file of pair counts.

    Examples
    --------
    >>> import seepage as sp
    >>> sp.load_pairs("adult")
    PairCounts(48,842 records, 15 attributes)
    """
    _checks.input_path(name, "name")
    if name in BUNDLED:
        bundled = resources.files("seepage.data.datasets") / "bundled" / BUNDLED[str(name)]
        with resources.as_file(bundled) as path:
            return PairCounts.load(path)
    if name in DATASETS:
        return DATASETS[str(name)].pairs()
    if not Path(name).is_file():
        known = {*BUNDLED, *DATASETS}
        hint = _checks.near_miss(name, known) or f"; known: {', '.join(sorted(known))}"
        raise TableError(f"there is no file and no dataset named {str(name)!r}{hint}")
    return PairCounts.load(name)
