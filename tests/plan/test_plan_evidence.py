"""The evidence pack: the registry's fields and no others, what is promised, and what is
not.
"""

import re

import pytest
import yaml

import seepage as sp
from seepage.cli import main
from seepage.pages.evidence import TUNED
from seepage.plan.promises import promise

DETAILED = ("model_name", "release_type", "data_source_type", "access_type")
SCHEMA = {
    "url_slug": ...,
    "status": ...,
    "tier": ...,
    "deployment": {
        "basic": {
            "name": ...,
            "data_curators": ...,
            "intended_use": ...,
            "description": ...,
            "data_product_type": ...,
            "data_product_region": ...,
            "publication_date": ...,
            "data_product_sector": ...,
        },
        "dp_variant": {
            "variant_name": ...,
            "data_domain": ...,
            "unprotected_quantities": ...,
        },
        "privacy_loss": {
            "privacy_unit": ...,
            "privacy_unit_details": ...,
            "privacy_parameters": ...,
            "privacy_parameters_details": ...,
        },
        "deployment_model": {
            "actors": ...,
            **{name + end: ... for name in DETAILED for end in ("", "_details")},
        },
        "accounting": {"post_processing": ..., "composition": ...},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": ...,
            "mechanisms": ...,
            "justification": ...,
        },
        "administrative": {"registry_authors": ..., "sources": ..., "notes": ...},
    },
}
"""The fields of the deployments registry; it rejects any other."""


@pytest.fixture(scope="module")
def plan():
    return sp.calibrate("adult", 2.0, columns=["sex", "race"], mechanism="grr")


def _keys(entry, schema):
    assert set(entry) == set(schema)
    for name, below in schema.items():
        if below is not ...:
            _keys(entry[name], below)


def test_the_entry_has_the_fields_of_the_registry(plan, tmp_path):
    plan.evidence(tmp_path / "pack", name="Café: a <b>survey</b>")
    file = tmp_path / "pack" / "caf_a_b_survey_b.yaml"
    assert re.fullmatch("[a-z0-9_]+", file.stem)
    text = file.read_text(encoding="utf-8")
    entry = yaml.safe_load(text)
    _keys(entry, SCHEMA)
    assert (entry["url_slug"], entry["status"], entry["tier"]) == (
        "caf-a-b-survey-b",
        "Draft",
        3,
    )
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    assert entry["deployment"]["basic"]["name"] == "Café: a <b>survey</b>"
    assert entry["deployment"]["basic"]["description"] == promise(plan)
    assert all(
        len(line.split(":", 1)) == 2 for line in text.splitlines() if line[0] != "#"
    )


def test_epsilon_is_that_of_the_largest_record_rounded_up(plan, tmp_path):
    plan.evidence(tmp_path, name="a")
    loss = yaml.safe_load((tmp_path / "a.yaml").read_text())["deployment"][
        "privacy_loss"
    ]
    record = max(form.record for form in plan.forms)
    assert record <= loss["privacy_parameters"]["epsilon"] <= record + 1e-3
    assert "delta" not in loss["privacy_parameters"]


def test_a_delta_is_stated(tmp_path):
    adult = sp.load_pairs("adult").select(["sex", "race"])
    made = sp.calibrate(adult, 2.5, mechanism="gauss", delta=1e-5, guarantee="worst")
    made.evidence(tmp_path, name="a")
    entry = yaml.safe_load((tmp_path / "a.yaml").read_text())["deployment"]
    stated = entry["privacy_loss"]["privacy_parameters"]["delta"]
    assert stated == max(planned.total_delta for planned in made.attributes) > 0
    assert entry["dp_variant"]["variant_name"] == "Approximate DP"


def test_the_delta_is_that_of_the_record_where_totals_have_smaller_ones(tmp_path):
    adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    made = sp.calibrate(
        adult, 2.5, mechanism="approximate-grr", delta=1e-5, guarantee="independent"
    )
    made.evidence(tmp_path, name="a")
    loss = yaml.safe_load((tmp_path / "a.yaml").read_text())["deployment"][
        "privacy_loss"
    ]
    assert max(planned.total_delta for planned in made.attributes) < 1.2e-5
    assert 3e-5 <= loss["privacy_parameters"]["delta"] < 3.0001e-5
    page = (tmp_path / "evidence.html").read_text(encoding="utf-8")
    assert page.count("but for delta 3e-05") == 3


def test_the_page_names_inference_first_and_what_is_not_accounted_for(plan, tmp_path):
    plan.evidence(tmp_path, name="<script>")
    page = (tmp_path / "evidence.html").read_text(encoding="utf-8")
    assert "<script" not in page
    first = page.index("Inference is what this plan measures")
    assert (
        first < page.index("not accounted for in epsilon") < page.index("Singling out")
    )
    for source in ("Article 29 Working Party", "NIST SP 800-226", "W3C"):
        assert source in page
    assert TUNED.partition(".")[0] in (tmp_path / "script.yaml").read_text()


def test_public_attributes_are_stated_as_unprotected(tmp_path):
    survey = sp.make_survey(3_000).select(["coffee", "sleep", "medication"])
    made = sp.design(survey, 2.0, public=["medication"], scope="table", effort=0.02)
    made.evidence(tmp_path, name="a")
    entry = yaml.safe_load((tmp_path / "a.yaml").read_text())["deployment"]
    stated = entry["dp_variant"]["unprotected_quantities"]
    assert "medication: sent as they are, without noise. The plan's file" in stated


def test_files_of_others_are_kept(plan, tmp_path):
    (tmp_path / "evidence.html").write_text("mine")
    with pytest.raises(sp.InputError, match="no file of an evidence pack"):
        plan.evidence(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["evidence.html"]
    assert len(plan.evidence(tmp_path, force=True)) == len(plan.evidence(tmp_path)) == 3


def test_the_command(plan, tmp_path, capsys):
    plan.save(tmp_path / "survey.json")
    folder = tmp_path / "pack"
    assert (
        main(["report", str(tmp_path / "survey.json"), "--evidence", str(folder)])
        is None
    )
    assert "wrote plan.html, evidence.html, survey.yaml" in capsys.readouterr().out
    assert (folder / "survey.yaml").is_file()
