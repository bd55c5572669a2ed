"""Attack the package with generated tables, damaged files, junk arguments and odd
options.

Every case is drawn from its seed, so `--seed S --cases 1` repeats one.  Cases run in
processes of their own: a crash or a hang is found too.  What must hold:

* tables: the counts of a generated table equal those of an independent oracle
  (`collections`), whichever file format or frame it comes in;
* damage: a file of which bytes were changed or cut off is counted right or raises one
  clear line;
* junk: a public callable with junk for an argument returns, or raises a SeepageError;
* options: a command with odd option values ends with exit code 0 or 2 and at most one
  line;
* designs: every total that a form of a design states, asked or not, and every ratio of
  a shaped mechanism, is at least the one computed in exact fractions from the integers
  that are drawn;
* domains: limits and totals for a population of many rare values hold in closed form,
  however the answers were chosen by looking at a sample, and everybody can answer;
* plans: a plan file or a file of reports with a field changed raises one clear line, or
  gives back a plan or estimates that say the same;
* codes: a record has one code where it certifies, where it is perturbed, in a file of
  texts, and in the clients in Python and JavaScript, whatever its type and whether
  anybody had seen it;
* forgeries: a plan whose digest fits does not load with totals that its own forms
  refute for every distribution, and shows what it takes as known;
* audits: two reports that an adversary can tell apart are never counted as one, and a
  module that ends early has no verdict;
* receivers: beside hostile senders an honest one is acknowledged, and what was
  acknowledged is stored as it was sent, also after a restart.
"""

import argparse
import collections
import contextlib
import csv
import gzip
import importlib
import io
import itertools
import json
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz_audits import audits
from fuzz_codes import codes
from fuzz_designs import designs, domains, draw_records
from fuzz_forgeries import forgeries
from fuzz_receivers import receivers

CASE_SECONDS = 60
BATCH = 20
TEXTS = (
    "a",
    "B",
    "p q",
    "p  q",
    " lead",
    "trail ",
    'say "hi"',
    "semi;colon",
    "com,ma",
    "tab\tin",
    "line\nbreak",
    "Ünïcödé",
    "日本",
    "\u202eevil",
    "<b>&amp;",
    "=1+1",
    "constructor",
    "-",
    "NaN?",
    "true?",
)
Rows = list[list[str | None]]


class FuzzError(AssertionError):
    """Something that must hold does not."""


def draw_table(rng: random.Random) -> tuple[list[str], Rows]:
    """Return names and rows of texts, some of them missing."""
    width = rng.randint(1, 5)
    height = rng.randint(1, 60)
    names = rng.sample(
        ["sex", "a b", "x,y", "naïve", "constructor", 'quo"te', "__proto__"], width
    )
    alphabets = [rng.sample(TEXTS, rng.randint(1, 6)) for _ in names]
    holes = rng.random() * 0.3 if rng.random() < 0.5 else 0.0
    rows: Rows = [
        [
            None if rng.random() < holes else rng.choice(alphabet)
            for alphabet in alphabets
        ]
        for _ in range(height)
    ]
    return names, rows


def oracle(
    names: list[str], rows: Rows
) -> dict[tuple[str, str], collections.Counter[Any]]:
    """Return how often each two values of each two columns occur together, by plain
    counting.
    """
    filled = [["(missing)" if cell is None else cell for cell in row] for row in rows]
    return {
        (names[i], names[j]): collections.Counter((row[i], row[j]) for row in filled)
        for i, j in itertools.combinations(range(len(names)), 2)
    }


def check_counts(pairs: Any, names: list[str], rows: Rows) -> None:
    """Raise if pair counts differ from the oracle's."""
    if pairs.records != len(rows):
        raise FuzzError(f"{pairs.records} records counted of {len(rows)}")
    for (first, second), truth in oracle(names, rows).items():
        table = pairs.table(first, second)
        found = {
            (a, b): int(table[i, j])
            for i, a in enumerate(pairs.domain[first].values)
            for j, b in enumerate(pairs.domain[second].values)
            if table[i, j]
        }
        if found != dict(truth):
            raise FuzzError(
                f"{first!r} x {second!r}: counted {found}, must be {dict(truth)}"
            )


