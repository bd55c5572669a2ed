"""Texts in lists and mappings of options, which may contain themselves."""

from seepage._core.nested_texts import nested_texts


def test_texts_at_every_depth_that_options_have():
    by_column = {"bins": {"age": ["a", ("b", 3)]}, "x": None}
    assert set(nested_texts(by_column)) == {"bins", "x", "age", "a", "b"}


def test_what_contains_itself_ends():
    listed = ["a"]
    listed.append(listed)
    assert set(nested_texts(listed)) == {"a"}
    mapping = {"a": "b"}
    mapping["c"] = mapping
    assert set(nested_texts(mapping)) == {"a", "b", "c"}


def test_an_endless_range_has_no_texts():
    assert list(nested_texts(range(10**12))) == []
