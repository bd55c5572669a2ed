"""Adult: 48,842 people of the 1994 US census, 14 features and their income.

Becker and Kohavi (1996), UCI Machine Learning Repository, CC BY 4.0.  The published files are
`adult.data` and `adult.test`, here together.  The five features with many values are binned by
the fixed edges in `BINS`; fnlwgt (a sampling weight) by its rounded deciles.
"""

from typing import Any

from seepage.datasets.files import PublishedFile

__all__ = ["ADULT_BINS", "read_adult"]

DATA = PublishedFile(
    "adult/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
)
TEST = PublishedFile(
    "adult/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
)

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

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


def read_adult() -> Any:
    """Return the 48,842 records of `adult.data` and `adult.test` as a PyArrow table.

    `?` is missing; the full stop behind the incomes of `adult.test` and its first line are
    dropped.
    """
    import pyarrow as pa

    rows = _rows(DATA.read()) + _rows(TEST.read())
    columns: dict[str, Any] = {}
    for name, cells in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        known = [None if cell == "?" else cell for cell in cells]
        columns[name] = (
            [None if cell is None else int(cell) for cell in known] if (name in NUMBERS) else known
        )
    return pa.table(columns)


def _rows(content: bytes) -> list[list[str]]:
    lines = content.decode("ascii").splitlines()
    return [line.rstrip(".").split(", ") for line in lines if line and not line.startswith("|")]
