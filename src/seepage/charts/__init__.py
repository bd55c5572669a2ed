"""Every chart, as an Altair object made from rows of plain numbers and names.

Charts know nothing of the results that they draw: a result passes its rows, so this layer stands
above all that compute.
"""
