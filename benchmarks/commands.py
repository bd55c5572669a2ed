"""How long a user waits for the first answers of the command line."""

import subprocess
import sys
from collections.abc import Callable

from benchmarks import Figure, best_of, seconds

SCRIPT = "import sys; from seepage.cli import main; main(sys.argv[1:])"
LIMITS = {"--help": 0.3, "analyse adult": 1.0}


def main() -> list[Figure]:
    """Time whole processes, warm, best of five."""
    times = best_of({words: _call(words) for words in LIMITS})
    return [
        Figure(
            f"seepage {words}",
            seconds(times[words]),
            target=f"under {limit:g} s",
            met=times[words] < limit,
        )
        for words, limit in LIMITS.items()
    ]


def _call(words: str) -> Callable[[], object]:
    command = [sys.executable, "-c", SCRIPT, *words.split()]
    return lambda: subprocess.run(command, check=True, capture_output=True)
