"""Who is given which form, and what reports of several forms look like."""

import hmac
import os
import stat

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from command import run
from plan_examples import (
    DOMAIN,
    counts,
    forms_plan,
    matrix,
    people,
    product,
    three_forms,
)
from seepage._core.errors import InputError
from seepage.channel.domain import MISSING, Attribute, Domain
from seepage.channel.records import Records
from seepage.collection.identified_people import (
    KeyedRandomness,
    checked_key,
    derived_forms,
    identifier_text,
    new_key,
)
from seepage.collection.perturb_table import drawn_forms, perturb_file
from seepage.collection.report_files import open_reports
from seepage.designs.forms.form import cumulative, form_of_words
from seepage.mechanisms.randomness import randomness

PAIRS = counts()
PLAN = three_forms(PAIRS)
SHARES = np.array([form.chance / 2**64 for form in PLAN.forms])
KEY = bytes(range(32))


def forms_of(reports):
    return np.asarray(reports["form"])


# Drawing ------------------------------------------------------------------------------


def test_words_at_the_borders_of_shares():
    first, second, _ = cumulative(PLAN.forms)
    words = np.array(
        [0, first - 1, first, second - 1, second, 2**64 - 1], dtype=np.uint64
    )
    assert form_of_words(PLAN.forms, words).tolist() == [0, 0, 1, 1, 2, 2]


def test_forms_are_drawn_by_their_shares():
    found = np.bincount(drawn_forms(PLAN, 60_000, randomness(5)), minlength=3)
    assert chisquare(found, 60_000 * SHARES).pvalue > 1e-4
    for wrong in (0.45, 0.55):  # the test has power: shares off by a tenth are noticed
        shares = np.array([wrong, 0.3, 0.7 - wrong])
        assert chisquare(found, 60_000 * shares).pvalue < 1e-10
    assert (
        drawn_forms(forms_plan(PAIRS, [product(sex=1.0)]), 5, None).tolist() == [0] * 5
    )


def test_forms_and_noise_come_from_the_operating_system_or_a_seed():
    one, two = (PLAN.perturb(people(2000), rng=3) for _ in range(2))
    assert one.equals(two)
    assert not PLAN.perturb(people(2000)).equals(PLAN.perturb(people(2000)))


def test_the_form_does_not_depend_on_the_record():
    """People with and without an illness get forms alike."""
    data = people(20_000)
    forms = forms_of(PLAN.perturb(data, rng=1))
    ill = np.asarray(data["ill"]) == "yes"
    table = [
        np.bincount(forms[ill], minlength=4)[1:],
        np.bincount(forms[~ill], minlength=4)[1:],
    ]
    expected = np.outer(np.sum(table, axis=1), SHARES)
    assert chisquare(np.ravel(table), expected.ravel(), sum_check=False).pvalue > 1e-4


# The table of reports -----------------------------------------------------------------


def test_everyone_reports_on_one_form():
    reports = PLAN.perturb(people(500), rng=2)
    assert reports.column_names == [
        "form",
        "1:sex",
        "1:job",
        "2:job",
        "2:ill",
        "3:report",
    ]
    forms = forms_of(reports)
    assert set(forms.tolist()) == {1, 2, 3}
    for name in reports.column_names[1:]:
        given = np.asarray(reports[name].is_valid())
        assert np.array_equal(given, forms == int(name[0])), name


def test_a_plan_of_one_product_keeps_plain_columns():
    plan = forms_plan(PAIRS, [product(sex=1.0, job=("oue", 2.0))])
    assert plan.perturb(people(10)).column_names == ["sex", "job"]
    single = forms_plan(PAIRS, [matrix(DOMAIN, ["sex", "ill"], 1.0)])
    assert single.perturb(people(10)).column_names == ["form", "1:report"]


def test_noise_free_reports_are_the_answers():
    """At a large budget every form's reports are the answers of the people who have
    it.
    """
    data = people(400)
    channels = [
        product(sex=50.0, job=("ss", 50.0)),
        matrix(DOMAIN, ["age", "ill"], 50.0),
    ]
    plan = forms_plan(PAIRS, channels)
    reports = plan.perturb(data, rng=1)
    forms = forms_of(reports)
    codes = Records.from_data(data, domain=DOMAIN).domain
    sex = [codes["sex"].code(value) for value in np.asarray(data["sex"])[forms == 1]]
    assert reports["1:sex"].drop_null().to_pylist() == sex
    age = np.searchsorted([40, 60], np.asarray(data["age"]), side="right")
    ill = (np.asarray(data["ill"]) == "yes").astype(int)
    cells = (2 * age + ill)[forms == 2]
    assert np.mean(np.asarray(reports["2:report"].drop_null()) % 6 == cells) > 0.5


