"""What a picture shows, apart from where: its words and marks without coordinates."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]


def shown_in(svg):
    """Return texts, descriptions and colours; fonts of another machine may move
    them.
    """
    return [
        (
            mark.tag.rpartition("}")[2],
            mark.get("aria-label"),
            mark.get("fill"),
            mark.text,
        )
        for mark in ElementTree.fromstring(svg).iter()
    ]


def script(name):
    """Return the module of a file in scripts/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
