"""Each argument check accepts valid values, and its message is one line."""

import decimal
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from seepage._core import checks
from seepage._core.errors import (
    ChannelError,
    DomainError,
    InputError,
    SeepageError,
    TableError,
)


@pytest.mark.parametrize(
    "value", [0, 1, 0.5, 1e-12, 1e6, np.float64(2), Fraction(1, 2)]
)
def test_valid_budgets(value):
    assert checks.epsilon(value) == float(value)
    assert isinstance(checks.epsilon(value), float)


def test_a_budget_of_minus_zero_is_zero():
    assert math.copysign(1, checks.epsilon(-0.0)) == 1


@pytest.mark.parametrize("value", [0, 0.0, 1e-300, 0.999, decimal.Decimal("0.5")])
def test_valid_deltas(value):
    assert checks.delta(value) == float(value)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (
            lambda: checks.epsilon(math.nan),
            "epsilon must be a finite number of at least 0, got nan",
        ),
        (
            lambda: checks.epsilon(math.inf),
            "epsilon must be a finite number of at least 0, got inf",
        ),
        (
            lambda: checks.epsilon(-1, "budget"),
            "budget must be a finite number of at least 0, got -1",
        ),
        (lambda: checks.epsilon(False), "epsilon must be a number, got False"),
        (lambda: checks.epsilon(b"1"), "epsilon must be a number, got b'1'"),
        (lambda: checks.epsilon([1, 2]), "epsilon must be a number, got [1, 2]"),
        (lambda: checks.epsilon(1e308), "epsilon must be at most 1e+300, got 1e+308"),
        (
            lambda: checks.epsilon(10**400),
            f"epsilon must be a number, got 1{'0' * 37}...{'0' * 39}",
        ),
        (lambda: checks.delta(1), "delta must be at least 0 and below 1, got 1"),
        (lambda: checks.delta(-0.5), "delta must be at least 0 and below 1, got -0.5"),
        (
            lambda: checks.delta(math.nan),
            "delta must be at least 0 and below 1, got nan",
        ),
        (lambda: checks.probability(1.5, "p"), "p must be between 0 and 1, got 1.5"),
        (
            lambda: checks.probability(math.nan, "p"),
            "p must be between 0 and 1, got nan",
        ),
        (lambda: checks.probability("", "p"), "p must be a number, got ''"),
        (
            lambda: checks.integer(1.0, "k", 1),
            "k must be an integer of at least 1, got 1.0",
        ),
        (
            lambda: checks.integer(True, "k", 1),
            "k must be an integer of at least 1, got True",
        ),
        (
            lambda: checks.integer(0, "k", 1),
            "k must be an integer of at least 1, got 0",
        ),
        (
            lambda: checks.integer(9, "k", 1, 8),
            "k must be an integer from 1 to 8, got 9",
        ),
        (
            lambda: checks.choice("Repot", "view", ["report", "inferred"]),
            "view must be one of report, inferred, got 'Repot'; did you mean 'report'?",
        ),
        (
            lambda: checks.choice(7, "view", ["report", "inferred"]),
            "view must be one of report, inferred, got 7",
        ),
    ],
)
def test_messages_state_the_rule_and_the_value_given(check, message):
    with pytest.raises(InputError) as raised:
        check()
    assert str(raised.value) == message
    assert "\n" not in message
    assert raised.value.__cause__ is None


def test_valid_probabilities_and_integers():
    assert checks.probability(1, "p") == 1.0
    assert checks.probability(0, "p") == 0.0
    assert checks.integer(np.int8(8), "k", 1, 8) == 8
    assert type(checks.integer(np.int8(8), "k", 1)) is int
    assert checks.choice("report", "view", iter(["report", "inferred"])) == "report"


def test_a_near_miss_keeps_its_own_spelling():
    assert (
        checks.near_miss("OCUPATION", ["Occupation", "Sex"])
        == "; did you mean 'Occupation'?"
    )
    assert checks.near_miss("zzz", ["Occupation", "Sex"]) == ""
    assert checks.near_miss("x", []) == ""


PEOPLE = pa.table({"sex": ["F", "M"] * 20, "smoker": [True, False] * 20})


