"""The client in Node: the same reports as Python from the same bytes, and nothing
more.
"""

import copy
import json
import math
import re
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

import wires
from command import run
from plan_examples import counts, plan_for
from seepage._core.errors import InputError
from seepage.collection.client_files import client_vectors
from seepage.collection.reference_client import answer_code
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.hashing import OLH
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.mechanisms.unary import OUE
from seepage.tables.labels import number_label
from seepage.workflow.plan import Plan

pytestmark = wires.needs_node

WIRES = {
    **{name: wires.one_question_wire(made) for name, made in wires.MECHANISMS.items()},
    "forms": wires.three_forms_wire(),
    "open": wires.open_forms_wire(),
    "raw": wires.raw_wire(),
    "large": wires.one_question_wire(SubsetSelection(300, 1.0)),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    running = wires.Client(wires.install_client(tmp_path_factory.mktemp("client")))
    yield running
    running.close()


def load(client, plan, **options):
    (found,) = client.run(do="load", plans=[plan], options=options)
    return found


def check_vectors(client, wire, count):
    vectors = client_vectors(wire, count)
    plan = wires.client_file(wire)
    assert client.run(do="vectors", plan=plan, vectors=vectors)["wrong"] == 0
    spoilt = copy.deepcopy(vectors)
    spoilt["forms"][-1][1] += 1
    spoilt["records"][-1]["report"]["form"] += 1
    assert client.run(do="vectors", plan=plan, vectors=spoilt)["wrong"] == 2


@pytest.mark.parametrize("name", WIRES)
def test_vectors_come_out_as_in_python(client, name):
    check_vectors(client, WIRES[name], 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", WIRES)
def test_ten_thousand_vectors_come_out_as_in_python(client, name):
    check_vectors(client, WIRES[name], 10_000)


def check_draws(client, name, count, skew):
    """A chi-square test accepts the exact chances and rejects ones that are skewed."""
    wire = WIRES[name]
    channel = wire["forms"][0]["questions"][0]
    chances = wires.exact_chances(channel, 1)
    job = {"plan": wires.client_file(wire), "answers": {"x": "x1"}, "count": count}
    seen = client.run(do="draws", **job)
    reports = {
        json.dumps(report, separators=(",", ":")): part
        for report, part in chances.items()
    }
    assert not set(seen) - set(reports)
    counts = [seen.get(report, 0) for report in reports]
    exact = np.array([float(part) for part in reports.values()])
    assert chisquare(counts, count * exact).pvalue > 1e-6
    exact[::2] *= skew
    assert chisquare(counts, count * exact / exact.sum()).pvalue < 1e-6


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "matrix"])
def test_draws_of_the_device_follow_the_probabilities(client, name):
    check_draws(client, name, 20_000, skew=0.75)


@pytest.mark.slow
@pytest.mark.parametrize("name", wires.MECHANISMS)
def test_a_million_draws_follow_the_probabilities(client, name):
    check_draws(client, name, 1_000_000, skew=0.96)


@pytest.mark.parametrize(
    "made", [GRR(5, 1.3), SubsetSelection(7, 0.4), OUE(4, 1.0), GRR(1, 1.0)]
)
def test_the_factor_is_what_the_probabilities_allow(client, made):
    plan = wires.client_file(wires.one_question_wire(made))
    ((factor,),) = load(client, plan)["factors"]
    expected = float(exp_below(made.epsilon)) if made.k > 1 else 1.0
    assert factor == pytest.approx(expected, rel=1e-12)


# Plans that are not what they say -----------------------------------------------------


def tampered(change):
    plan = wires.client_file(copy.deepcopy(WIRES["forms"]))
    change(plan)
    return plan


def test_a_tampered_plan_is_rejected(client):
    def raise_keep(plan):
        plan["wire"]["forms"][0]["questions"][1]["keep"] = str(2**64 - 1)

    found = load(client, tampered(raise_keep))
    assert found["error"] == "PlanError"
    assert "does not match its digest" in found["message"]


