"""One grammar of numbers in texts, whoever reads them."""

import numpy as np
import pytest

import seepage as sp
from command import run
from seepage._core.number_grammar import is_count, number_of_text
from seepage.auditing.report_keys import exact_text, python_key
from seepage.channel.domain import Attribute
from seepage.cli.parsing import as_number
from seepage.collection.formula import cell_variables, parse_formula
from seepage.collection.unperturbed_columns import unperturbed_columns
from seepage.collection.weights import checked_weights
from seepage.designs.want import attribute_scores
from seepage.mechanisms.published_randomiser import read_content
from seepage.tables.codebooks import read_scales
from seepage.tables.column import key_label
from seepage.tables.labels import field_key

NO_NUMBERS = ("2020_1", "1_0", "\u0661", "\uff11", "0x10", "1e", "1.e1.", "1 2")
"""What Python's `float` reads, in part, and what looks like a number."""


@pytest.mark.parametrize("text", NO_NUMBERS)
class TestTextsThatAreNoNumbers:
    def test_the_grammar(self, text):
        assert number_of_text(text) is None
        assert not is_count(text)

    def test_fields_and_answers(self, text):
        assert isinstance(field_key(text), str)
        assert key_label(field_key(text)) == text
        assert np.isnan(python_key(exact_text(text)).number)

    def test_covariates_are_categories(self, text, tmp_path):
        file = tmp_path / "clear.csv"
        file.write_text(f"term\n{text}\n2\n")
        assert unperturbed_columns(file, ["term"])["term"].dtype.kind == "U"

    def test_values_of_attributes_are_categories(self, text):
        formula = parse_formula("ill ~ term", ["ill", "term"])
        term = Attribute("term", ("1", text))
        assert cell_variables(formula, [term])["term"].levels == ("1", text)

    def test_scores(self, text):
        with pytest.raises(sp.InputError, match="no numbers themselves"):
            attribute_scores(Attribute("term", ("1", text)))
        with pytest.raises(sp.InputError, match="one number for each"):
            attribute_scores(Attribute("term", ("a", "b")), scores=["1", text])

    def test_options(self, text):
        with pytest.raises(sp.InputError, match="must be a number"):
            as_number(text, "--limit")
        assert run("analyse", "adult", "--epsilon", text).returncode == 2
        assert run("analyse", "adult", "-e", "1", "--people", text).returncode == 2
        with pytest.raises(sp.InputError, match="bins must be"):
            sp.analyse("adult", 1.0, bins=f"width:{text}")

    def test_matrices(self, text, tmp_path):
        file = tmp_path / "matrix.csv"
        file.write_text(f"{text},0\n0,1\n")
        with pytest.raises(sp.InputError, match="no matrix of numbers"):
            read_content(file)

    def test_weights(self, text):
        for weights in ([text] * 9, np.array([1, text], dtype=object)):
            with pytest.raises(sp.InputError, match="weights must be numbers"):
                checked_weights(weights, len(weights))

    def test_codebooks(self, text, tmp_path):
        file = tmp_path / "book.csv"
        file.write_text(
            f"attribute,value,label,order\nhealth,good,,{text}\nhealth,bad,,2\n"
        )
        with pytest.raises(sp.InputError, match="order must be a number"):
            read_scales(file)


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12.0), ("-.5", -0.5), ("1e3", 1000.0), ("+3.", 3.0), ("inf", np.inf)],
)
def test_texts_that_are_numbers(text, number):
    assert number_of_text(text) == number
    assert field_key(text) == number
    assert as_number(text, "--limit") == number


def test_counts_are_of_ascii_digits():
    assert is_count("0012")
    assert not is_count("-1")
    assert not is_count("1.0")
