"""Reading the datasets, on the real files."""

import os
from functools import cache

import pyarrow.compute as pc
import pytest

from seepage.datasets.catalogue import DATASETS, dataset, load_pairs

pytestmark = pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)

SHAPES = {
    "adult": (48_842, 15),
    "celeba": (202_599, 40),
    "lfw": (13_143, 73),
    "lfw-scores": (2_999, 73),
    "cardio": (70_000, 13),
    "diabetes130": (101_766, 26),
    "nist-acs": (27_253, 20),
    "survey": (10_000, 10),
}


def test_every_dataset_has_a_shape_here():
    assert set(SHAPES) == set(DATASETS)


@cache
def _read(name):
    return dataset(name).read()


@pytest.mark.parametrize("name", SHAPES)
def test_shape_as_published(name):
    table = _read(name)
    assert (table.num_rows, table.num_columns) == SHAPES[name]


def _share(table, column, value):
    return pc.mean(pc.equal(table[column], value).cast("float64")).as_py()


def test_adult_has_the_published_shares():
    table = _read("adult")
    assert _share(table.slice(0, 32_561), "income", ">50K") == pytest.approx(
        0.2408, abs=1e-4
    )
    assert _share(table.slice(32_561), "income", ">50K") == pytest.approx(
        0.2362, abs=1e-4
    )
    assert table["workclass"].null_count + table["occupation"].null_count > 0


def test_celeba_has_the_published_shares():
    table = _read("celeba")
    shares = {"Male": 0.4168, "Smiling": 0.4821, "Young": 0.7736}
    for name, share in shares.items():
        assert _share(table, name, 1) == pytest.approx(share, abs=1e-4)


def test_cardio_has_the_published_counts():
    pairs = load_pairs("cardio")
    assert pairs.domain.names == (
        "gender",
        "cholesterol",
        "gluc",
        "smoke",
        "alco",
        "active",
        "cardio",
    )
    assert pairs.marginal("cardio").tolist() == [35_021, 34_979]


def test_diabetes_has_the_published_counts():
    pairs = load_pairs("diabetes130")
    attribute = pairs.domain["readmitted"]
    counts = dict(
        zip(attribute.values, pairs.marginal("readmitted").tolist(), strict=True)
    )
    assert counts == {"<30": 11_357, ">30": 35_545, "NO": 54_864}


def test_lfw_scores_and_binary_agree_on_their_sign():
    scores = load_pairs("lfw-scores")
    assert set(scores.domain.sizes) == {2}
    share = scores.marginal("Male")[1] / scores.records
    assert share == pytest.approx(0.88, abs=0.01)


def test_puma_and_density_determine_one_another():
    table = load_pairs("nist-acs").table("PUMA", "DENSITY")
    assert ((table > 0).sum(axis=0) == 1).all()
    assert ((table > 0).sum(axis=1) == 1).all()


def test_bundled_adult_is_what_the_published_files_give():
    assert load_pairs("adult") == dataset("adult").pairs()