@pytest.mark.parametrize(
    "draw", ["constructor", "toString", "__proto__", "hasOwnProperty"]
)
def test_a_forged_plan_cannot_name_a_draw_that_is_none(client, draw):
    wire = copy.deepcopy(WIRES["grr"])
    wire["forms"][0]["questions"][0]["draw"] = draw
    found = load(client, wires.client_file(wire))
    assert found["error"] == "PlanError"
    assert "a client cannot draw reports of grr" in found["message"]


def test_a_forged_plan_of_many_levels_is_rejected(client):
    text = json.dumps(wires.client_file(WIRES["grr"]))
    deep = text.replace(
        '"wire": {', '"wire": {"deep": ' + "[" * 20_000 + "]" * 20_000 + ", "
    )
    assert deep != text
    found = load(client, deep)
    assert found["error"] == "PlanError"
    assert "must have at most 20 levels" in found["message"]


def test_the_file_of_a_plan_is_loaded_as_it_is(client, tmp_path):
    plan_for(counts(), 1.0).save(tmp_path / "plan.json")
    content = (tmp_path / "plan.json").read_text()
    assert load(client, json.loads(content))["factors"] == [[pytest.approx(math.e)] * 4]


def test_a_plan_whose_wire_form_was_edited_is_edited(tmp_path):
    path = tmp_path / "plan.json"
    plan_for(counts(), 1.0).save(path)
    content = json.loads(path.read_text())
    content["wire"]["forms"][0]["questions"][0]["keep"] = "1"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="was edited"):
        Plan.load(path)
    path.write_text(json.dumps({**content, "wire": None, "collection": ""}))
    with pytest.raises(InputError, match="was edited"):
        Plan.load(path)
    plan_for(counts(), 1.0, "olh").save(path)
    assert json.loads(path.read_text())["wire"] is None
    assert Plan.load(path) == plan_for(counts(), 1.0, "olh")


def test_a_plan_tampered_with_its_digest_is_rejected_by_the_digest_that_is_trusted(
    client,
):
    wire = copy.deepcopy(WIRES["forms"])
    trusted = wires.client_file(wire)["collection"]
    wire["forms"][0]["questions"][1]["keep"] = str(2**64 - 1)
    forged = wires.client_file(wire)
    assert "factors" in load(client, forged)
    found = load(client, forged, collection=trusted)
    assert found["error"] == "PlanError"


KEY_PATHS = [
    ("version",),
    ("forms", 0, "until"),
    ("forms", 2, "until"),
    ("forms", 0, "type"),
    ("forms", 0, "questions", 0, "size"),
    ("forms", 0, "questions", 0, "force"),
    ("forms", 0, "questions", 1, "k"),
    ("forms", 0, "questions", 1, "draw"),
    ("forms", 2, "thresholds", 3, 0),
    ("forms", 2, "attributes"),
    ("attributes", 0, "values"),
]


def test_damage_is_an_error_even_with_its_digest(client):
    plans = []
    for keys, wrong in product(
        KEY_PATHS, ("18446744073709551617", "-1", "x", 0, [], {})
    ):
        wire = copy.deepcopy(WIRES["forms"])
        part = wire
        for step in keys[:-1]:
            part = part[step]
        part[keys[-1]] = wrong
        plans.append(wires.client_file(wire))
    found = client.run(do="load", plans=plans)
    assert [one.get("error") for one in found] == ["PlanError"] * len(plans)


def test_a_mechanism_that_no_client_can_draw_is_rejected(client):
    plan = wires.client_file(wires.one_question_wire(OLH(8, 1.0)))
    found = load(client, plan)
    assert found == {
        "error": "PlanError",
        "message": "a client cannot draw reports of olh",
    }


@pytest.mark.parametrize(
    "text", ["é", '"\\/', "\x00\x1f\x7f", "\u2028\ud7ff", "𝒳", "__proto__", "1"]
)
def test_digests_agree_on_any_text(client, text):
    wire = copy.deepcopy(WIRES["grr"])
    wire["attributes"][0] = {"name": text, "values": ["a", "b", "c", text * 2, "e"]}
    wire["forms"][0]["questions"][0]["attribute"] = text
    vectors = client_vectors(wire, 5)
    plan = wires.client_file(wire)
    assert client.run(do="vectors", plan=plan, vectors=vectors)["wrong"] == 0


