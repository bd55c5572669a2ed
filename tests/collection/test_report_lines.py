"""Reports as JSON Lines: good lines count, others are named by number and never
shown.
"""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import run
from plan_examples import collected, counts, people, plan_for, three_forms
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.collection.reference_client import draw_form, form_bytes, perturb_record
from seepage.collection.report_lines import MAX_LINE_BYTES, read_report_lines
from seepage.mechanisms.randomness import Randomness

CHOSEN = {"sex": "grr", "job": "ss", "age": "oue", "ill": "exp"}
PLAN = plan_for(counts(), 1.0, CHOSEN)
OTHER = plan_for(counts(), 2.0, CHOSEN)
GOOD = {
    "plan": PLAN.collection,
    "form": 1,
    "reports": {"sex": 1, "job": [2], "age": [], "ill": 0},
}


def client_lines(rows, plan=PLAN, seed=1):
    """Lines as clients send them, of people whose ages are in bins."""
    wire = plan.wire
    source = Randomness(np.random.default_rng(seed))
    table = people(rows).to_pylist()
    bins = plan.domain["age"].values
    for person in table:
        person["age"] = bins[(person["age"] >= 40) + (person["age"] >= 60)]
        data = source.bytes(form_bytes(wire, 1)).tobytes()
        yield {"plan": plan.collection, **perturb_record(wire, 1, person, data)}


def written(path, lines):
    text = "".join(
        line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines
    )
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def read(*files, plan=PLAN):
    table, notes = read_report_lines(plan, list(files))
    return SimpleNamespace(table=table, notes=tuple(notes))


def changed(**fields):
    return {**GOOD, **fields}


def with_report(name, report):
    return changed(reports={**GOOD["reports"], name: report})


MALFORMED = [
    "{\n",
    "[]\n",
    "null\n",
    '"secret"\n',
    "secret\n",
    "\x00\x01\n",
    "\ud800\n",
    "[" * 100_000 + "\n",
    {},
    {**GOOD, "form": 0},
    {**GOOD, "form": 2},
    {**GOOD, "form": "1"},
    {**GOOD, "form": 1.5},
    {**GOOD, "form": 2**70},
    {**GOOD, "plan": 7},
    {**GOOD, "id": 7},
    {**GOOD, "id": ""},
    {**GOOD, "id": "x" * 65},
    {key: GOOD[key] for key in ("plan", "form")},
    {**GOOD, "report": 1},
    {"plan": GOOD["plan"], "form": 1, "report": 1},
    changed(reports={}),
    changed(reports={**GOOD["reports"], "more": 1}),
    changed(reports={name: GOOD["reports"][name] for name in ("sex", "job", "age")}),
    *(with_report("sex", wrong) for wrong in (2, -1, 0.5, "1", None, True, [1], 2**64)),
    *(
        with_report("job", wrong)
        for wrong in (2, [], [4], [-1], [0, 1], ["0"], [None], [2**64])
    ),
    *(
        with_report("age", wrong)
        for wrong in (0, [3], [1, 0], [1, 1], [-1], [[0]], {"0": 1})
    ),
]


def test_a_malformed_line_is_named_and_costs_no_other(tmp_path):
    lines = [line for wrong in MALFORMED for line in (GOOD, wrong)]
    found = read(written(tmp_path / "reports.jsonl", [*lines, GOOD]))
    assert found.table.num_rows == len(MALFORMED) + 1
    assert found.notes == (
        f"reports.jsonl: {len(MALFORMED)} lines left out as malformed "
        "(lines 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, ...)",
    )


@pytest.mark.parametrize("wrong", MALFORMED, ids=range(len(MALFORMED)))
def test_each_malformed_line_is_left_out(tmp_path, wrong):
    found = read(written(tmp_path / "reports.jsonl", [GOOD, wrong]))
    assert found.table.num_rows == 1
    assert found.notes == ("reports.jsonl: 1 line left out as malformed (line 2)",)


def test_lines_are_the_reports_of_their_table(tmp_path):
    """The same reports, packed as a table by the mechanisms' own types."""
    lines = list(client_lines(300))
    table = read(written(tmp_path / "reports.jsonl", lines)).table
    assert table.schema.equals(PLAN.perturb(people(3)).schema, check_metadata=True)
    assert table["sex"].to_pylist() == [line["reports"]["sex"] for line in lines]
    for name in ("job", "age"):
        bits = [int.from_bytes(packed, "little") for packed in table[name].to_pylist()]
        assert bits == [
            sum(1 << value for value in line["reports"][name]) for line in lines
        ]


