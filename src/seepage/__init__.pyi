# The public names and their modules, which are loaded when first used.
# isort: skip_file

# The paper: tables, leakage, mechanisms, totals, benchmarks
from .tables.check import check as check
from .tables.data_check import ColumnCheck as ColumnCheck
from .tables.data_check import DataCheck as DataCheck
from .tables.read import read as read
from .tables.opened_table import OpenTable as OpenTable
from .tables.read import count_pairs as count_pairs
from .tables.table_options import TableKeywords as TableKeywords
from .channel.merging import merge_pairs as merge_pairs
from .datasets.catalogue import dataset as dataset
from .datasets.catalogue import load_pairs as load_pairs
from .datasets.survey import make_survey as make_survey
from .channel.domain import Attribute as Attribute
from .channel.domain import Domain as Domain
from .channel.channel import Channel as Channel
from .channel.pairs import PairCounts as PairCounts
from .channel.records import Records as Records
from .leakage.exact_leakage import exact_leakage as exact_leakage
from .leakage.bound import leakage_bound as leakage_bound
from .leakage.curve import leakage_curve as leakage_curve
from .leakage.curve import epsilon_for_leakage as epsilon_for_leakage
from .leakage.matrix import leakage_matrix as leakage_matrix
from .analysis.analyse import analyse as analyse
from .analysis.analysis import Analysis as Analysis
from .analysis.table_comparison import compare_tables as compare_tables
from .analysis.table_comparison import TableComparison as TableComparison
from .analysis.verdict import Verdict as Verdict
from .leakage.pair_leak import Leak as Leak
from .leakage.leakage import Leakage as Leakage
from .leakage.curve import LeakageCurve as LeakageCurve
from .confidence.leakage_intervals import LeakageIntervals as LeakageIntervals
from .leakage.matrix import LeakageMatrix as LeakageMatrix
from .leakage.leakage_profile import LeakageProfile as LeakageProfile
from .leakage.leakage import Witness as Witness
from .mechanisms.mechanism_registry import mechanism as mechanism
from .mechanisms.mechanism_registry import register as register
from .mechanisms.mechanism_registry import registered as registered
from .mechanisms.contract_check import check_mechanism as check_mechanism
from .mechanisms.base import Estimate as Estimate
from .mechanisms.base import Mechanism as Mechanism
from .mechanisms.reports import Reports as Reports
from .mechanisms.direct import GRR as GRR
from .mechanisms.unary import OUE as OUE
from .mechanisms.unary import RAPPOR as RAPPOR
from .mechanisms.histogram import SHE as SHE
from .mechanisms.hashing import BLH as BLH
from .mechanisms.hashing import OLH as OLH
from .mechanisms.direct import Exponential as Exponential
from .mechanisms.subset_selection import SubsetSelection as SubsetSelection
from .mechanisms.hadamard import HadamardResponse as HadamardResponse
from .mechanisms.gaussian import Gaussian as Gaussian
from .mechanisms.direct import ApproximateGRR as ApproximateGRR
from .mechanisms.unary import ApproximateSUE as ApproximateSUE
from .mechanisms.rappor import BasicRAPPOR as BasicRAPPOR
from .mechanisms.transition_matrix import MatrixMechanism as MatrixMechanism
from .mechanisms.two_level import SetMechanism as SetMechanism
from .mechanisms.two_level import TwoLevelMechanism as TwoLevelMechanism
from .totals.total import total_leakage as total_leakage
from .totals.stream import stream_leakage as stream_leakage
from .totals.total_result import TotalLeakage as TotalLeakage
from .totals.experienced_loss import Experience as Experience
from .benchmarks.statistical.estimate_leakage import (
    estimate_leakage as estimate_leakage,
)
from .benchmarks.correlation import correlation_matrix as correlation_matrix
from .benchmarks.analyser_benchmark import benchmark_analysers as benchmark_analysers
from .benchmarks.mechanism_benchmark import benchmark_mechanisms as benchmark_mechanisms
from .benchmarks.analyser_registry import register_analyser as register_analyser
from .benchmarks.correlation import CorrelationMatrix as CorrelationMatrix
from .benchmarks.statistical.estimates import LeakageEstimate as LeakageEstimate
from .benchmarks.statistical.estimates import LeakageEstimates as LeakageEstimates

# Design: from limits to a plan
from .workflow.within_limits import calibrate as calibrate
from .workflow.within_limits import design as design
from .workflow.limit_comparison import compare_limits as compare_limits
from .workflow.limit_comparison import LimitComparison as LimitComparison
from .workflow.plan import Plan as Plan
from .plan.plan_check import PlanCheck as PlanCheck

# Collect: reports, and what they say
from .collection.regress import regress as regress
from .collection.weights import rake_weights as rake_weights
from .pages.results_page import write_results as write_results
from .charts.chart_files import save_chart as save_chart
from .app.receiver import Receiver as Receiver
from .app.open_app import open as open
from .collection.estimated_cells import Estimated as Estimated
from .collection.regression_result import Regression as Regression
from .collection.estimated_table import Table as Table

# Audit: somebody else's randomiser; and what is raised
from .auditing.audit import audit as audit
from .auditing.audit_result import Audit as Audit
from .mechanisms.published_randomiser import Randomiser as Randomiser
from ._core.errors import SeepageError as SeepageError
from ._core.errors import InputError as InputError
from ._core.errors import DomainError as DomainError
from ._core.errors import ChannelError as ChannelError
from ._core.errors import TableError as TableError
from ._core.errors import SeepageWarning as SeepageWarning
from ._core.errors import DataWarning as DataWarning

__version__: str
