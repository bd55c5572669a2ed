"""Attributes and domains: what they hold, and the input that raises."""

import numpy as np
import pytest

from seepage import Attribute, Domain
from seepage._core.errors import DomainError
from seepage.channel.domain import MISSING

SEX = Attribute("sex", ("Female", "Male"))
WORK = Attribute("work", ("none", "office", "farm"))
AGE = Attribute("age", ("[0, 20)", "[20, 99]", MISSING), edges=(0, 20, 99))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Attribute("", ("a",)),
            "an attribute's name must be a nonempty string, got ''",
        ),
        (
            lambda: Attribute(3, ("a",)),
            "an attribute's name must be a nonempty string, got 3",
        ),
        (
            lambda: Attribute("x", ()),
            "attribute 'x' must have at least one value, got none",
        ),
        (
            lambda: Attribute("x", ("a", 1)),
            "the values of attribute 'x' must be strings",
        ),
        (
            lambda: Attribute("x", ("a", "b", "a")),
            "attribute 'x' has the value 'a' twice",
        ),
        (
            lambda: Attribute("x", ("a", "b"), edges=(0, 2, 1)),
            "the bin edges of attribute 'x' must ascend",
        ),
        (
            lambda: Attribute("x", ("a", "b"), edges=(0, float("nan"), 1)),
            "the bin edges of attribute 'x' must ascend",
        ),
        (
            lambda: Attribute("x", ("a", "b"), edges=(0, 1)),
            "attribute 'x' has 2 edges and 2 bins; b bins have b + 1 edges",
        ),
        (
            lambda: SEX.code("male"),
            "attribute 'sex' has no value 'male'; did you mean 'Male'?",
        ),
        (lambda: SEX.code("zzz"), "attribute 'sex' has no value 'zzz'"),
        (lambda: Domain([]), "a domain must have at least one attribute, got none"),
        (lambda: Domain([SEX, SEX]), "the domain has the attribute 'sex' twice"),
        (
            lambda: Domain([SEX])["Sexx"],
            "there is no attribute 'Sexx'; did you mean 'sex'?",
        ),
        (lambda: Domain([SEX])["income"], "there is no attribute 'income'"),
        (
            lambda: Domain([SEX])[1],
            "an attribute must be a name or an index below 1, got 1",
        ),
        (
            lambda: Domain([SEX])[-2],
            "an attribute must be a name or an index below 1, got -2",
        ),
        (
            lambda: Domain([SEX])[0.5],
            "an attribute must be a name or an index below 1, got 0.5",
        ),
        (
            lambda: Domain([SEX])[None],
            "an attribute must be a name or an index below 1, got None",
        ),
        (
            lambda: Domain([SEX, WORK]).rename({"sex": "work"}),
            "the domain has the attribute 'work' twice",
        ),
        (
            lambda: Domain([SEX]).rename({"sec": "x"}),
            "there is no attribute 'sec'; did you mean 'sex'?",
        ),
    ],
)
def test_invalid_arguments_raise_in_one_line(make, message):
    with pytest.raises(DomainError) as raised:
        make()
    assert str(raised.value) == message


def test_values_and_codes_belong_together():
    assert [WORK.code(value) for value in WORK.values] == [0, 1, 2]
    assert WORK.size == 3
    assert Attribute("work", ["none", "office", "farm"]) == WORK


def test_a_restricted_attribute_is_a_plain_category():
    assert AGE.restrict([1, 2]) == Attribute("age", ("[20, 99]", MISSING))
    assert AGE.edges == (0.0, 20.0, 99.0)


def test_a_domain_is_found_by_name_and_number():
    domain = Domain([SEX, WORK, AGE])
    assert domain.names == ("sex", "work", "age")
    assert domain.sizes == (2, 3, 3)
    assert domain["work"] is domain[1] is domain[-2] is domain[np.int64(1)]
    assert list(domain) == [SEX, WORK, AGE]
    assert "age" in domain
    assert "income" not in domain
    assert repr(domain) == "Domain(sex[2], work[3], age[3])"


def test_select_and_rename():
    domain = Domain([SEX, WORK, AGE])
    assert domain.select(["age", 0]) == Domain([AGE, SEX])
    renamed = domain.rename({"sex": "gender"})
    assert renamed.names == ("gender", "work", "age")
    assert renamed["gender"].values == SEX.values


def test_equal_domains_are_one_key():
    assert len({Domain([SEX, WORK]), Domain([SEX, WORK]), Domain([WORK, SEX])}) == 2
    assert Domain([SEX]) != "sex"


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (Domain([SEX, WORK, AGE]), ""),
        (Domain([SEX, AGE]), "attributes sex, work, age against sex, age"),
        (
            Domain([SEX, Attribute("work", ("none", "office", "mine")), AGE]),
            "attribute 'work': only one has 'farm'",
        ),
        (
            Domain([SEX, Attribute("work", ("farm", "office", "none")), AGE]),
            "attribute 'work': their values are in another order",
        ),
        (
            Domain([SEX, WORK, Attribute("age", AGE.values, (0, 30, 99))]),
            "attribute 'age': bin edges (0.0, 20.0, 99.0) against (0.0, 30.0, 99.0)",
        ),
    ],
)
def test_differences_are_named(other, difference):
    assert Domain([SEX, WORK, AGE]).differences(other) == difference


def test_the_repr_of_a_large_domain_is_one_line():
    domain = Domain([Attribute(f"a{i}", ("0", "1")) for i in range(1000)])
    assert repr(domain).endswith("a7[2], 992 more)")
    assert repr(domain.select(range(2))) == "Domain(a0[2], a1[2])"


def test_a_domain_survives_json():
    edges = (-float("inf"), 0.5, float("inf"))
    domain = Domain([Attribute("age", ("young", "old"), edges), Attribute("b", ("x",))])
    assert domain.to_dicts()[0]["edges"] == ["-inf", 0.5, "inf"]
    assert Domain.from_dicts(domain.to_dicts()) == domain