def test_estimates_from_lines_are_near_the_truth(tmp_path):
    records = people(4000)
    rows = 4000
    found = PLAN.estimate(written(tmp_path / "reports.jsonl", client_lines(rows)))
    for name in ("sex", "job", "ill"):
        values = records[name].to_pylist()
        truth = [values.count(value) / rows for value in PLAN.domain[name].values]
        gaps = np.abs(found[name].frequencies - truth) / found[name].standard_errors
        assert gaps.max() < 4.5


def test_many_words_of_bits_are_packed_in_order(tmp_path):
    domain = Domain([Attribute("x", tuple(map(str, range(130))))])
    plan = plan_for(PairCounts(domain, [[1] * 130], []), 1.0, "oue")
    line = {"plan": plan.collection, "form": 1, "reports": {"x": [0, 63, 64, 127, 129]}}
    table = read(written(tmp_path / "reports.jsonl", [line]), plan=plan).table
    bits = np.zeros(130, dtype=bool)
    bits[line["reports"]["x"]] = True
    made = plan.mechanisms["x"]
    assert table["x"].to_pylist() == [
        made.reports(made.describe(), made.reports.pack(bits[None])).array()[0].as_py()
    ]


def test_reports_of_another_plan_are_rejected(tmp_path):
    foreign = next(client_lines(1, OTHER))
    found = read(written(tmp_path / "reports.jsonl", [foreign, GOOD, foreign]))
    assert found.table.num_rows == 1
    assert found.notes == (
        "reports.jsonl: 2 lines left out as reports of another plan (lines 1, 3)",
    )
    with pytest.raises(
        InputError, match=r"holds no report of the plan: .* of another plan"
    ):
        read(written(tmp_path / "reports.jsonl", [foreign]))


def test_a_line_that_arrives_twice_counts_once(tmp_path):
    first = {**GOOD, "id": "a" * 32}
    second = {**GOOD, "id": "b" * 32}
    other = {**with_report("sex", 0), "id": "a" * 32}
    found = read(
        written(tmp_path / "reports.jsonl", [first, second, first, GOOD, GOOD, other])
    )
    assert found.table.num_rows == 4  # two with an id, two without
    assert found.notes == (
        "reports.jsonl: 1 line left out as malformed (line 6)",
        "reports.jsonl: 1 line left out as sent twice (line 3)",
    )


def test_an_id_with_sets_of_equal_hash_belongs_to_two_reports(tmp_path):
    """Bit 61 alone and bit 0 alone have one hash: integers modulo 2^61 - 1."""
    domain = Domain([Attribute("x", tuple(map(str, range(62))))])
    plan = plan_for(PairCounts(domain, [[1] * 62], []), 1.0, "oue")
    assert hash(1 << 61) == hash(1 << 0)
    lines = [
        {"plan": plan.collection, "form": 1, "id": "a", "reports": {"x": [value]}}
        for value in (61, 0)
    ]
    found = read(written(tmp_path / "reports.jsonl", lines), plan=plan)
    assert found.table.num_rows == 1
    assert found.notes == ("reports.jsonl: 1 line left out as malformed (line 2)",)


def test_a_line_may_arrive_in_two_files(tmp_path):
    line = {**GOOD, "id": "a" * 32}
    files = [written(tmp_path / name, [line]) for name in ("a.jsonl", "b.jsonl")]
    assert read(*files).notes == ("b.jsonl: 1 line left out as sent twice (line 1)",)


def test_unknown_fields_of_a_line_are_ignored(tmp_path):
    found = read(
        written(
            tmp_path / "reports.jsonl", [{**GOOD, "received": "2026-11-16", "n": 1}]
        )
    )
    assert (found.table.num_rows, found.notes) == (1, ())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n  \n"])
def test_ends_of_lines_do_not_matter(tmp_path, end):
    text = "\ufeff" + end.join(json.dumps(GOOD) for _ in range(3))
    found = read(written(tmp_path / "reports.jsonl", [text]))
    assert (found.table.num_rows, found.notes) == (3, ())


@pytest.mark.parametrize(
    "length", [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, 3 * MAX_LINE_BYTES + 5]
)
def test_a_line_that_is_too_long_is_malformed(tmp_path, length):
    lines = [GOOD, "x" * length + "\n", GOOD]
    found = read(written(tmp_path / "reports.jsonl", lines))
    assert found.table.num_rows == 2
    assert found.notes == ("reports.jsonl: 1 line left out as malformed (line 2)",)


