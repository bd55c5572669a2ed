"""Settings for every test; that this file is here makes `oracles` and `strategies` importable.

Examples are the same in every run, so that a red run means a change; `HYPOTHESIS_PROFILE=explore`
draws new ones.
"""

import os

from hypothesis import settings

collect_ignore_glob = ["*/conftest.py"]
"""No doctests in fixtures: pytest cannot collect two modules of one name."""

settings.register_profile("seepage", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "seepage"))
