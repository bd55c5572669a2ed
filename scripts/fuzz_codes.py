"""Whether a record has one code: where it certifies, is perturbed, and in both
clients.
"""

import contextlib
import datetime
import importlib
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

People = list[dict[str, Any]]
Codes = list[dict[str, int | None]]

WORDS = ("a", "B", " b", "007", "7.0", "1e3", "True", "no", "(other)", "*", "é", "p q")
OUTSIDE = (
    None,
    "zebra",
    "",
    "NaN",
    "(missing)",
    "1e400",
    "-0",
    " 7",
    "٧",
    "1_0",
    "0x1",
    "2020-01-02 03:04:05.60+0100",
    True,
    -1,
    3.5,
    10**6,
    math.inf,
)
"""Answers that a table of `draw_people` mostly does not have."""


def draw_column(rng: random.Random, height: int) -> list[Any]:
    """Return values of one type, some of them rare."""
    start = datetime.date(2020, 1, 1)
    kinds: list[Callable[[], Any]] = [
        lambda: rng.randrange(rng.choice([2, 9, 300])),
        lambda: -rng.randrange(5),
        lambda: round(rng.gauss(70, 12), 1),
        lambda: rng.random() * 10 ** rng.randrange(-6, 20),
        lambda: rng.random() < 0.3,
        lambda: rng.choice(WORDS),
        lambda: rng.choice(WORDS[:3]),
        lambda: str(rng.randrange(8)),
        lambda: str(rng.randrange(400)) if rng.random() < 0.9 else "refused",
        lambda: f"{rng.randrange(3)}-{rng.randrange(3, 6)}",
        lambda: start + datetime.timedelta(days=rng.randrange(4)),
        lambda: datetime.datetime(2020, 1, 1, rng.randrange(3), 30),
    ]
    value = rng.choice(kinds)
    return [value() for _ in range(height)]


def draw_people(rng: random.Random) -> Any:
    """Return a frame of columns of several types, some values missing."""
    import pandas as pd

    height = rng.choice([40, 300, 800])
    columns = dict[str, Any]()
    for index in range(rng.randint(1, 4)):
        values = draw_column(rng, height)
        share = rng.choice([0.0, 0.0, 0.02, 0.3])
        holes = [None if rng.random() < share else value for value in values]
        columns[f"a{index}"] = nullable(holes)
    return pd.DataFrame(columns)


def nullable(values: list[Any]) -> Any:
    """Return a column of pandas that keeps integers and booleans beside holes."""
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return pd.array(values, "Int64")
    if kinds == {bool}:
        return pd.array(values, "boolean")
    return pd.Series(values, dtype=None if kinds == {float} else object)


def draw_options(rng: random.Random, frame: Any) -> dict[str, Any]:
    """Return options of reading a table for a plan."""
    options = dict[str, Any]()
    if rng.random() < 0.6:
        options["answers"] = rng.choice(["merged", "as-is"])
    if rng.random() < 0.5:
        options["scope"] = "population"
        options["may_decline"] = rng.random() < 0.5
    if rng.random() < 0.3:
        options["pool"] = rng.choice([3, 20])
    if rng.random() < 0.3:
        options["bins"] = rng.choice(["none", 3, "width:4", "quantile:5"])
    if rng.random() < 0.3:
        shown = [value for value in frame.iloc[:, 0].tolist() if value is not None]
        if shown:
            options["missing_markers"] = {frame.columns[0]: [str(rng.choice(shown))]}
    options["max_values"] = 900
    return options


def raw_answer(value: Any) -> Any:
    """Return a value as a client gets it: text, a number, a boolean, or null."""
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, bool | int | float | str):
        return value
    return str(value)


def people_of(frame: Any) -> People:
    """Return the answers of each row."""
    columns = {name: frame[name].astype(object).tolist() for name in frame}
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(raw_answer, row), strict=True)) for row in rows]


def codes_of_table(frame: Any, plan: Any, options: Any) -> Codes:
    """Return the codes of rows as records certify, and as `Plan.perturb` reads them."""
    import numpy as np

    from seepage.collection.perturb_table import open_records
    from seepage.tables.scan import open_scan
    from seepage.tables.table_options import TableOptions

    markers = {
        name: texts
        for name, texts in options.get("missing_markers", {}).items()
        if name in plan.domain.names  # a column of which all is missing is not asked
    }
    certificate = TableOptions(domain=plan.domain, missing_markers=markers)
    scans = [open_scan(frame, certificate), open_records(frame, plan.domain)]
    found = list[Codes]()
    for scan in scans:
        batches = [batch.codes for batch in scan.batches()]
        columns = [
            np.concatenate(parts).tolist() for parts in zip(*batches, strict=True)
        ]
        rows = zip(*columns, strict=True)
        found.append([dict(zip(plan.domain.names, row, strict=True)) for row in rows])
    if found[0] != found[1]:
        raise AssertionError(f"certified as {found[0]}, perturbed as {found[1]}")
    return found[1]


@contextlib.contextmanager
def client_of() -> Iterator[Any]:
    """Run the client in a process of Node; None where there is no Node."""
    wires = importlib.import_module("wires")
    if wires.NODE is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        client = wires.Client(wires.install_client(Path(folder)))
        try:
            yield client
        finally:
            client.close()