def test_missing_answers_are_values_and_something_is_always_sent():
    domain = Domain(
        [Attribute("a", ("x", "y", MISSING)), Attribute("b", ("0", "1", MISSING))]
    )
    table = pa.table({"a": ["x", None, "y", None] * 50, "b": [None, 1, 0, None] * 50})
    pairs = Records.from_data(table, domain=domain).pairs()
    plan = forms_plan(
        pairs, [product(a=1.0), product(b=1.0), matrix(domain, ["a", "b"], 1.0)]
    )
    reports = plan.perturb(table, rng=4)
    assert reports.num_rows == 200
    sent = [np.asarray(reports[name].is_valid()) for name in reports.column_names[1:]]
    assert np.sum(sent, axis=0).tolist() == [1] * 200


def test_files_are_written_in_chunks_and_read_back(tmp_path):
    path = tmp_path / "people.csv"
    output = tmp_path / "reports.parquet"
    pyarrow.csv.write_csv(people(3000), path)
    assert perturb_file(PLAN, path, output, rng=1) == 3000
    assert pq.read_table(output).equals(PLAN.perturb(path, rng=1))
    source = open_reports(PLAN, output)
    assert source.records == 3000
    given = np.bincount(forms_of(pq.read_table(output)))[1:]
    assert given.sum() == 3000
    for index, made in enumerate(PLAN.form_mechanisms):
        batches = [batch for _, batch, _ in source.by_form({index: list(made)})]
        assert sum(len(batch[0]) for batch in batches) == given[index]


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        (
            "form",
            lambda v: [9, *v[1:]],
            "record 1: column 'form' is damaged: .* from 1 to 3",
        ),
        ("form", lambda v: [0, *v[1:]], "record 1: column 'form' is damaged"),
        ("form", lambda v: [None, *v[1:]], "record 1: column 'form' is damaged"),
        (
            "form",
            lambda v: [v[0] % 3 + 1, *v[1:]],
            "record 1: column '[123]:.* no others",
        ),
        (
            "1:sex",
            lambda v: [7 if x is not None else x for x in v],
            "column '1:sex' is damaged",
        ),
        (
            "3:report",
            lambda v: [0] * len(v),
            "record [0-9]+: column '3:report' is damaged: .* its form, and no others",
        ),
    ],
)
def test_damaged_reports_are_rejected_with_their_record(column, change, message):
    reports = PLAN.perturb(people(100), rng=1)
    index = reports.column_names.index(column)
    field = reports.schema.field(column)
    values = pa.array(change(reports[column].to_pylist()), field.type)
    damaged = reports.set_column(index, field.with_nullable(True), values)
    with pytest.raises(InputError, match=message):
        PLAN.estimate(damaged.replace_schema_metadata(reports.schema.metadata))


def test_reports_of_other_shares_are_of_another_plan():
    other = forms_plan(PAIRS, [form.channel for form in PLAN.forms], [0.4, 0.3, 0.3])
    with pytest.raises(InputError, match="reports of another plan"):
        other.estimate(PLAN.perturb(people(50)))
    bare = PLAN.perturb(people(50)).drop_columns("form")
    with pytest.raises(InputError, match="one column of reports 'form'"):
        PLAN.estimate(bare)


# Identifiers --------------------------------------------------------------------------


def test_invalid_columns_of_forms_raise():
    data = people(10)
    with pytest.raises(InputError, match="asked"):
        PLAN.perturb(data, identifier="asked", key=KEY)
    with pytest.raises(InputError, match="none of the plan's attributes, got 'sex'"):
        PLAN.perturb(data, identifier="sex", key=KEY)
    with pytest.raises(InputError, match="key has no effect without identifier"):
        PLAN.perturb(data, key=KEY)
    with pytest.raises(InputError, match="identifier has no effect without key"):
        PLAN.perturb(data, identifier="id")


