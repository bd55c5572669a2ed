"""The worked example of docs/analysis.md, from design to regression, on the real
table.
"""

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
        exec(compile(block, str(PAGE), "exec"), names)
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
    printed = capsys.readouterr().out
    page = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```", page, re.M | re.S)[1]
    assert set(shown.splitlines()) <= set(printed.splitlines())
    assert f"# {names['table']}" in page
    women, men = (_percent(names[name]) for name in ("women", "men"))
    low, high = names["odds"].interval
    odds = f"{names['odds'].value:.1f} ({low:.1f} to {high:.1f})"
    assert f"gives {women[0]} of the women {women[1]}, {men[0]} of the men" in page
    assert f"{men[1]}, and an odds ratio of {odds}; in the table itself" in page


def _percent(share):
    """Return a share and its interval as the page writes them."""
    low, high = share.interval
    return f"{share.value:.1%}".replace("%", " %"), (
        f"({100 * low:.1f} to {100 * high:.1f} %)"
    )
