"""The worked example of docs/analysis.md, from design to regression, on the real table."""

import re
from pathlib import Path

from real_data import real_data

PAGE = Path(__file__).parents[1] / "docs" / "analysis.md"


@real_data
def test_the_worked_example_runs_and_finds_the_truth(capsys):
    names = {}
    for block in re.findall(
        r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    ):
        exec(
            compile(
                block.replace('perturb("adult")', 'perturb("adult", rng=1)'),
                str(PAGE),
                "exec",
            ),
            names,
        )
    for name, truth in (
        ("women", 0.1093),
        ("men", 0.3038),
        ("gap", 0.1945),
        ("odds", 3.556),
    ):
        found = names[name]
        assert abs(found.value - truth) < 4 * found.standard_error, name
    assert names["independent"].p_value < 1e-6
    assert 0.8 < names["male"].value < 1.6
    low, high = names["likely"].intervals[0]
    assert 0.3 < low < high < 0.5
    assert names["table"].equivalent_people < names["table"].records
    assert "sex[T.Male]" in capsys.readouterr().out
