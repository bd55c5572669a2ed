"""Privacy leakage through correlated attributes under local differential privacy.

The public names are loaded when first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seepage._version import __version__ as __version__

if TYPE_CHECKING:
    from seepage.charts import save_chart as save_chart
    from seepage.data.channel import Channel as Channel
    from seepage.data.counting import count_pairs as count_pairs
    from seepage.data.counting.accumulator import merge_pairs as merge_pairs
    from seepage.data.datasets import dataset as dataset
    from seepage.data.datasets import load_pairs as load_pairs
    from seepage.data.datasets import make_survey as make_survey
    from seepage.data.domain import Attribute as Attribute
    from seepage.data.domain import Domain as Domain
    from seepage.data.pairs import PairCounts as PairCounts
    from seepage.data.pairs_file import save_pairs as save_pairs
    from seepage.data.records import Records as Records
    from seepage.designs.calibration import Calibration as Calibration
    from seepage.designs.calibration import compare_strategies as compare_strategies
    from seepage.designs.calibration import find_budgets as find_budgets
    from seepage.errors import ChannelError as ChannelError
    from seepage.errors import DomainError as DomainError
    from seepage.errors import InputError as InputError
    from seepage.errors import SeepageError as SeepageError
    from seepage.errors import TableError as TableError
    from seepage.leakage import LeakageCurve as LeakageCurve
    from seepage.leakage import LeakageMatrix as LeakageMatrix
    from seepage.leakage import epsilon_for_leakage as epsilon_for_leakage
    from seepage.leakage import exact_leakage as exact_leakage
    from seepage.leakage import leakage_bound as leakage_bound
    from seepage.leakage import leakage_curve as leakage_curve
    from seepage.leakage import leakage_matrix as leakage_matrix
    from seepage.leakage.evidence import Leakage as Leakage
    from seepage.leakage.evidence import Witness as Witness
    from seepage.mechanisms import BLH as BLH
    from seepage.mechanisms import GRR as GRR
    from seepage.mechanisms import OLH as OLH
    from seepage.mechanisms import OUE as OUE
    from seepage.mechanisms import RAPPOR as RAPPOR
    from seepage.mechanisms import SHE as SHE
    from seepage.mechanisms import ApproximateGRR as ApproximateGRR
    from seepage.mechanisms import ApproximateSUE as ApproximateSUE
    from seepage.mechanisms import BasicRAPPOR as BasicRAPPOR
    from seepage.mechanisms import Estimate as Estimate
    from seepage.mechanisms import Exponential as Exponential
    from seepage.mechanisms import Gaussian as Gaussian
    from seepage.mechanisms import Mechanism as Mechanism
    from seepage.mechanisms import Reports as Reports
    from seepage.mechanisms import SubsetSelection as SubsetSelection
    from seepage.mechanisms import UtilityExponential as UtilityExponential
    from seepage.mechanisms import load_reports as load_reports
    from seepage.mechanisms import mechanism as mechanism
    from seepage.mechanisms import register as register
    from seepage.mechanisms import registered as registered
    from seepage.plan import Plan as Plan
    from seepage.plan.calibrate import calibrate as calibrate
    from seepage.study.baselines import register_analyser as register_analyser
    from seepage.study.benchmark_analysers import benchmark_analysers as benchmark_analysers
    from seepage.study.benchmark_mechanisms import benchmark_mechanisms as benchmark_mechanisms
    from seepage.study.correlation import correlation_matrix as correlation_matrix
    from seepage.study.statistical import LeakageEstimate as LeakageEstimate
    from seepage.study.statistical import LeakageEstimates as LeakageEstimates
    from seepage.study.statistical import estimate_leakage as estimate_leakage
    from seepage.totals import TotalLeakage as TotalLeakage
    from seepage.totals import compare_totals as compare_totals
    from seepage.totals import stream_leakage as stream_leakage
    from seepage.totals import total_leakage as total_leakage

_HOMES = {
    "ApproximateGRR": "mechanisms",
    "ApproximateSUE": "mechanisms",
    "Attribute": "data.domain",
    "BLH": "mechanisms",
    "BasicRAPPOR": "mechanisms",
    "Calibration": "designs.calibration",
    "Channel": "data.channel",
    "ChannelError": "errors",
    "Domain": "data.domain",
    "DomainError": "errors",
    "Estimate": "mechanisms",
    "Exponential": "mechanisms",
    "GRR": "mechanisms",
    "Gaussian": "mechanisms",
    "InputError": "errors",
    "Leakage": "leakage.evidence",
    "LeakageCurve": "leakage",
    "LeakageEstimate": "study.statistical",
    "LeakageEstimates": "study.statistical",
    "LeakageMatrix": "leakage",
    "Mechanism": "mechanisms",
    "OLH": "mechanisms",
    "OUE": "mechanisms",
    "PairCounts": "data.pairs",
    "Plan": "plan",
    "RAPPOR": "mechanisms",
    "Reports": "mechanisms",
    "SHE": "mechanisms",
    "SeepageError": "errors",
    "SubsetSelection": "mechanisms",
    "TableError": "errors",
    "TotalLeakage": "totals",
    "Records": "data.records",
    "UtilityExponential": "mechanisms",
    "Witness": "leakage.evidence",
    "benchmark_analysers": "study.benchmark_analysers",
    "benchmark_mechanisms": "study.benchmark_mechanisms",
    "calibrate": "plan.calibrate",
    "compare_strategies": "designs.calibration",
    "compare_totals": "totals",
    "correlation_matrix": "study.correlation",
    "count_pairs": "data.counting",
    "dataset": "data.datasets",
    "epsilon_for_leakage": "leakage",
    "estimate_leakage": "study.statistical",
    "exact_leakage": "leakage",
    "find_budgets": "designs.calibration",
    "leakage_bound": "leakage",
    "leakage_curve": "leakage",
    "leakage_matrix": "leakage",
    "load_pairs": "data.datasets",
    "load_reports": "mechanisms",
    "make_survey": "data.datasets",
    "mechanism": "mechanisms",
    "merge_pairs": "data.counting.accumulator",
    "register": "mechanisms",
    "register_analyser": "study.baselines",
    "registered": "mechanisms",
    "save_chart": "charts",
    "save_pairs": "data.pairs_file",
    "stream_leakage": "totals",
    "total_leakage": "totals",
}
"""The module of each public name."""

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seepage' has no attribute {name!r}")
    value = getattr(import_module(f"seepage.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
