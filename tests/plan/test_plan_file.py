"""Plans as files: what is written is read back, and nothing else is accepted."""

import contextlib
import copy
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan_examples import counts, plan_for
from seepage._core.errors import InputError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.mechanisms.rappor import BasicRAPPOR
from seepage.workflow.plan import Plan


@pytest.fixture(scope="module")
def plan():
    return plan_for(
        counts(), [0.5, 1.0, 2.0, 0.7], settings={"limit": 3, "how": ["equal"]}
    )


@pytest.fixture
def saved(plan, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    return path


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def first_question(content):
    return content["plan"]["forms"][0]["channel"]["questions"][0]


def load_error(path):
    with pytest.raises(InputError) as caught:
        Plan.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_a_saved_plan_is_read_back_equal(plan, saved):
    loaded = Plan.load(saved)
    assert loaded == plan
    assert loaded.digest == plan.digest
    assert loaded.to_dict() == plan.to_dict()
    assert loaded.domain == plan.domain


def test_the_file_has_format_version_and_provenance(plan, saved):
    content = json.loads(saved.read_text())
    assert (content["format"], content["version"]) == ("seepage plan", 1)
    assert content == plan.to_dict()
    (form,) = content["plan"]["forms"]
    sex = form["channel"]["questions"][0]
    assert (sex["attribute"], sex["mechanism"], sex["epsilon"]) == ("sex", "grr", 0.5)
    assert (form["channel"]["type"], form["share"]) == ("product", str(2**64))
    assert form["guarantee"] == "worst"
    assert content["plan"]["provenance"]["digest"] == counts().digest
    assert content["plan"]["provenance"]["settings"] == {"limit": 3, "how": ["equal"]}


def test_every_field_of_a_plan_is_saved_and_loaded(tmp_path):
    inf = float("inf")
    domain = Domain(
        [
            Attribute("age", ("(-inf, 3)", "[3, inf)", "(missing)"), (-inf, 3, inf)),
            Attribute("é", ("ü", "")),
            Attribute("known", ("x", "y")),
            Attribute("unused", ("0", "1")),
        ]
    )
    codes = [[0, 1], [0, 1], [0, 0], [1, 0]]
    pairs = Records(domain, np.transpose(codes)).pairs()
    plan = plan_for(
        pairs,
        [1.0, 1.0, 0.0, 0.0],
        [BasicRAPPOR(3, 0.25), "approximate-grr", None, None],
        delta=[0.0, 1e-5, 0.0, 0.0],
        limit={"age": 5.0, "é": 5.0, "known": None, "unused": 2.0},
        guarantee="independent",
        totals=[5.0, 3.0, inf, 0.0],
        public=["known"],
        notes=["a note"],
    )
    path = tmp_path / "plan.json"
    plan.save(path)
    loaded = Plan.load(path)
    assert loaded == plan
    assert loaded.domain == domain
    question = loaded.forms[0].question("age")
    assert dict(question.parameters) == {"f": 0.25, "p": 0.5, "q": 0.75}
    assert loaded.mechanisms["age"].describe() == BasicRAPPOR(3, 0.25).describe()
    assert loaded.mechanisms["é"].describe()["delta"] == 1e-5
    assert loaded["known"].public
    assert "known" not in loaded.mechanisms
    assert loaded["known"].limit is None
    assert loaded.totals.tolist() == [5.0, 3.0, inf, 0.0]
    assert loaded.collected.names == ("age", "é")
    assert loaded.notes == ("a note",)


@given(
    values=st.lists(
        st.text(min_size=1, max_size=4), min_size=1, max_size=5, unique=True
    ),
    epsilon=st.floats(1e-9, 50.0),
    limit=st.floats(51.0, 1e300),
)
def test_any_domain_and_budget_is_saved_and_loaded(
    tmp_path_factory, values, epsilon, limit
):
    pairs = PairCounts(Domain([Attribute("a", tuple(values))]), [[1] * len(values)], [])
    plan = plan_for(pairs, epsilon, limit=limit, guarantee="exact", totals=[51.0])
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    plan.save(path)
    assert Plan.load(path) == plan


def test_a_plan_cannot_be_changed(plan):
    with pytest.raises(AttributeError):
        plan.guarantee = "exact"
    with pytest.raises(AttributeError):
        plan["sex"].epsilon = 3.0
    with pytest.raises(AttributeError):
        plan.forms[0].channel.questions[0].epsilon = 3.0


def leaves(content, path=()):
    """Every value of nested JSON with its keys, but for the digest itself."""
    if isinstance(content, dict):
        for key, part in content.items():
            if (*path, key) != ("digest",):
                yield from leaves(part, (*path, key))
    elif isinstance(content, list):
        for key, part in enumerate(content):
            yield from leaves(part, (*path, key))
    else:
        yield path, content


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return None if value else "x"


def test_an_edit_of_any_field_is_detected(plan, saved):
    original = json.loads(saved.read_text())
    edits = [keys for keys, _ in leaves(original) if keys[0] == "plan"]
    assert len(edits) > 40
    for keys in edits:
        content = copy.deepcopy(original)
        part = content
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = changed(part[keys[-1]])
        saved.write_text(json.dumps(content))
        load_error(saved)


JUNK = [
    None,
    True,
    0,
    -1,
    10**400,
    1.5,
    1e308,
    5e-324,
    "",
    "x",
    "inf",
    "nan",
    "\0",
    "\ud800",
]
JUNK += [[], [1], ["a"], {}, {"x": 1}, {"f": 1e308}]


def key_paths(content, path=()):
    """The keys of every value, list and object in nested JSON."""
    yield path
    if isinstance(content, (dict, list)):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from key_paths(content[key], (*path, key))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_any_replacement_is_rejected_or_equivalent(tmp_path, every):
    """What a file may leave out, written in full or not, is no edit; all else
    raises.
    """
    two = counts().select(["sex", "age"])
    saved = tmp_path / "plan.json"
    plan = plan_for(two, [0.5, 1.0], settings={"limit": 3, "how": ["equal"]})
    plan.save(saved)
    original = json.loads(saved.read_text())
    accepted = 0
    for number, keys in enumerate(list(key_paths(original))[1:]):
        for value in [*JUNK[number % every :: every], ...]:
            content = part = copy.deepcopy(original)
            for key in keys[:-1]:
                part = part[key]
            if value is ...:
                del part[keys[-1]]
            else:
                part[keys[-1]] = value
            saved.write_text(json.dumps(content))
            with contextlib.suppress(InputError):
                assert Plan.load(saved) == plan
                accepted += 1
    assert 10 < accepted < 100


def test_any_changed_byte_is_rejected(saved):
    content = saved.read_bytes()
    for position in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[position] = 0xFF
        saved.write_bytes(bytes(damaged))
        load_error(saved)


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_endless_nesting_is_rejected(saved, depth):
    content = saved.read_text()
    assert '"limit": 3' in content
    saved.write_text(
        content.replace('"limit": 3', f'"limit": {"[" * depth}{"]" * depth}')
    )
    assert "is no valid plan" in load_error(saved)


@pytest.mark.parametrize("path", [None, 3, b"plan.json", "\0", ["plan.json"]])
def test_an_invalid_path_raises(path):
    with pytest.raises(InputError, match="path must be a path"):
        Plan.load(path)


def test_an_edited_plan_raises_with_a_hint(saved):
    edit(saved, lambda content: first_question(content).update(epsilon=0.6))
    message = load_error(saved)
    assert "it was edited, its content does not match its digest; plan anew" in message


@pytest.mark.parametrize(("guarantee", "total"), [("worst", 4.19), ("exact", 1.99)])
def test_a_forged_plan_with_its_digest_is_rejected(plan, saved, guarantee, total):
    """Budgets sum to 4.2, and the largest is 2: smaller totals cannot be."""
    totals = [total] * len(plan.domain)
    forms = [
        msgspec.structs.replace(f, guarantee=guarantee, totals=totals)
        for f in plan.forms
    ]
    forged = msgspec.structs.replace(plan, forms=tuple(forms))
    forged.save(saved)
    message = load_error(saved)
    assert "its reports tell at least" in message
    assert f"and its total is {total}; plan anew" in message


def test_layout_is_no_edit(plan, saved):
    content = json.loads(saved.read_text())
    saved.write_text(json.dumps(content, indent=None, sort_keys=True))
    assert Plan.load(saved) == plan


QUESTIONS = ["plan", "forms", 0, "channel", "questions"]

WRONG = {
    "unknown at the top": (["x"], 1, "unknown field `x`"),
    "unknown in the plan": (["plan", "x"], 1, "unknown field `x` - at `$.plan`"),
    "unknown in an attribute": (
        ["plan", "attributes", 1, "eps"],
        1,
        "unknown field `eps` - at `$.plan.attributes[1]`",
    ),
    "unknown in a form": (
        ["plan", "forms", 0, "eps"],
        1,
        "unknown field `eps` - at `$.plan.forms[0]`",
    ),
    "unknown in a question": (
        [*QUESTIONS, 1, "eps"],
        1,
        "unknown field `eps` - at `$.plan.forms[0].channel.questions[1]`",
    ),
    "text for a number": (
        [*QUESTIONS, 2, "epsilon"],
        "1",
        "Expected `float`, got `str` - at "
        "`$.plan.forms[0].channel.questions[2].epsilon`",
    ),
    "negative": ([*QUESTIONS, 0, "epsilon"], -1, "questions[0].epsilon"),
    "boolean": ([*QUESTIONS, 0, "epsilon"], True, "questions[0].epsilon"),
    "delta of 1": ([*QUESTIONS, 0, "delta"], 1, "questions[0].delta"),
    "number for a name": (
        ["plan", "attributes", 0, "name"],
        3,
        "$.plan.attributes[0].name",
    ),
    "a value twice": (
        ["plan", "attributes", 0, "values"],
        ["F", "F"],
        "'F' twice - at `$.plan.attributes[0]`",
    ),
    "edges without bins": (
        ["plan", "attributes", 0, "edges"],
        [1, 2],
        "at `$.plan.attributes[0]`",
    ),
    "no distribution": (
        ["plan", "attributes", 0, "frequencies"],
        [0.5, 0.6],
        "the frequencies of 'sex' must be 2 numbers",
    ),
    "unknown mechanism": (
        [*QUESTIONS, 1, "mechanism"],
        "gr",
        "did you mean 'grr'? - at `$.plan`",
    ),
    "unknown parameter": (
        [*QUESTIONS, 1, "parameters"],
        {"f": 1},
        "form 1: mechanism 'grr' does not take the parameters f - at `$.plan`",
    ),
    "delta of a pure mechanism": (
        [*QUESTIONS, 0, "delta"],
        0.5,
        "has delta 0, got delta 0.5 - at `$.plan`",
    ),
    "a question for nothing": (
        [*QUESTIONS, 0, "attribute"],
        "sax",
        "did you mean 'sex'?",
    ),
    "a question twice": (
        [*QUESTIONS, 0, "attribute"],
        "job",
        "ask for 'job' at most once",
    ),
    "no questions": (QUESTIONS, [], "at least one attribute, got none"),
    "an unknown channel": (
        ["plan", "forms", 0, "channel", "type"],
        "x",
        "Invalid value 'x'",
    ),
    "no share": (["plan", "forms", 0, "share"], "0", "at least 1 out of 2^64"),
    "a number for a share": (["plan", "forms", 0, "share"], 1, "$.plan.forms[0].share"),
    "digits of another script": (
        ["plan", "forms", 0, "share"],
        "\u0663",
        "$.plan.forms[0].share",
    ),
    "half of the people": (
        ["plan", "forms", 0, "share"],
        str(2**63),
        "must sum to 2^64",
    ),
    "more than all people": (
        ["plan", "forms", 0, "share"],
        str(2**64 + 1),
        "out of 2^64",
    ),
    "too few totals": (
        ["plan", "forms", 0, "totals"],
        [1.0],
        "one total for each of 4",
    ),
    "too few deltas": (
        ["plan", "forms", 0, "total_deltas"],
        [0.1],
        "one for each of 4 totals",
    ),
    "an unknown guarantee of the form": (
        ["plan", "forms", 0, "guarantee"],
        "sure",
        "guarantee must be one of",
    ),
    "no forms": (["plan", "forms"], [], "from 1 to 65535 forms, got none"),
    "public and collected": (
        ["plan", "attributes", 0, "public"],
        True,
        "so no form must ask for it, and form 1 does - at `$.plan`",
    ),
    "a lower bound": (
        ["plan", "forms", 0, "guarantee"],
        "witness",
        "guarantee must be one of",
    ),
    "a total above its limit": (
        ["plan", "attributes", 1, "limit"],
        4.0,
        "the total of 'job' must be at most its limit 4.0, got 4.200001 in form 1",
    ),
    "confidence of 1": (["plan", "confidence"], 1.0, "$.plan.confidence"),
    "an unknown scope": (["plan", "scope"], "world", "$.plan.scope"),
    "a population without confidence": (
        ["plan", "scope"],
        "population",
        "have a confidence",
    ),
    "records as text": (
        ["plan", "provenance", "records"],
        "9",
        "$.plan.provenance.records",
    ),
    "no attributes": (["plan", "attributes"], [], "at least one attribute"),
    "another format": (["format"], "pairs", "$.format"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_field_is_named_with_its_path(saved, case):
    keys, value, message = WRONG[case]

    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    edit(saved, change)
    assert message in load_error(saved)


def test_a_missing_field_is_named(saved):
    edit(saved, lambda content: first_question(content).pop("epsilon"))
    message = load_error(saved)
    assert "missing required field `epsilon`" in message
    assert "at `$.plan.forms[0].channel.questions[0]`" in message


def test_a_duplicate_attribute_is_rejected(saved):
    edit(saved, lambda c: c["plan"]["attributes"].append(c["plan"]["attributes"][0]))
    assert "'sex' twice" in load_error(saved)


def test_another_version_is_rejected_before_its_fields(saved):
    edit(saved, lambda content: content.update(version=3, new_field=1))
    message = load_error(saved)
    assert "it has version 3 of the format, seepage reads 1" in message


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b"PAR1", b'{"plan": 1}']
)
def test_a_file_that_is_no_plan_is_rejected(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    assert "is no valid plan" in load_error(path)


def test_a_missing_file_raises(tmp_path):
    assert "cannot be read" in load_error(tmp_path / "plan.json")
    assert "cannot be read" in load_error(tmp_path)
