"""Panels of Fig. 6: marks that lie on each other are one mark that names them."""

from reproduction.fig6_analysers import _marks_in_one_place_joined


def _score(data, undershoot, epsilon=1.0):
    return {
        "analyser": "ITS",
        "data": data,
        "epsilon": epsilon,
        "undershoot": undershoot,
        "overshoot": 0.0,
    }


def test_datasets_with_the_same_scores_share_a_mark():
    rows = [_score("Adult", 0.0), _score("CVD", 1e-9), _score("CelebA", 0.1)]
    joined = _marks_in_one_place_joined(rows)
    assert [row["data"] for row in joined] == ["Adult and CVD", "CelebA"]


def test_many_datasets_are_counted():
    rows = [_score(data, 0.0) for data in ("Adult", "CVD", "CelebA")]
    [joined] = _marks_in_one_place_joined(rows)
    assert joined["data"] == "3 datasets"


def test_scores_at_different_budgets_stay_apart():
    rows = [_score("Adult", 0.0), _score("Adult", 0.0, epsilon=3.0)]
    assert _marks_in_one_place_joined(rows) == rows