def codes_of_clients(client: Any, plan: Any, people: People) -> Codes:
    """Return the codes of answers by the client in Python, which that in JavaScript
    must have too.
    """
    from seepage.collection.client_files import client_plan
    from seepage.collection.reference_client import answer_code

    attributes = {one["name"]: one for one in plan.wire["attributes"]}
    names = plan.domain.names
    found: Codes = [
        {name: answer_code(attributes[name], row[name]) for name in names}
        for row in people
    ]
    if client is None:
        return found
    sent = [
        {
            name: str(row[name]) if is_infinite(row[name]) else row[name]
            for name in names
        }
        for row in people
    ]
    drawn = client.run(do="codes", plan=client_plan(plan), people=sent)
    in_javascript = [{name: row[name] for name in names} for row in drawn]
    for answers, first, second in zip(people, found, in_javascript, strict=True):
        if first != second:
            raise AssertionError(
                f"{answers}: {first} in Python, {second} in JavaScript"
            )
    return found


def is_infinite(value: Any) -> bool:
    """Return whether a value is an infinite number, which JSON does not have."""
    return isinstance(value, float) and math.isinf(value)


def draw_strangers(rng: random.Random, plan: Any) -> Any:
    """Return people who answer what no record has, or what the plan lists, as text."""
    import pandas as pd

    answers = {
        attribute.name: [*OUTSIDE, *attribute.values] for attribute in plan.domain
    }
    rows = [
        {name: rng.choice(listed) for name, listed in answers.items()}
        for _ in range(12)
    ]
    return pd.DataFrame(rows, dtype=object)


def codes(rng: random.Random, folder: Path) -> None:
    """Compare the four codes of records, of people that were never seen, and of a
    file.
    """
    import seepage as sp
    from seepage.channel.records import Records

    frame = draw_people(rng)
    options = draw_options(rng, frame)
    try:
        records = Records.from_data(frame, **options)
        plan = sp.calibrate(records, 4.0, guarantee="worst", mechanism="grr")
    except sp.InputError:
        return  # nothing varies, or no answer is common enough
    frame = frame[list(plan.domain.names)]
    strangers = draw_strangers(rng, plan)
    path = folder / "people.csv"
    frame.to_csv(path, index=False)
    typed = fields_of(path)
    with client_of() as client:
        for table, source in [(frame, frame), (strangers, None), (typed, path)]:
            found = codes_of_clients(client, plan, people_of(table))
            if source is path and len(frame.columns) == 1:
                continue  # a blank line of a file with one column is no record
            check_tables(table, source, plan, options, found)
        check_fields(client, plan, options, strangers, folder)
    if records.origin.fixed is None:
        check_certified(records, codes_of_clients(None, plan, people_of(frame)))


def fields_of(path: Path) -> Any:
    """Return the fields of a text file, the empty ones missing."""
    import pandas as pd

    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])


def check_fields(
    client: Any, plan: Any, options: Any, strangers: Any, folder: Path
) -> None:
    """Raise unless a person's answers in a text file of one record have her code."""
    import seepage as sp

    for index in range(len(strangers)):
        path = folder / f"stranger{index}.csv"
        answers = strangers.iloc[[index]].copy()
        answers["number"] = index
        answers.to_csv(path, index=False)
        fields = fields_of(path)[list(plan.domain.names)]
        (row,) = codes_of_clients(client, plan, people_of(fields))
        try:
            (coded,) = codes_of_table(path, plan, options)
        except sp.InputError:
            if None not in row.values():
                raise
            continue
        if coded != row:
            raise AssertionError(f"{fields.to_dict()}: clients {row}, file {coded}")


def check_tables(
    table: Any, source: Any, plan: Any, options: Any, found: Codes
) -> None:
    """Raise unless rows have the codes of clients; those without a code are refused."""
    import seepage as sp

    can_answer = [None not in row.values() for row in found]
    if source is not None and all(can_answer):
        coded = codes_of_table(source, plan, options)
        if coded != found:
            wrong = next(i for i, row in enumerate(found) if row != coded[i])
            answers = table.iloc[wrong].to_dict()
            raise AssertionError(
                f"{answers}: clients {found[wrong]}, table {coded[wrong]}"
            )
        return
    for index, row in enumerate(found[:40]):
        single = table.iloc[[index]]
        try:
            (coded_row,) = codes_of_table(single, plan, options)
        except sp.InputError:
            if can_answer[index]:
                raise
            continue
        if coded_row != row:
            answers = single.iloc[0].to_dict()
            raise AssertionError(f"{answers}: clients {row}, table {coded_row}")


def check_certified(records: Any, found: Codes) -> None:
    """Raise unless the certifying records are the people as clients code them."""
    import collections

    counted = collections.Counter(tuple(row.values()) for row in found)
    certified = collections.Counter[tuple[int | None, ...]]()
    weights = records.weights.tolist()
    for code, weight in zip(records.codes.tolist(), weights, strict=True):
        certified[tuple(code)] += weight
    if counted != certified:
        raise AssertionError(f"collected {counted - certified}, certified otherwise")
