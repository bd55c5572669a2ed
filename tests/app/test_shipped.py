"""The library that the app ships is the published one, with its licence."""

import hashlib
import subprocess
import sys

from seepage.pages.render import template_text

HTMX = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
"""SHA-256 of dist/htmx.min.js in the package htmx.org 4.0.1 on npm."""


def test_htmx_is_as_published():
    content = template_text("js/htmx.min.js").encode()
    assert hashlib.sha256(content).hexdigest() == HTMX


def test_its_licence_is_beside_it():
    assert "Zero-Clause BSD" in template_text("js/htmx.LICENSE.txt")


def test_the_server_is_loaded_by_the_app_alone():
    code = (
        "import sys, seepage, seepage.cli; seepage.design, seepage.analyse; "
        "print([name for name in ('starlette', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
    assert done.stdout.strip() == "[]"
