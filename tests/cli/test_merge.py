"""`seepage count` on shards and `seepage merge`."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import seepage as sp
from seepage._core.errors import DomainError, SeepageError
from seepage.channel.domain import Attribute, Domain
from seepage.channel.merging import merge_pairs
from seepage.channel.pairs import PairCounts
from seepage.channel.recoding import recoded
from seepage.cli.count import count
from seepage.cli.merge import merge


def run(command, *arguments):
    return CliRunner().invoke(
        command, [str(a) for a in arguments], catch_exceptions=False
    )


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


def test_counts_of_shards_add_up_to_those_of_the_table(shards, tmp_path):
    files = [path.with_suffix(".pairs") for path in shards]
    for shard, file in zip(shards, files, strict=True):
        done = run(count, shard, "-o", file, "--bins", "age=0,18,65,300")
        assert done.exit_code == 0, done.output
    done = run(merge, *reversed(files), "-o", tmp_path / "all.pairs")
    assert done.output.startswith("3 files, 150 records, 4 attributes -> ")
    expected = sp.count_pairs(shards, bins={"age": [0, 18, 65, 300]})
    assert PairCounts.load(tmp_path / "all.pairs") == expected


def test_a_domain_makes_shards_alike(shards, tmp_path):
    run(count, tmp_path, "-o", tmp_path / "whole.pairs")
    whole = PairCounts.load(tmp_path / "whole.pairs")
    parts = []
    for shard in shards:
        file = shard.with_suffix(".pairs")
        run(count, shard, "-o", file, "--domain", tmp_path / "whole.pairs")
        parts.append(PairCounts.load(file))
    assert merge_pairs(parts) == whole == parts[0] + parts[1] + parts[2]


def test_other_bins_or_attributes_are_rejected(shards):
    first, second = (
        sp.count_pairs(path, bins={"age": "width:3"}) for path in shards[:2]
    )
    with pytest.raises(
        DomainError, match=r"'age' has other bins .* edges 0, .* against edges 1"
    ):
        merge_pairs([first, second])
    with pytest.raises(
        DomainError, match=r"different attributes .* town, kids against kids, town"
    ):
        merge_pairs([first.select(["town", "kids"]), first.select(["kids", "town"])])
    with pytest.raises(DomainError, match="got none"):
        merge_pairs([])


def test_the_order_of_a_domain_is_kept():
    def counts(*values):
        return sp.PairCounts(
            Domain([Attribute("size", values)]), [[1] * len(values)], []
        )

    merged = merge_pairs([counts("small", "large"), counts("small", "huge", "large")])
    assert merged.domain["size"].values == ("small", "large", "huge")
    assert merged.marginal("size").tolist() == [2, 2, 1]
    assert merge_pairs([counts("a", "c"), counts("b")]).domain["size"].values == (
        "a",
        "b",
        "c",
    )
    assert merge_pairs([counts("9"), counts("10")]).domain["size"].values == ("9", "10")
    missing = merge_pairs([counts("z", "(missing)"), counts("~")])
    assert missing.domain["size"].values == ("z", "~", "(missing)")
    text = merge_pairs([counts("1", "10", "2", "(missing)"), counts("1", "11")])
    assert text.domain["size"].values == ("1", "10", "11", "2", "(missing)")
    assert text.marginal("size").tolist() == [2, 1, 1, 1, 1]


def test_bins_stay_bins_where_only_some_shards_miss_values():
    bins = ("[2, 10)", "[10, 20]")
    edges = (2, 10, 20)
    whole = Attribute("age", (*bins, "(missing)"), edges)
    some = sp.PairCounts(Domain([whole]), [[1, 2, 3]], [])
    none = sp.PairCounts(Domain([Attribute("age", bins, edges)]), [[10, 20]], [])
    for parts in ([some, none], [none, some]):
        merged = merge_pairs(parts)
        assert merged.domain["age"] == whole
        assert merged.marginal("age").tolist() == [11, 22, 3]


def test_a_file_is_not_merged_with_a_hard_link_to_itself(shards, tmp_path):
    counted = tmp_path / "0.pairs"
    linked = tmp_path / "link.pairs"
    run(count, shards[0], "-o", counted)
    linked.hardlink_to(counted)
    with pytest.raises(
        SeepageError, match=r"link.pairs is given twice, also as .*0.pairs"
    ):
        run(merge, counted, linked, "-o", tmp_path / "all.pairs")


def test_a_master_without_spark_is_rejected(shards, tmp_path):
    from seepage._core.errors import InputError

    with pytest.raises(InputError, match="--master needs --engine spark"):
        run(count, shards[0], "-o", tmp_path / "x.pairs", "--master", "local[2]")


def test_the_recipe_of_the_docs_works_on_ordinary_shards(shards, tmp_path):
    """The domain of a first shard rejects values of others; open edges never do."""
    first = tmp_path / "0.pairs"
    run(count, shards[0], "-o", first)
    with pytest.raises(SeepageError):
        run(count, shards[1], "-o", tmp_path / "x.pairs", "--domain", first)
    files = [path.with_suffix(".pairs") for path in shards]
    for shard, file in zip(shards, files, strict=True):
        assert (
            run(count, shard, "-o", file, "--bins", "age=-inf,18,65,inf").exit_code == 0
        )
    assert run(merge, *files, "-o", tmp_path / "all.pairs").exit_code == 0
    expected = sp.count_pairs(shards, bins={"age": [-np.inf, 18, 65, np.inf]})
    assert PairCounts.load(tmp_path / "all.pairs") == expected


def test_text_that_reads_as_numbers_may_have_another_order():
    """Labels do not tell; whichever the order, the counts are the same."""

    def counts(*values):
        return sp.count_pairs(
            pa.table({"code": list(values), "all": ["x"] * len(values)})
        )

    whole = counts("1", "2", "10", "10")
    merged = merge_pairs([counts("1", "2"), counts("10", "10")])
    assert whole.domain["code"].values == ("1", "10", "2")
    assert merged.domain["code"].values == ("1", "2", "10")
    assert recoded(merged, whole.domain) == whole
    text = merge_pairs([counts("1", "10", "2"), counts("10")])
    assert text.domain["code"].values == ("1", "10", "2")


def test_an_order_that_all_shards_share_is_kept():
    values = ("(missing)", "[0, 1)", "[1, 2]")
    part = sp.PairCounts(Domain([Attribute("age", values, (0, 1, 2))]), [[1, 2, 3]], [])
    other = sp.PairCounts(part.domain, [[2, 1, 0]], [])
    assert merge_pairs([part, other]) == part + other


def test_counts_are_widened_cell_by_cell():
    draw = np.random.default_rng(2)
    sizes = (1, 2, 3, 2, 4, 2)
    wider = (3, 2, 5, 4, 4, 3)
    domain = Domain(Attribute(f"a{i}", tuple("abcd"[:k])) for i, k in enumerate(sizes))
    orders = [tuple(draw.permutation(list("abcdefgh"[:k])).tolist()) for k in wider]
    wide = Domain(Attribute(f"a{i}", order) for i, order in enumerate(orders))
    people = sp.Records(
        domain, np.stack([draw.integers(0, k, 90) for k in sizes], axis=1)
    )
    found = recoded(people.pairs(), wide)
    for a in range(len(sizes)):
        for b in range(len(sizes)):
            expected = np.zeros((wider[a], wider[b]), dtype=int)
            for i, row in enumerate(people.pairs().table(a, b)):
                for j, cell in enumerate(row):
                    expected[orders[a].index("abcd"[i]), orders[b].index("abcd"[j])] = (
                        cell
                    )
            assert np.array_equal(found.table(a, b), expected)


def test_many_pairs_are_widened_at_once():
    domain = Domain(Attribute(f"a{i}", ("x", "y")) for i in range(1000))
    wide = Domain(Attribute(f"a{i}", ("w", "x", "y")) for i in range(1000))
    pairs = sp.PairCounts(domain, [[1, 1]] * 1000, [1, 0, 0, 1] * (1000 * 999 // 2))
    begin = time.process_time()
    found = recoded(pairs, wide)
    assert time.process_time() - begin < 2
    assert found.table(3, 999).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_with_the_sample_of_a_shard_the_sum_is_a_sample(tmp_path):
    def counts(*values, population=None):
        domain = Domain([Attribute("town", values)])
        return sp.PairCounts(domain, [[1] * len(values)], [], population=population)

    parts = [counts("a", "b"), counts("c", population=10)]
    assert sp.merge_pairs(parts).population == 12
    assert sp.merge_pairs([counts("a"), counts("b")]).population is None
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.pairs")
    done = run(
        merge, tmp_path / "0.pairs", tmp_path / "1.pairs", "-o", tmp_path / "all.pairs"
    )
    assert done.output.startswith(
        "2 files, sample of 3 of 12 records, 1 attributes -> "
    )
    assert PairCounts.load(tmp_path / "all.pairs").population == 12


# The same records twice ---------------------------------------------------------------


def _counted(shards):
    files = [path.with_suffix(".pairs") for path in shards]
    for shard, file in zip(shards, files, strict=True):
        done = run(count, shard, "-o", file, "--bins", "age=0,18,65,300")
        assert done.exit_code == 0, done.output
    return files


def test_a_table_that_is_in_two_counts_is_refused(shards, tmp_path):
    first, second, third = _counted(shards)
    every = tmp_path / "all.pairs"
    run(merge, first, second, "-o", every)
    with pytest.raises(SeepageError, match=r"'part-1\.parquet' in common"):
        run(merge, every, second, "-o", tmp_path / "twice.pairs")
    assert not (tmp_path / "twice.pairs").exists()
    done = run(merge, every, third, "-o", tmp_path / "whole.pairs")
    assert done.exit_code == 0, done.output
    whole = PairCounts.load(tmp_path / "whole.pairs")
    assert whole.records == 150
    assert [file.name for file in whole.sources] == [path.name for path in shards]


def test_no_way_of_counting_forgets_the_files(shards, tmp_path):
    part = sp.count_pairs(shards[0], columns=["town", "kids"])
    records = sp.Records.from_data(str(shards[0]), columns=["town", "kids"])
    part.save(tmp_path / "part.pairs")
    ways = [
        part,
        part.select(["kids", "town"]).select(["town", "kids"]),
        part.rename({"town": "place"}).rename({"place": "town"}),
        records.pairs(),
        records.select(["town", "kids"]).pairs(),
        PairCounts.load(tmp_path / "part.pairs"),
        sp.count_pairs(shards[:1], columns=["town", "kids"]),
    ]
    for way in ways:
        with pytest.raises(DomainError, match="would count twice"):
            part + way
        with pytest.raises(DomainError, match="would count twice"):
            merge_pairs([part, way])


def test_the_same_name_later_is_another_source(shards):
    before = sp.count_pairs(shards[0], columns=["town"])
    table = pq.read_table(shards[0])
    pq.write_table(table.slice(0, 20), shards[0])
    after = sp.count_pairs(shards[0], columns=["town"])
    assert merge_pairs([before, after]).records == 70


def test_equal_counts_of_two_files_are_merged_with_a_word(shards, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(shards[0].read_bytes())
    first, twin = _counted([shards[0], copy])
    done = run(merge, first, twin, "-o", tmp_path / "all.pairs")
    assert done.exit_code == 0, done.output
    assert (
        "files 'part-0.parquet' and 'copy.parquet' have the same content" in done.output
    )
    assert PairCounts.load(tmp_path / "all.pairs").records == 100


def test_a_copy_of_a_file_that_is_in_a_sum_is_merged_with_a_word(shards, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(shards[1].read_bytes())
    first, second, twin = _counted([shards[0], shards[1], copy])
    every = tmp_path / "all.pairs"
    run(merge, first, second, "-o", every)
    done = run(merge, every, twin, "-o", tmp_path / "more.pairs")
    assert done.exit_code == 0, done.output
    assert "'part-1.parquet' and 'copy.parquet' have the same content" in done.output


def test_counts_of_frames_know_no_files():
    frame = pa.table({"town": ["a", "b", "b"]})
    part = sp.count_pairs(frame)
    assert part.sources == ()
    with pytest.warns(sp.SeepageWarning, match="equal"):
        assert merge_pairs([part, part]).records == 6
