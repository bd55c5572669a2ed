"""The report: a saved analysis as one self-contained page that opens anywhere.

The page is a view: everything on it is computed from the result, which `Analysis.save` or `seepage
analyse --format json` saves and `seepage report` draws later.
"""

from seepage.report.page import report_page, write_report
from seepage.report.saved_result import pairs_of, read_result

__all__ = ["pairs_of", "read_result", "report_page", "write_report"]
