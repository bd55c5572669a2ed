"""A file that seepage did not write is replaced with --force only."""

import pytest

from command import run

FOREIGN = {
    "data.csv": b"age,sex\n31,F\n",
    "data.parquet": b"PAR1 something else PAR1",
    "notes.txt": b"shopping list\n",
    "settings.json": b'{"colour": "red"}',
    "page.html": b"<!doctype html><title>my page</title>",
}
OURS = {
    "found.txt": ["analyse", "adult", "--columns", "sex,race"],
    "found.csv": ["analyse", "adult", "--columns", "sex,race", "--format", "csv"],
    "found.json": ["analyse", "adult", "--columns", "sex,race", "--format", "json"],
    "estimates.csv": [
        *(
            "simulate",
            "adult",
            "--pair",
            "sex->race",
            "--surrogates",
            "5",
            "--format",
            "csv",
        )
    ],
    "adult.pairs": ["count", "adult"],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_kept(tmp_path, name):
    (tmp_path / name).write_bytes(FOREIGN[name])
    command = ["analyse", "adult", "--columns", "sex,race", "-o", name]
    rejected = run(*command, cwd=tmp_path)
    assert rejected.returncode == 2
    assert "--force replaces it" in rejected.stderr
    assert (tmp_path / name).read_bytes() == FOREIGN[name]
    assert run(*command, "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / name).read_bytes() != FOREIGN[name]


@pytest.mark.parametrize("name", OURS)
def test_earlier_results_are_replaced(tmp_path, name):
    for _ in range(2):
        done = run(*OURS[name], "-o", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["chart.svg", "chart.png", "chart.pdf", "page.html"])
def test_earlier_charts_and_pages_are_replaced(tmp_path, name):
    option = "--report" if name == "page.html" else "--chart"
    for _ in range(2):
        done = run(
            "analyse", "adult", "--columns", "sex,race", option, name, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    (tmp_path / name).write_bytes(b"age,sex\n31,F\n")
    rejected = run(
        "analyse", "adult", "--columns", "sex,race", option, name, cwd=tmp_path
    )
    assert rejected.returncode == 2


def test_an_empty_file_may_be_replaced(tmp_path):
    (tmp_path / "x").touch()
    assert (
        run(
            "analyse", "adult", "--columns", "sex,race", "-o", "x", cwd=tmp_path
        ).returncode
        == 0
    )


def test_a_large_file_of_pair_counts_is_replaced(tmp_path):
    """The footer of Parquet, with the name, is longer than what is scanned of other
    files.
    """
    header = ",".join(f"column number {number:04d}" for number in range(1_200))
    (tmp_path / "wide.csv").write_text(
        f"{header}\n" + 2 * (",".join("ab" * 600) + "\n")
    )
    for _ in range(2):
        done = run("count", "wide.csv", "-o", "wide.pairs", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