# Identifiers --------------------------------------------------------------------------


def expected_form(identifier, key=KEY):
    digest = hmac.new(key, b"seepage form\0" + identifier.encode(), "sha256").digest()
    word = int.from_bytes(digest[:8], "big")
    return next(n for n, end in enumerate(cumulative(PLAN.forms), 1) if word < end)


def test_forms_are_derived_from_identifiers_whatever_file_they_are_in(tmp_path):
    rows = 500
    data = people(rows).append_column("id", pa.array([f"p{n:05}" for n in range(rows)]))
    expected = [expected_form(f"p{n:05}") for n in range(rows)]
    found = PLAN.perturb(data, identifier="id", key=KEY)
    assert forms_of(found).tolist() == expected
    shuffled = data.take(np.random.default_rng(1).permutation(rows))
    again = forms_of(PLAN.perturb(shuffled, identifier="id", key=KEY))
    assert again.tolist() == [
        expected_form(name) for name in shuffled["id"].to_pylist()
    ]
    pyarrow.csv.write_csv(data, tmp_path / "people.csv")
    pq.write_table(data, tmp_path / "people.parquet", row_group_size=7)
    for file in ("people.csv", "people.parquet"):
        perturb_file(PLAN, tmp_path / file, tmp_path / "out", identifier="id", key=KEY)
        assert forms_of(pq.read_table(tmp_path / "out")).tolist() == expected


@given(st.integers(0, 2**53), st.sampled_from(["int64", "uint64", "string", "double"]))
def test_a_number_is_the_same_identifier_in_every_type(number, kind):
    (value,) = pa.array([number]).cast(kind).to_pylist()
    assert identifier_text(value) == str(number)


def test_derived_forms_follow_the_shares_and_the_key():
    names = [str(n) for n in range(40_000)]
    found = derived_forms(PLAN, names, KEY)
    assert chisquare(np.bincount(found, minlength=3), 40_000 * SHARES).pvalue > 1e-4
    other = derived_forms(PLAN, names, bytes(32))
    independent = float((SHARES**2).sum())
    assert abs(np.mean(found == other) - independent) < 0.02


@pytest.mark.parametrize("wrong", [None, "", "  ", 0.5, True])
def test_an_invalid_identifier_raises(wrong):
    values = pa.array([wrong, wrong] if not isinstance(wrong, str) else ["a", wrong])
    data = people(2).append_column("id", values)
    with pytest.raises(
        InputError, match=r"record [12]: column 'id' must be an identifier"
    ):
        PLAN.perturb(data, identifier="id", key=KEY)


def test_keys_are_kept_in_files_for_their_owner(tmp_path):
    path = tmp_path / "key"
    key = new_key(path)
    assert len(key) == 32
    assert checked_key(path) == checked_key(str(path)) == key
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="cannot be written"):
        new_key(path)
    with pytest.raises(InputError, match="at least 16 bytes"):
        checked_key(b"short")
    (tmp_path / "junk").write_text("no key")
    for wrong in (tmp_path / "junk", tmp_path / "none", 3, tmp_path):
        with pytest.raises(InputError):
            checked_key(wrong)


# Noise --------------------------------------------------------------------------------


def with_identifiers(rows):
    return people(rows).append_column("id", pa.array([f"p{n:05}" for n in range(rows)]))


def keyed(data, plan=PLAN, key=KEY):
    return plan.perturb(data, identifier="id", key=key)


def test_a_second_run_gives_the_same_reports():
    """So that nobody can average the noise of a person out."""
    data = with_identifiers(400)
    found = keyed(data)
    assert found.equals(keyed(data))
    order = np.random.default_rng(1).permutation(400)
    assert found.take(order).equals(keyed(data.take(order)))
    assert keyed(data, key=bytes(32))["1:sex"] != found["1:sex"]


