"""Modules run in processes of their own: how they end is one line, never a pass."""

import os
import sys
import textwrap

import pytest

import seepage as sp
import wires
from command import run

KEEPS = "def randomise(value):\n    return 0\n"


def written(folder, name, content):
    path = folder / name
    path.write_text(textwrap.dedent(content))
    return path


FAULTS = {
    "import sys; sys.exit(0)": "cannot be run: SystemExit(0)",
    "import os; os._exit(0)": "ended its process, with status 0, after 0 of 40 samples",
    "1 / 0": "cannot be run: ZeroDivisionError",
    "x = 1": "must define a function randomise",
    "def randomise(value): import sys; sys.exit(0)": "failed: SystemExit(0)",
    "def randomise(value): import os; os._exit(0)": "with status 0, after 0 of 40",
    "def randomise(value): raise KeyboardInterrupt": "failed: KeyboardInterrupt()",
    "def randomise(value): return object()": "a report must be a number, a text",
    "def randomise(value): import os; os.kill(os.getpid(), 9)": "with status -9",
}


@pytest.mark.parametrize("content", FAULTS)
def test_a_python_module_that_ends_is_one_line(content, tmp_path):
    path = written(tmp_path, "client.py", content)
    how = ("--claim", 1, "--values", "0,1", "--samples", 20, "--fail-if", "refuted")
    done = run("audit", path, *how)
    assert done.returncode == 2
    assert done.stdout == ""
    assert FAULTS[content] in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_module_that_ends_after_the_first_value(tmp_path):
    path = written(
        tmp_path,
        "client.py",
        """
        import os
        def randomise(value):
            if value == 1:
                os._exit(0)
            return 0
        """,
    )
    with pytest.raises(sp.InputError, match="after 20 of 40 samples"):
        sp.audit(path, claim=1.0, values=[0, 1], samples=20)


def test_what_a_python_module_prints_is_no_report(tmp_path, capfd):
    path = written(
        tmp_path,
        "client.py",
        """
        import sys, threading, time
        print("[0]")
        threading.Thread(target=time.sleep, args=(60,)).start()
        def randomise(value):
            print(value, flush=True)
            print("warning", file=sys.stderr)
            return 0
        """,
    )
    result = sp.audit(path, claim=1.0, values=[0, 1], samples=200, reports=[0])
    assert result.verdict == "holds"
    assert capfd.readouterr() == ("", "")


def test_a_python_module_finds_the_modules_beside_it(tmp_path):
    written(tmp_path, "noise.py", "def none(value): return value\n")
    path = written(
        tmp_path,
        "client.py",
        """
        import sys
        from noise import none
        assert len(sys.argv) == 1
        def randomise(value, rounds):
            return [none(value)] * rounds
        """,
    )
    result = sp.audit(path, claim=1.0, values=["a", "b"], samples=100, rounds=2)
    assert result.verdict == "refuted"


def test_a_python_module_keeps_types_apart(tmp_path):
    path = written(
        tmp_path,
        "client.py",
        "def randomise(value): return -0.0 if value == 'a' else 0.0\n",
    )
    result = sp.audit(path, claim=1.0, values=["a", "b"], samples=200)
    assert result.verdict == "refuted"
    assert "-0.0" in result.witness


def test_a_function_that_exits_is_no_pass():
    def randomise(value):
        sys.exit(0)

    with pytest.raises(sp.InputError, match=r"the randomiser failed: SystemExit\(0\)"):
        sp.audit(randomise, claim=1.0, values=[0, 1], samples=20)


# JavaScript ---------------------------------------------------------------------------

SCRIPT_FAULTS = {
    "process.exit(0);": "ended its process, with status 0, after 0 of 40 samples",
    "export function randomise() { process.exit(0); }": "with status 0, after 0 of 40",
    "export const randomise = () => new Promise(() => {});": "after 0 of 40 samples",
    "export const randomise = () => Symbol('x');": "must be data, got a symbol",
    "export const randomise = () => new Number(1);": "must be data, got a Number",
    "export const randomise = () => { throw 'no'; };": "failed in Node: no",
    "syntax error": "failed in Node: SyntaxError",
}


@wires.needs_node
@pytest.mark.parametrize("content", SCRIPT_FAULTS)
def test_a_script_that_ends_is_one_line(content, tmp_path):
    path = written(tmp_path, "client.mjs", content)
    how = ("--claim", 1, "--values", "0,1", "--samples", 20, "--fail-if", "refuted")
    done = run("audit", path, *how)
    assert done.returncode == 2
    assert done.stdout == ""
    assert SCRIPT_FAULTS[content] in done.stderr
    assert done.stderr.count("\n") == 1


@wires.needs_node
def test_what_a_script_prints_is_no_report(tmp_path):
    path = written(
        tmp_path,
        "client.mjs",
        """
        setInterval(() => {}, 1000);
        export function randomise(value) { console.log([value]); return 0; }
        """,
    )
    result = sp.audit(path, claim=1.0, values=[0, 1], samples=200, reports=[0])
    assert result.verdict == "holds"


SCRIPT_PAIRS = [
    ("0", "-0"),
    ('"1"', "1"),
    ('"a"', '"a\\0"'),
    ("[1]", '"[1]"'),
    ("null", '"null"'),
    ("null", "undefined"),
    ("null", "NaN"),
    ("1n", "1"),
    ("2 ** 53", "2n ** 53n + 1n"),
    ("[1, 2]", "new Uint8Array([1, 2])"),
    ('"\\ud800"', '"\\udc00"'),
    ("{k: 1}", "new Map([['k', 1]])"),
]


@wires.needs_node
@pytest.mark.parametrize(("ours", "theirs"), SCRIPT_PAIRS)
def test_a_script_keeps_types_apart(ours, theirs, tmp_path):
    path = written(
        tmp_path,
        "client.mjs",
        f"export const randomise = (value) => value === 'a' ? ({ours}) : ({theirs});",
    )
    result = sp.audit(path, claim=1.0, values=["a", "b"], samples=200)
    assert result.verdict == "refuted"


def test_paths_with_lone_surrogates(tmp_path):
    name = os.fsdecode(b"cl\xffient\x1b[2J.py")
    path = written(tmp_path, name, KEEPS)
    done = run("audit", path, "--claim", 1, "--values", "0,1")
    assert done.returncode == 0
    assert "cl\\udcffient\\x1b[2J.py: not decided" in done.stdout
    assert "list all possible reports (--reports)" in done.stdout
    assert "\x1b" not in done.stdout