# One person ---------------------------------------------------------------------------

ANSWERS = {"a": "a2", "b": "b6", "c": "c0"}


def person(client, *steps, answers=ANSWERS):
    plan = wires.client_file(WIRES["forms"])
    return client.run(do="person", plan=plan, answers=answers, steps=list(steps))


def values(found):
    return [result.get("value", result.get("error")) for result in found["results"]]


def test_asking_again_gives_the_same_line(client):
    other = {"a": "a0", "b": "b1", "c": "c2"}
    found = person(
        client, {"do": "form"}, *[{"do": "report"}] * 3, {"do": "report", "at": other}
    )
    form, *lines = values(found)
    assert lines[0]["form"] == form
    assert lines[0]["plan"] == wires.client_file(WIRES["forms"])["collection"]
    assert all(line == lines[0] for line in lines)
    assert found["draws"] == 3  # the form, the id, the report


def test_true_answers_are_not_kept(client):
    odd = wires.one_question_wire(GRR(2, 0.0))
    odd["attributes"][0]["values"] = ["secret answer", "another"]
    found = client.run(
        do="person",
        plan=wires.client_file(odd),
        answers={"x": "secret answer"},
        steps=[{"do": "report"}],
    )
    assert "secret" not in "".join(found["kept"])


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        None,
        "a2",
        {**ANSWERS, "a": "a9", "b": "", "c": "C0"},
        dict.fromkeys("abc", 0),
    ],
)
def test_an_answer_outside_the_domain_releases_nothing(client, wrong):
    found = person(client, {"do": "report"}, answers=wrong)
    assert values(found) == ["AnswerError"]
    assert found["draws"] == 2  # the form and the id
    assert json.loads(found["kept"][0])["line"] is None


def test_raw_values_are_coded_as_in_python(client):
    """Numbers and null beside texts; an answer is undefined only where Python has no
    code.
    """
    wire = WIRES["raw"]
    raw = [
        0,
        5.5,
        6,
        -3,
        1e9,
        "1e1",
        ".5",
        "-inf",
        "",
        "mid",
        "x",
        "nurse",
        "F",
        None,
        "2.5",
        4,
    ]
    for attribute in wire["attributes"]:
        one = {**wire, "forms": [{**wire["forms"][0], "questions": []}]}
        questions = wire["forms"][0]["questions"]
        one["forms"][0]["questions"] = [
            q for q in questions if q["attribute"] == attribute["name"]
        ]
        for answer in raw:
            code = answer_code(attribute, answer)
            found = client.run(
                do="person",
                plan=wires.client_file(one),
                answers={attribute["name"]: answer},
                steps=[{"do": "report"}],
            )["results"][0]
            told = found.get("value", {}).get("reports", {}).get(attribute["name"])
            if code == len(attribute["values"]):  # no answer: one by the shares
                assert attribute["shares"][told] > 0
                continue
            assert (told, found.get("error")) == (
                code,
                "AnswerError" if code is None else None,
            )


@pytest.mark.parametrize("other", [False, True])
def test_numbers_are_labelled_as_in_python(client, other):
    """A number of an attribute without bins is its label in the plan, not JavaScript's
    text.
    """
    numbers = [
        1e-7,
        1e-5,
        0.0001,
        1.5e-7,
        -2.5e-300,
        0.1,
        1 / 3,
        -0.0,
        5e-324,
        123456.789,
    ]
    numbers += [
        2.0**53,
        2.0**63,
        1e16,
        12345678901234567.0,
        1e20,
        2.5e21,
        -1.7976931348623157e308,
    ]
    labels = [number_label(number) for number in numbers]
    assert {"1e-07", "1e-05", "9223372036854775808", "1e+20"} <= set(labels)
    wire = wires.one_question_wire(GRR(len(labels) + 1, 700.0))
    wire["attributes"][0] |= {"values": [*labels, "inf"]}
    if other:
        wire["attributes"][0]["other"] = 0
    for code, number in enumerate(numbers):
        found = client.run(
            do="person",
            plan=wires.client_file(wire),
            answers={"x": number},
            steps=[{"do": "report"}],
        )["results"][0]
        assert found.get("value", {}).get("reports") == {"x": code}, number
        assert answer_code(wire["attributes"][0], number) == code