# Several forms ------------------------------------------------------------------------


def forms_lines(plan, rows):
    """Lines of people whose forms are drawn, one of them with one report for all
    answers.
    """
    wire = plan.wire
    source = Randomness(np.random.default_rng(2))
    bins = plan.domain["age"].values
    for person in people(rows).to_pylist():
        person["age"] = bins[(person["age"] >= 40) + (person["age"] >= 60)]
        form = draw_form(wire, source.bytes(8).tobytes())
        data = source.bytes(form_bytes(wire, form)).tobytes()
        yield {"plan": plan.collection, **perturb_record(wire, form, person, data)}


def test_lines_of_several_forms_become_their_columns(tmp_path):
    plan = three_forms(counts())
    lines = list(forms_lines(plan, 300))
    table = read(written(tmp_path / "reports.jsonl", lines), plan=plan).table
    assert table.schema.equals(plan.perturb(people(3)).schema, check_metadata=True)
    assert table["form"].to_pylist() == [line["form"] for line in lines]
    for number, asked in ((1, "sex"), (2, "job"), (3, "report")):
        expected = [
            line.get("reports", line).get(asked) if line["form"] == number else None
            for line in lines
        ]
        assert table[f"{number}:{asked}"].to_pylist() == expected
    for number, asked in ((1, "job"), (2, "ill")):
        for packed, line in zip(
            table[f"{number}:{asked}"].to_pylist(), lines, strict=True
        ):
            if line["form"] != number:
                assert packed is None
            else:
                bits = sum(1 << value for value in line["reports"][asked])
                assert int.from_bytes(packed, "little") == bits


def test_a_line_must_answer_its_own_form(tmp_path):
    plan = three_forms(counts())
    base = {"plan": plan.collection}
    good = [
        {**base, "form": 1, "reports": {"sex": 0, "job": [0]}},
        {**base, "form": 2, "reports": {"job": 3, "ill": []}},
        {**base, "form": 3, "report": 0},
    ]
    outputs = plan.form_mechanisms[2]["report"].outputs
    wrong = [
        {**good[0], "form": 2},
        {**good[1], "form": 3},
        {**good[2], "form": 1},
        {**good[2], "form": 4},
        {**good[2], "report": outputs},
        {**good[2], "report": -1},
        {**good[2], "reports": {}},
        {**base, "form": 3, "reports": {"report": 0}},
    ]
    found = read(written(tmp_path / "reports.jsonl", [*good, *wrong]), plan=plan)
    assert found.table.num_rows == 3
    assert (
        "8 lines left out as malformed (lines 4, 5, 6, 7, 8, 9, 10, 11)"
        in found.notes[0]
    )


def test_estimates_from_several_forms_are_near_the_truth(tmp_path):
    plan = three_forms(counts())
    rows = 6000
    found = plan.estimate(written(tmp_path / "reports.jsonl", forms_lines(plan, rows)))
    records = people(rows)
    assert found.records == rows
    for name in ("sex", "job", "ill"):
        values = records[name].to_pylist()
        truth = [values.count(value) / rows for value in plan.domain[name].values]
        gaps = np.abs(found[name].frequencies - truth) / found[name].standard_errors
        assert gaps.max() < 4.5


# Files --------------------------------------------------------------------------------


def test_gzip_is_read_like_plain_text(tmp_path):
    plain = written(tmp_path / "reports.jsonl", client_lines(50))
    packed = tmp_path / "reports.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(packed).table.equals(read(plain).table)
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(
        InputError, match=r"cut.jsonl.gz is damaged: it cannot be read further"
    ):
        read(cut)


def test_folders_globs_lists_and_other_names(tmp_path):
    for name in ("a.jsonl", "b.ndjson", ".hidden.jsonl"):
        written(tmp_path / name, [GOOD])
    odd = written(tmp_path / "odd.log", [GOOD])
    both = [tmp_path / "a.jsonl", tmp_path / "b.ndjson"]
    for data, records in ((both, 2), (str(tmp_path / "*.*"), 3), (odd, 1)):
        assert PLAN.estimate(data).records == records
    assert PLAN.estimate(tmp_path).records == 2


