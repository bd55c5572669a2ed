"""Cardiovascular disease (CVD) and Diabetes 130: records of patients."""

import io
from typing import Any

from seepage.datasets.catalogue import Dataset, add
from seepage.datasets.files import PublishedFile

__all__ = ["CARDIO", "DIABETES"]

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
    import pyarrow.csv as csv

    options = csv.ParseOptions(delimiter=";")
    return csv.read_csv(io.BytesIO(CARDIO_FILE.read()), parse_options=options)


def read_diabetes() -> Any:
    """Return the 101,766 encounters; `?` is missing, while None and No are values."""
    import pyarrow.csv as csv

    options = csv.ConvertOptions(
        null_values=["?"], strings_can_be_null=True, include_columns=DIABETES_COLUMNS
    )
    return csv.read_csv(io.BytesIO(DIABETES_FILE.read()), convert_options=options)


CARDIO = add(
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
    )
)
DIABETES = add(
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
    )
)
