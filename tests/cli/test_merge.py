"""`seepage count` on shards and `seepage merge`."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import seepage as sp
from seepage.cli.count import command as count
from seepage.cli.merge import command as merge
from seepage.counting.merging import merge_pairs
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError
from seepage.pairs_io import load_pairs_file


def run(command, *arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def shards(tmp_path):
    draw = np.random.default_rng(4)
    paths = []
    for part, towns in enumerate((["b", "d"], ["a"], ["c", None])):
        table = pa.table(
            {
                "town": pa.array(draw.choice(towns, 50).tolist()),
                "kids": draw.choice([2, 10, 3 + part], 50),
                "score": draw.choice(["10", "9", "x"], 50),
                "age": draw.integers(0, 100, 50) + 100 * part,
            }
        )
        paths.append(tmp_path / f"part-{part}.parquet")
        pq.write_table(table, paths[-1])
    return paths


def test_shards_counted_apart_give_the_counts_of_the_whole(shards, tmp_path):
    files = [path.with_suffix(".pairs") for path in shards]
    for shard, file in zip(shards, files, strict=True):
        done = run(count, shard, "-o", file, "--bins", "age=0,18,65,300")
        assert done.exit_code == 0, done.output
    done = run(merge, *reversed(files), "-o", tmp_path / "all.pairs")
    assert done.output.startswith("3 files, 150 records, 4 attributes -> ")
    expected = sp.count_pairs(shards, bins={"age": [0, 18, 65, 300]})
    assert load_pairs_file(tmp_path / "all.pairs") == expected


def test_a_domain_makes_shards_alike(shards, tmp_path):
    run(count, tmp_path, "-o", tmp_path / "whole.pairs")
    whole = load_pairs_file(tmp_path / "whole.pairs")
    parts = []
    for shard in shards:
        file = shard.with_suffix(".pairs")
        run(count, shard, "-o", file, "--domain", tmp_path / "whole.pairs")
        parts.append(load_pairs_file(file))
    assert merge_pairs(parts) == whole == parts[0] + parts[1] + parts[2]


def test_other_bins_or_attributes_are_refused(shards):
    first, second = (sp.count_pairs(path, bins={"age": "width:3"}) for path in shards[:2])
    with pytest.raises(DomainError, match=r"'age' has other bins .* edges 0, .* against edges 1"):
        merge_pairs([first, second])
    with pytest.raises(DomainError, match=r"different attributes .* town, kids against kids, town"):
        merge_pairs([first.select(["town", "kids"]), first.select(["kids", "town"])])
    with pytest.raises(DomainError, match="got none"):
        merge_pairs([])


def test_an_order_of_its_own_is_kept():
    def counts(*values):
        return sp.PairCounts(Domain([Attribute("size", values)]), [[1] * len(values)], [])

    merged = merge_pairs([counts("small", "large"), counts("small", "huge", "large")])
    assert merged.domain["size"].values == ("small", "large", "huge")
    assert merged.marginal("size").tolist() == [2, 2, 1]
    assert merge_pairs([counts("a", "c"), counts("b")]).domain["size"].values == ("a", "b", "c")
    assert merge_pairs([counts("9"), counts("10")]).domain["size"].values == ("9", "10")
    missing = merge_pairs([counts("z", "(missing)"), counts("~")])
    assert missing.domain["size"].values == ("z", "~", "(missing)")


def test_a_master_without_spark_is_refused(shards, tmp_path):
    from seepage.errors import InputError

    with pytest.raises(InputError, match="--master needs --engine spark"):
        run(count, shards[0], "-o", tmp_path / "x.pairs", "--master", "local[2]")
