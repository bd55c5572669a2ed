"""The bundled pair counts of NIST ACS are those of the published file."""

import os
from importlib import resources

import pytest

import seepage as sp
from seepage.data.datasets import BUNDLED


def test_it_is_at_hand_without_any_file():
    pairs = sp.load_pairs("nist-acs")
    assert (pairs.records, len(pairs.domain)) == (27_253, 20)


def test_puma_and_density_determine_one_another():
    leakage = sp.leakage_matrix(sp.load_pairs("nist-acs"), 1.0)
    assert leakage["PUMA", "DENSITY"].value == leakage["DENSITY", "PUMA"].value == 1.0


def test_bundled_files_are_small():
    for name in BUNDLED.values():
        content = (
            resources.files("seepage.data.datasets") / "bundled" / name
        ).read_bytes()
        assert len(content) < 500_000


@pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"), reason="SEEPAGE_DATA is not set"
)
def test_it_is_what_the_published_file_gives():
    assert sp.dataset("nist-acs").pairs() == sp.load_pairs("nist-acs")
