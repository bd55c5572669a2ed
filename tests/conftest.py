"""Settings for every test; that this file is here makes `oracles` and `strategies` importable."""

from hypothesis import settings

settings.register_profile("seepage", deadline=None)
settings.load_profile("seepage")
