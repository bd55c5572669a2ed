"""The searches behind `design` and `calibrate`: what they find before it becomes a
plan.
"""

import numpy as np

from seepage.calibration.calibration import calibrated
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.designs.design_options import DesignOptions
from seepage.designs.design_search import designed


def find_design(data, limit, **options):
    """Return the design of `sp.design`, with its errors."""
    return designed(data, DesignOptions(limit=limit, **options))


def find_budgets(data, limit, **options):
    """Return the budgets of `sp.calibrate`, with their totals."""
    return calibrated(data, CalibrationOptions(limit=limit, **options))


def totals(design):
    """Return the largest total of each attribute over all forms."""
    return np.max([form.total_values for form in design.forms], axis=0)


def record(design):
    """Return the largest leakage of a form about the whole record."""
    return max(form.record for form in design.forms)