def test_kinds_of_files_are_not_mixed(tmp_path):
    lines = written(tmp_path / "a.jsonl", [GOOD])
    table = tmp_path / "b.parquet"
    table.write_bytes(b"PAR1")
    for mixed in (tmp_path, [lines, table], str(tmp_path / "*")):
        with pytest.raises(
            InputError, match=r"one format, got JSON Lines \(a.jsonl\) and Parquet"
        ):
            PLAN.estimate(mixed)
    with pytest.raises(InputError, match="there is no file or folder"):
        PLAN.estimate(tmp_path / "missing.jsonl")


def test_lines_have_no_weights_beside_them(tmp_path):
    """The error says what to do, and doing it is possible."""
    path = written(tmp_path / "reports.jsonl", client_lines(40))
    with pytest.raises(
        InputError, match="reports as clients send them have no column 'w' beside them"
    ):
        PLAN.estimate(path, weights="w")
    weights = np.repeat([1.0, 3.0], 20)
    found = PLAN.estimate(path, weights=weights)["sex"].frequencies
    table = read_report_lines(PLAN, [path])[0]
    assert found == pytest.approx(
        PLAN.estimate(table, weights=weights)["sex"].frequencies
    )
    PLAN.save(tmp_path / "plan.json")
    (tmp_path / "beside.csv").write_text("w\n" + "1\n" * 20 + "3\n" * 20)
    given = ("estimate", path, "--plan", tmp_path / "plan.json", "--weights", "w")
    assert "no column 'w' beside them" in run(*given).stderr
    done = run(*given, "--covariates", tmp_path / "beside.csv", "--format", "json")
    told = json.loads(done.stdout)["attributes"]["sex"]["frequencies"]
    assert told == pytest.approx(found.tolist())


def test_the_library_warns_of_lines_that_are_left_out(tmp_path):
    path = written(tmp_path / "reports.jsonl", [GOOD, "secret\n"])
    with pytest.warns(UserWarning, match=r"1 line left out as malformed \(line 2\)"):
        assert PLAN.estimate(path).records == 1


def test_no_report_is_an_error(tmp_path):
    with pytest.raises(InputError, match="holds no report of the plan"):
        read(written(tmp_path / "reports.jsonl", []))


def test_mechanisms_without_lines_say_so(tmp_path):
    plan = plan_for(counts(), 1.0, "olh")
    with pytest.raises(InputError, match="'olh' cannot be read from JSON Lines"):
        read(written(tmp_path / "reports.jsonl", [GOOD]), plan=plan)


@given(
    junk=st.lists(
        st.one_of(
            st.text(st.characters(exclude_characters="\r\n"), max_size=40),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["plan", "form", "reports", "sex"]), inner
                    )
                ),
            ).map(json.dumps),
        ),
        max_size=8,
    ),
    positions=st.lists(st.integers(0, 8), min_size=1, max_size=5),
)
def test_junk_never_costs_a_good_line(tmp_path_factory, junk, positions):
    lines = list(junk)
    for position in positions:
        lines.insert(position, json.dumps(GOOD))
    folder = tmp_path_factory.mktemp("junk")
    path = written(folder / "reports.jsonl", [f"{line}\n" for line in lines])
    assert read(path).table.num_rows == len(positions)


# The commands -------------------------------------------------------------------------


def test_commands_read_lines_and_name_the_bad_ones(tmp_path):
    PLAN.save(tmp_path / "plan.json")
    lines = [*client_lines(500), "my secret answer\n"]
    path = written(tmp_path / "reports.jsonl", lines)
    done = run("estimate", path, "--plan", tmp_path / "plan.json", "--format", "json")
    assert done.returncode == 0
    assert "reports.jsonl: 1 line left out as malformed (line 501)" in done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["records"] == 500


def test_estimates_from_lines_equal_those_from_a_table(tmp_path):
    """One and the same reports, once as lines and once as a table."""
    codes = [
        np.array([0, 1, 1]),
        np.array([2, 0, 3]),
        np.array([0, 1, 2]),
        np.array([1, 1, 0]),
    ]
    table = collected(PLAN, codes, 5)
    rows = table.to_pylist()
    lines = []
    for row in rows:
        sets = {
            name: [v for v in range(8) if int.from_bytes(row[name], "little") >> v & 1]
            for name in ("job", "age")
        }
        lines.append(changed(reports={"sex": row["sex"], "ill": row["ill"], **sets}))
    assert read(written(tmp_path / "reports.jsonl", lines)).table.equals(table)
