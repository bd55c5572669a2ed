"""The report: an analysis as one self-contained page that opens anywhere.

The page is a view: everything on it is computed from the analysis, which `Analysis.save` or
`seepage analyse --format json` saves and `seepage report` draws later.
"""
