"""The registry: every table and figure of the paper that is reproduced, in its order."""

from collections.abc import Callable
from dataclasses import dataclass

from seepage.study.reproduction import (
    beyond,
    example,
    fig4_budgets,
    fig4_sizes,
    fig4_sources,
    fig5_metrics,
    fig6_analysers,
    fig7_mechanisms,
    fig8_calibration,
    observations,
    table_one,
    table_two,
)
from seepage.study.reproduction.findings import Finding
from seepage.study.reproduction.paper_data import STAND_INS, Data

__all__ = ["ITEMS", "Item"]

ALL = ("celeba", "adult", "cardio", *STAND_INS)


@dataclass(frozen=True)
class Item:
    """A table or figure, or a group of statements, and how it is found.

    Parameters
    ----------
    name
        The name on the command line and of the item's files.
    place
        Where it is in the paper.
    title
        What it shows, in a few words.
    data
        The datasets that it uses, where they are at hand.
    find
        Makes it.
    """

    name: str
    place: str
    title: str
    data: tuple[str, ...]
    find: Callable[[Data], Finding]


ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        Item(
            "fig4a",
            "Fig. 4a",
            "What occupation, education and income tell about sex, by mechanism",
            ("adult",),
            fig4_sources.find,
        ),
        Item(
            "fig4b",
            "Fig. 4b",
            "What beard, necklace and smile tell about sex, over budgets",
            ("celeba",),
            fig4_budgets.find,
        ),
        Item(
            "fig4c",
            "Fig. 4c",
            "Leakage between seven attributes of CVD",
            ("cardio",),
            fig4_sizes.find_heat_map,
        ),
        Item("fig4d", "Fig. 4d", "How large leakages are", ALL, fig4_sizes.find_histogram),
        Item("fig5", "Fig. 5", "Conventional measures against leakage", ALL, fig5_metrics.find),
        Item(
            "example",
            "Appendix",
            "The largest leakage at a weak correlation: the 4 x 4 example",
            (),
            example.find,
        ),
        Item("table1", "Table I", "Estimates against Algorithm 1", ALL, table_one.find),
        Item("table2", "Table II", "Estimates against Algorithm 2", ALL, table_two.find),
        Item("fig6", "Fig. 6 b-e", "Analysers against a reference", ALL, fig6_analysers.find),
        Item("fig7", "Fig. 7", "Utility against leakage of mechanisms", ALL, fig7_mechanisms.find),
        Item(
            "fig8",
            "Fig. 8",
            "Budgets calibrated with CelebA's and with LFW's distribution",
            ("celeba", "lfw", "lfw-scores"),
            fig8_calibration.find,
        ),
        Item("observations", "OB1-OB3", "The three observations, measured", ALL, observations.find),
        Item(
            "beyond",
            "Ours",
            "Where the sum is exceeded, the whole report, the certified delta",
            ("celeba", "adult"),
            beyond.find,
        ),
    )
}
"""Every item by its name."""
