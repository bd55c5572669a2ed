"""Masks of public, left-out and known attributes."""

import pytest

import seepage as sp
from seepage.calibration.attribute_roles import attribute_roles

DOMAIN = sp.Domain([sp.Attribute(name, ("0", "1")) for name in "abcd"])


def test_each_role_has_its_mask():
    roles = attribute_roles(DOMAIN, public=["b"], left_out=["d"], known=["a", "d"])
    assert roles.public.tolist() == [False, True, False, False]
    assert roles.left_out.tolist() == [False, False, False, True]
    assert roles.known.tolist() == [True, False, False, True]
    assert roles.collected.tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("others", "role"),
    [({"left_out": ["b"]}, "left out"), ({"left_out": [], "known": ["b"]}, "known")],
)
def test_a_public_attribute_has_no_other_role(others, role):
    with pytest.raises(sp.InputError, match=f"'b' cannot be both public and {role}"):
        attribute_roles(DOMAIN, public=["a", "b"], **others)