def as_text(
    rng: random.Random, names: list[str], rows: Rows, path: Path
) -> dict[str, Any]:
    """Write a delimited text file; return the options that it must be read with."""
    mark = rng.choice([",", ";", "\t", "|", " "])
    quoted = mark == " " or rng.random() < 0.5
    text = io.StringIO(newline="")
    dialect: Any = {"quoting": csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL}
    writer = csv.writer(text, delimiter=mark, lineterminator="\n", **dialect)
    writer.writerow(names)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return {"delimiter": mark}


def as_arrow(names: list[str], rows: Rows) -> Any:
    """Return a PyArrow table of texts."""
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.table(
        {n: pa.array(list(c), pa.string()) for n, c in zip(names, columns, strict=True)}
    )


def tables(rng: random.Random, folder: Path) -> None:
    """Count a generated table in one of its forms."""
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    import seepage as sp

    names, rows = draw_table(rng)
    form = rng.choice(
        ["csv", "csv.gz", "parquet", "feather", "arrow", "pandas", "polars"]
    )
    path = folder / f"t.{form}"
    options = dict[str, Any]()
    data: Any = path
    if form.startswith("csv"):
        if any(row == [None] for row in rows):
            return  # a blank line of a file with one column
        options = as_text(rng, names, rows, path)
        rows = [
            [cell and cell.strip(" ") for cell in row] for row in rows
        ]  # as documented
    elif form == "parquet":
        pq.write_table(as_arrow(names, rows), path)
    elif form == "feather":
        feather.write_feather(as_arrow(names, rows), path)
    else:
        data = as_arrow(names, rows)
        if form == "pandas":
            data = data.to_pandas()
        elif form == "polars":
            data = __import__("polars").from_arrow(data)
    check_counts(sp.count_pairs(data, **options), names, rows)


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return content with some bytes changed, cut off or put in."""
    how = rng.randrange(3)
    at = rng.randrange(len(content))
    if how == 0:
        return content[:at]
    if how == 1:
        return content[:at] + rng.randbytes(rng.randint(1, 40)) + content[at:]
    changed = bytearray(content)
    for place in rng.choices(range(len(content)), k=rng.randint(1, 8)):
        changed[place] ^= 1 << rng.randrange(8)
    return bytes(changed)


def damage(rng: random.Random, folder: Path) -> None:
    """Read a damaged file with the command line; Parquet has checksums, so counts must
    be right.
    """
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    import seepage as sp

    names, rows = draw_table(rng)
    table = as_arrow(names, rows)
    form = rng.choice(["csv", "parquet", "feather", "pairs", "json"])
    path = folder / f"t.{form}"
    if form == "csv":
        as_text(rng, names, rows, path)
    elif form == "parquet":
        pq.write_table(table, path, write_page_checksum=True)
    elif form == "feather":
        feather.write_feather(table, path)
    elif form == "pairs":
        sp.count_pairs(table).save(path)
    else:
        plan = sp.calibrate(table, 2.0, mechanism="grr", scope="table", keep=names)
        plan.save(path)
    path.write_bytes(damaged(rng, path.read_bytes()))
    if form == "json":
        good = folder / "good.parquet"
        pq.write_table(table, good)
        command = [
            "perturb",
            str(good),
            "--plan",
            str(path),
            "-o",
            str(folder / "r.parquet"),
        ]
        run_command(command)
        return
    counted = folder / "counted.pairs"
    code = run_command(["count", str(path), "-o", str(counted)])
    if code == 0 and form in ("parquet", "pairs"):
        check_counts(sp.load_pairs(counted), names, rows)
    if code != 0 and counted.exists():
        raise FuzzError("a command that failed left its output behind")


def run_command(arguments: list[str]) -> int:
    """Run a command; raise unless it ends with 0 or 2 and at most one line of
    complaint.
    """
    from seepage.cli import main

    out = io.StringIO()
    err = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    complaint = err.getvalue()
    if code not in (0, 2) or (code == 2 and complaint.count("\n") != 1):
        raise FuzzError(f"exit {code} of {arguments}: {complaint[:500]!r}")
    return code


def junk(rng: random.Random, _: Path) -> None:
    """Call a public callable with junk for some of its arguments."""
    importlib.import_module("junk_arguments").call_with_junk(rng)


ODD = (
    "",
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "x",
    "\x1b[2J",
    "9" * 400,
    "a=b",
    "=",
    "*",
)


def options(rng: random.Random, folder: Path) -> None:
    """Run a command on a small table with odd values for some of its options."""
    import click

    from seepage.cli import COMMANDS, group

    names, rows = draw_table(rng)
    data = folder / "t.csv"
    as_text(rng, names, rows, data)
    # the app serves until it is stopped
    name = rng.choice(sorted(set(COMMANDS) - {"datasets", "benchmark", "open"}))
    command = group.get_command(click.Context(group), name)
    assert command is not None
    arguments = [name, str(data)]
    for option in rng.sample(command.params, k=min(3, len(command.params))):
        if not isinstance(option, click.Option) or option.name in ("master", "engine"):
            continue
        arguments.append(option.opts[-1])
        if not option.is_flag:
            harmless = (
                str(folder / "out.svg")
                if "output" in str(option.type).lower()
                else None
            )
            arguments.append(harmless or rng.choice(ODD))
    run_command(arguments)


def plans(rng: random.Random, folder: Path) -> None:
    """Change a field of a plan file, or a line of a file of reports, and use it."""
    import seepage as sp

    try:
        plan = sp.design(
            draw_records(rng)[0], 2.0, scope="table", seconds=0.2, largest=2
        )
    except sp.InputError:
        return  # nothing varies
    good = folder / "good.json"
    bad = folder / "bad.json"
    plan.save(good)
    content = json.loads(good.read_text())
    place: Any = content
    while isinstance(place, dict | list) and place:
        parent = place
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place = place[key]
        if rng.random() < 0.15:
            break
    before = parent[key]
    parent[key] = rng.choice(
        [None, -1, 0, 1e300, "x", "0", [], {}, str(2**64), True, "inf"]
    )
    bad.write_text(json.dumps(content))
    code = run_command(["client", str(bad), "-o", str(folder / "client")])
    if code == 0 and sp.Plan.load(bad).digest != plan.digest:
        raise FuzzError(
            f"a plan whose {key!r} was {before!r} and is {parent[key]!r} is accepted"
        )
    if code != 0 and (folder / "client").exists():
        raise FuzzError("a command that failed left its output behind")


KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    "tables": tables,
    "damage": damage,
    "junk": junk,
    "options": options,
    "designs": designs,
    "domains": domains,
    "plans": plans,
    "codes": codes,
    "forgeries": forgeries,
    "audits": audits,
    "receivers": receivers,
}


def run_cases(kind: str, seeds: list[int], queue: Any) -> None:
    """Run cases in this process, and put what is wrong with each into a queue."""
    from seepage._core.errors import SeepageWarning

    warnings.simplefilter("error")
    warnings.simplefilter("ignore", SeepageWarning)
    for seed in seeds:
        queue.put((seed, None))
        try:
            with tempfile.TemporaryDirectory() as folder:
                KINDS[kind](random.Random(f"{kind} {seed}"), Path(folder))
        except BaseException:
            queue.put((seed, traceback.format_exc(limit=-6)))


def attack(kind: str, seeds: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the seeds of the cases that fail, each with what went wrong."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=run_cases, args=(kind, seeds, queue))
    process.start()
    process.join(CASE_SECONDS + 2 * len(seeds))
    hangs = process.is_alive()
    if hangs:
        process.kill()
        process.join()
    last = seeds[0]
    while not queue.empty():
        last, problem = queue.get()
        if problem is not None:
            yield last, problem
    if hangs or process.exitcode != 0:
        yield last, "hangs" if hangs else f"the process ended with {process.exitcode}"


def main() -> None:
    """Attack until the time is over; exit with 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--cases", type=int, help="this many cases of each kind, however long"
    )
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    kinds = [given.kind] if given.kind else list(KINDS)
    found = 0
    tried = 0
    end = time.monotonic() + given.seconds
    for start in itertools.count(given.seed, BATCH):
        left = BATCH if given.cases is None else given.seed + given.cases - start
        if left <= 0 or (given.cases is None and time.monotonic() > end):
            break
        for kind in kinds:
            seeds = list(range(start, start + min(BATCH, left)))
            tried += len(seeds)
            for seed, problem in attack(kind, seeds):
                found += 1
                print(f"--- {kind}, seed {seed}\n{problem}")
    print(f"{tried:,} cases, {found:,} faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