@pytest.mark.parametrize(
    "damage",
    [
        {"other": 3},
        {"other": "0"},
        {"merged": [["x", -1]]},
        {"edges": ["0", "1", "2", "3", "4"]},
    ],
)
def test_codes_beyond_the_values_are_damage(client, damage):
    wire = copy.deepcopy(WIRES["raw"])
    wire["attributes"][0] |= damage
    assert load(client, wires.client_file(wire))["error"] == "PlanError"


@pytest.mark.parametrize("mode", ["full", "blocked", "forgets"])
def test_without_storage_nothing_is_released(client, mode):
    found = person(
        client, {"do": "report", "mode": mode}, {"do": "report", "mode": "works"}
    )
    assert values(found)[0] == "StorageError"
    assert values(found)[1]["form"] in (1, 2, 3)


def test_a_full_storage_releases_no_report(client):
    found = person(
        client,
        {"do": "form"},
        {"do": "report", "mode": "full"},
        {"do": "send"},
        {"do": "report", "mode": "works"},
    )
    form, failed, unsent, line = values(found)
    assert (failed, unsent, line["form"]) == ("StorageError", "AnswerError", form)
    assert found["posted"] == []


@pytest.mark.parametrize("text", ["", "{", "null", "{}", '{"form": 9, "id": "x"}'])
def test_damaged_storage_releases_nothing(client, text):
    found = person(
        client, {"do": "form"}, {"do": "damage", "text": text}, {"do": "report"}
    )
    assert values(found)[2] == "StorageError"


def test_calls_at_the_same_time_draw_once(client):
    found = person(client, {"do": "twice"})
    first, second = values(found)[0]
    assert first == second
    assert found["draws"] == 3


def test_a_failed_send_is_repeated_without_fresh_noise(client):
    found = person(client, {"do": "report"}, {"do": "send", "statuses": [0, 503, 200]})
    line, sent = values(found)
    assert sent is True
    assert [json.loads(body) for body in found["posted"]] == [line] * 3
    assert found["draws"] == 3


def test_an_endpoint_that_is_down_leaves_the_line_for_a_file(client):
    found = person(
        client,
        {"do": "report"},
        {"do": "send", "statuses": [0] * 4},
        {"do": "kept"},
        {"do": "send"},
        {"do": "send"},
    )
    line, _, kept, again, last = values(found)
    assert found["results"][1] == {"error": "SendError", "line": line}
    assert kept == {"line": line, "sent": False}
    assert (again, last) == (True, False)
    assert len(found["posted"]) == 5


def test_a_rejected_line_is_not_sent_again(client):
    found = person(client, {"do": "report"}, {"do": "send", "statuses": [400]})
    assert values(found)[1] == "SendError"
    assert len(found["posted"]) == 1


def test_a_double_submission_is_sent_once(client):
    found = person(client, {"do": "report"}, {"do": "sends"})
    assert values(found)[1] == [True, False]
    assert len(found["posted"]) == 1


def test_the_code_of_the_guide_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    console, code = (
        re.search(rf"^```{language}\n(.*?)^```", page, re.M | re.S)[1]
        for language in ("console", "js")
    )
    for command in re.findall(r"^\$ seepage (.*)$", console, re.MULTILINE):
        assert run(*command.split(), cwd=tmp_path).returncode == 0
    node_18 = 'globalThis.crypto ??= (await import("node:crypto")).webcrypto;\n'
    (tmp_path / "example.mjs").write_text(node_18 + code)
    done = subprocess.run(
        [wires.NODE, "example.mjs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = "[ 'sex', 'race', 'income' ]"
    assert done.stdout.strip() == f"{names} {names}"
