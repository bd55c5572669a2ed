"""PySpark's daemon, with workers that do not search all of their modules for garbage.

PySpark's collects garbage after each task: 40 ms with its modules loaded, several times
as long as a small task.
"""

import gc
from types import SimpleNamespace

from pyspark import daemon

if __name__ == "__main__":
    daemon.gc = SimpleNamespace(collect=gc.freeze)
    daemon.manager()
