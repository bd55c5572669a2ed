"""The parts of the statistical method: simulated collections, intervals, surrogates, results."""