@pytest.mark.parametrize(
    ("call", "name", "hint"),
    [
        (lambda **options: sp.count_pairs(PEOPLE, **options), "bin", "bins"),
        (
            lambda **options: sp.analyse(PEOPLE, 1.0, **options),
            "guarantes",
            "guarantee",
        ),
        (lambda **options: sp.analyse(PEOPLE, 1.0, **options), "engin", "engine"),
        (lambda **options: sp.leakage_matrix(PEOPLE, 1.0, **options), "veiw", "view"),
        (lambda **options: sp.leakage_matrix(PEOPLE, 1.0, **options), "guarantee", ""),
        (lambda **options: sp.leakage_matrix(PEOPLE, 1.0, **options), "sample", ""),
        (
            lambda **options: sp.total_leakage(PEOPLE, 1.0, **options),
            "confidense",
            "confidence",
        ),
        (lambda **options: sp.design(PEOPLE, 3.0, **options), "limt", "limit"),
        (
            lambda **options: sp.design(PEOPLE, 3.0, **options),
            "importanc",
            "importance",
        ),
        (lambda **options: sp.calibrate(PEOPLE, 3.0, **options), "epsilon", ""),
        (lambda **options: sp.calibrate(PEOPLE, 3.0, **options), "left_ot", "left_out"),
        (
            lambda **options: sp.calibrate(PEOPLE, 3.0, **options),
            "confidense",
            "confidence",
        ),
        (lambda **options: sp.Records.from_data(PEOPLE, **options), "sampl", "sample"),
        (
            lambda **options: survey_plan().perturb(PEOPLE, **options),
            "identifier_",
            "identifier",
        ),
        (lambda **options: survey_plan().check(PEOPLE, **options), "column", "columns"),
    ],
)
def test_an_unknown_option_raises_with_a_hint_that_the_function_takes(call, name, hint):
    with pytest.raises(InputError, match=rf"^there is no option '{name}'") as caught:
        call(**{name: 3})
    assert (
        caught.value.args[0]
        .partition("; did you mean ")[2]
        .strip("'?")
        .startswith(hint)
    )
    assert ("did you mean" in str(caught.value)) == bool(hint)


@cache
def survey_plan():
    return sp.calibrate(PEOPLE, 3.0, scope="table")


def test_input_errors_are_seepage_errors_and_value_errors():
    for family in (ChannelError, DomainError, TableError):
        assert issubclass(family, InputError)
    assert issubclass(InputError, SeepageError)
    assert issubclass(InputError, ValueError)


PEOPLE = pa.table({"a": ["x", "y"] * 50, "b": ["x", "x", "y", "y"] * 25})
RECORDS = sp.Records.from_data(PEOPLE)
SEEDED = {
    "benchmark": lambda seed: sp.benchmark_mechanisms(RECORDS.pairs(), [1.0], rng=seed),
    "calibrate": lambda seed: sp.calibrate(
        RECORDS, 2.0, guarantee="sampled", mechanism="grr", rng=seed
    ),
    "estimate": lambda seed: sp.estimate_leakage(
        RECORDS.pairs(), mechanism="grr", epsilon=1.0, rng=seed
    ),
    "perturb": lambda seed: sp.mechanism("grr", 3, 1.0).perturb([0, 1], seed),
    "records": lambda seed: sp.Records.from_data(PEOPLE, sample=10, rng=seed),
    "sample": lambda seed: RECORDS.sample(3, seed),
    "sampled": lambda seed: sp.total_leakage(
        RECORDS, 1.0, mechanism="grr", guarantee="sampled", rng=seed
    ),
    "survey": lambda seed: sp.make_survey(10, seed),
    "witness": lambda seed: sp.total_leakage(
        RECORDS, 1.0, mechanism="grr", guarantee="witness", rng=seed
    ),
}


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("seed", [-1, 1.5, "a", True, [1]])
def test_seeds_are_integers(name, seed):
    with pytest.raises(InputError, match=r"^(seed|rng) must be an integer"):
        SEEDED[name](seed)


def test_a_generator_is_taken_as_it_is():
    generator = np.random.default_rng(1)
    assert checks.generator(generator) is generator
    assert checks.generator(1).random() == generator.random()
    assert checks.generator(None).random() != checks.generator(None).random()


def test_a_message_is_one_short_line_without_control_characters():
    hostile = "\x1b[31m" + "x" * 5_000 + "\n\u202egnp.exe"
    with pytest.raises(InputError) as raised:
        checks.choice(hostile, "view", ["report", "inferred"])
    message = str(raised.value)
    assert len(message) <= 500
    assert message.isprintable()
    assert message.startswith("view must be one of report, inferred, got")


def test_no_option_is_longer_than_memory():
    with pytest.raises(InputError, match="at most 1,000,000 items"):
        checks.items(range(10**12), "columns")
    with pytest.raises(InputError, match="at most 1,000,000 items"):
        checks.items(iter(range(10**7)), "columns")
    with pytest.raises(InputError, match="at most 100,000,000 numbers"):
        checks.array(range(10**12), "codes")
    assert checks.items(range(3), "columns") == [0, 1, 2]


@pytest.mark.parametrize("read", [sp.analyse, sp.check, sp.read, sp.count_pairs])
def test_an_empty_text_is_not_the_current_folder(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("a,b\n" + "1,2\n3,4\n" * 50)
    options = {"epsilon": 1.0} if read is sp.analyse else {}
    for data in ("", [""]):
        with pytest.raises(InputError, match="got ''"):
            read(data, **options)
    read(".", **options)


@pytest.mark.parametrize("text", ["a\ud800", "\udfff"])
def test_texts_that_no_file_can_hold(text):
    with pytest.raises(InputError, match="UTF-8"):
        checks.text(text, "title")
    with pytest.raises(InputError, match="title must be"):
        checks.texts([text], "title")


def test_a_path_has_bytes():
    assert str(checks.path("a\udcff")) == "a\udcff"  # a byte that is no UTF-8
    for path in ("", "a\0b", "a\ud800"):
        with pytest.raises(InputError, match="path must be a path"):
            checks.path(path)
