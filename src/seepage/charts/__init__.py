"""Every chart, as an Altair object made from plain numbers and names.

Charts know nothing of the results they draw: a result hands them its rows, so this layer sits
above all that compute.
"""

from seepage.charts.style import save_chart

__all__ = ["save_chart"]
