"""Analyses to make report pages of, and what a browser spends on them."""

import numpy as np
import pyarrow as pa

import seepage as sp

PAINTED = """() => new Promise((resolve) => new PerformanceObserver((seen) =>
  seen.getEntriesByName("first-contentful-paint").length && resolve())
  .observe({type: "paint", buffered: true}))"""


def analysed(pairs, epsilon=1.0, mechanism=None, view="report", **more):
    """Return an analysis of pair counts with the totals that these allow."""
    return sp.analyse(pairs, epsilon, mechanism=mechanism, view=view, **more)


def synthetic(attributes, values, records=2000, seed=0, names=None):
    """Return the pair counts of a table in which groups of six attributes follow one
    cause.
    """
    generator = np.random.default_rng(seed)
    causes = generator.integers(0, 4, (records, max(1, attributes // 6)))
    columns = {}
    for j in range(attributes):
        follows = (causes[:, j % causes.shape[1]] * 7 + j) % values
        noise = generator.integers(0, values, records)
        kept = generator.random(records) < generator.uniform(0.1, 0.9)
        name = names[j] if names else f"attribute {j + 1}"
        codes = np.where(kept, follows, noise)
        columns[name] = np.array(
            [f"{name} value {v}" for v in range(values)], dtype=object
        )[codes]
    table = {name: pa.array(list(column)) for name, column in columns.items()}
    return sp.count_pairs(pa.table(table))


class ProcessorClock:
    """CPU time of a page's main thread, to which a busy machine does not add.

    Chromium counts from where the document was committed: start before the page is
    opened.
    """

    def start(self, page):
        self._page = page
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self):
        metrics = self._tools.send("Performance.getMetrics")["metrics"]
        return next(
            metric["value"] for metric in metrics if metric["name"] == "ThreadTime"
        )

    def seconds_until_painted(self):
        """Return what the page took from its first byte until its content is shown."""
        self._page.evaluate(PAINTED)
        return self.seconds()
