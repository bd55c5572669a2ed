"""What every other package builds on: errors, argument checks, rounding, results,
files.
"""