def test_another_answer_has_noise_of_its_own():
    """With the noise of the first answer, two reports would tell both answers."""
    plan = forms_plan(PAIRS, [product(sex=1.0, ill=1.0)])
    rows = 4000
    data = with_identifiers(rows)
    other = data.set_column(
        0, "sex", pa.array(["F" if s == "M" else "M" for s in data["sex"].to_pylist()])
    )
    one = keyed(data, plan)
    two = keyed(other, plan)
    assert one["ill"].equals(two["ill"])  # the other answer is as before
    same = np.mean(np.asarray(one["sex"]) == np.asarray(two["sex"]))
    kept = np.e / (1 + np.e)
    assert abs(same - 2 * kept * (1 - kept)) < 4.5 * np.sqrt(0.25 / rows)


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "olh", "she"])
def test_derived_noise_has_the_distribution_of_the_mechanism(name):
    plan = forms_plan(PAIRS, [product(job=(name, 1.0))])
    rows = 3000
    data = with_identifiers(rows)
    found = plan.estimate(keyed(data, plan))["job"]
    jobs = data["job"].to_pylist()
    truth = [jobs.count(value) / rows for value in DOMAIN["job"].values]
    assert np.all(np.abs(found.frequencies - truth) < 4.5 * found.conditional_errors)
    scores = (found.frequencies - truth) / found.conditional_errors
    assert chi2(len(scores)).sf((scores**2).sum()) > 1e-4


def test_bytes_are_those_of_the_specification():
    message = b"seepage noise\0" + f"{PLAN.collection} 0 1 2 ann".encode() + b"\0"
    blocks = [
        hmac.digest(KEY, message + bytes(7) + bytes([j]), "sha256") for j in range(3)
    ]
    derived = KeyedRandomness(KEY, f"{PLAN.collection} 0 1 2 ann".encode())
    parts = [derived.bytes(count).tobytes() for count in (5, 0, 40, 51)]
    assert b"".join(parts) == b"".join(blocks)


def test_a_seed_beside_identifiers_raises():
    with pytest.raises(InputError, match="seed has no effect: the noise is derived"):
        PLAN.perturb(with_identifiers(3), identifier="id", key=KEY, rng=1)


# The command --------------------------------------------------------------------------


def test_the_command_gives_the_same_form_again(tmp_path):
    data = people(200).append_column("id", pa.array(range(200)))
    pyarrow.csv.write_csv(data, tmp_path / "people.csv")
    PLAN.save(tmp_path / "plan.json")
    call = [
        "perturb",
        str(tmp_path / "people.csv"),
        "--plan",
        str(tmp_path / "plan.json"),
    ]
    asked = ["--identifier", "id", "--key-file", str(tmp_path / "key")]
    outputs = [str(tmp_path / name) for name in ("one.parquet", "two.parquet")]
    done = [run(*call, *asked, "-o", output) for output in outputs]
    assert all(result.returncode == 0 for result in done)
    assert "200 reports of 4 attributes, 3 forms" in done[0].stdout
    assert "a new key was written" in done[0].stderr
    assert "key" not in done[1].stderr
    one, two = map(pq.read_table, outputs)
    assert forms_of(one).tolist() == forms_of(two).tolist()
    assert one.equals(two)
    derived = (
        derived_forms(PLAN, map(str, range(200)), checked_key(tmp_path / "key")) + 1
    )
    assert forms_of(one).tolist() == derived.tolist()
    rejected = run(*call, "--identifier", "id", "-o", tmp_path / "three.parquet")
    assert rejected.returncode == 2
    assert "--identifier has no effect without --key-file" in rejected.stderr
    rejected = run(
        *call, "--key-file", tmp_path / "key", "-o", tmp_path / "three.parquet"
    )
    assert rejected.returncode == 2
    assert "--key-file has no effect without --identifier" in rejected.stderr
    clash = (
        "--identifier",
        "id",
        "--key-file",
        tmp_path / "key",
        "-o",
        tmp_path / "key",
    )
    rejected = run(*call, *clash, "--force")
    assert "the output must not be what is read" in rejected.stderr
    assert checked_key(tmp_path / "key")
    fails = (
        "--identifier",
        "id",
        "--key-file",
        tmp_path / "new",
        "-o",
        tmp_path / "four",
    )
    rejected = run(*call, *fails, "--missing", "nothing")
    assert rejected.returncode == 2
    assert not (tmp_path / "new").exists()
    (tmp_path / "junk").write_text("no key")
    asked = ("--identifier", "id", "--key-file", tmp_path / "junk")
    rejected = run(*call, *asked, "-o", tmp_path / "three.parquet")
    assert "seepage: --key-file must be a file of hexadecimal digits" in rejected.stderr
    assert not (tmp_path / "three.parquet").exists()
