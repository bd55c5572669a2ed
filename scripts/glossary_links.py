"""Markdown extension: each page links the words of the glossary where they first occur.

The words are those of the first columns of the tables in docs/glossary.md, which become
anchors there.  Guides and theory are linked, not the reference; headings, code and
links are left as they are.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from zensical.extensions.context import ContextPreprocessor

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"
SKIPPED = {"a", "code", "pre", "h1", "h2", "h3", "h4", "script", "style"}


def words(glossary: str) -> list[str]:
    """Return the words of a glossary, in order."""
    cells = re.findall(r"^\| (\*\*[^|]+\*\*) \|", glossary, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"\*\*(.+?)\*\*", cell)]


def anchor(word: str) -> str:
    """Return the anchor of a word on the page of the glossary."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


class Links(Treeprocessor):  # type: ignore[misc]
    """Link the words of the glossary, or make them anchors on its own page."""

    def run(self, root: Element) -> None:
        """Change the tree of a page."""
        context = ContextPreprocessor.from_markdown(self.md)
        if context is None or "/" in context.page.path:
            return
        if context.page.path == GLOSSARY.name:
            for cell in root.iterfind(".//tr/td[1]"):
                for word in cell.iterfind("strong"):
                    word.set("id", anchor(word.text or ""))
        else:
            self.left = set(words(GLOSSARY.read_text(encoding="utf-8")))
            self.link(root)

    def link(self, node: Element) -> None:
        """Link the words below a node in the order of the text."""
        if node.tag in SKIPPED:
            return
        children = list(node)
        node.text, links = self.split(node.text)
        node[:0] = links
        for child in children:
            self.link(child)
            child.tail, links = self.split(child.tail)
            place = list(node).index(child) + 1
            node[place:place] = links

    def split(self, text: str | None) -> tuple[str | None, list[Element]]:
        """Return a text up to its first word of the glossary, and links with what
        follows each.
        """
        parts = list(self.parts(text or ""))
        links = []
        for word, shown, tail in parts[1:]:
            link = Element(
                "a", {"class": "glossary", "href": f"glossary.html#{anchor(word)}"}
            )
            link.text = shown
            link.tail = tail
            links.append(link)
        return (parts[0][2] if links else text), links

    def parts(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield word, how it is written and what follows; first the text before any
        word.
        """
        word = shown = ""
        while self.left:
            either = "|".join(sorted(map(re.escape, self.left), key=len, reverse=True))
            found = re.search(
                rf"(?<![\w-])({either})(s?)(?![\w-])", text, re.IGNORECASE
            )
            if found is None:
                break
            yield word, shown, text[: found.start()]
            word = next(one for one in self.left if one.lower() == found[1].lower())
            self.left.remove(word)
            shown = found[0]
            text = text[found.end() :]
        yield word, shown, text


class GlossaryLinks(Extension):  # type: ignore[misc]
    """Link every page to the glossary."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register the links after everything that makes elements."""
        md.treeprocessors.register(Links(md), "glossary_links", 1)


def makeExtension(**options: object) -> GlossaryLinks:  # noqa: N802
    """Return the extension, as Python-Markdown asks for it."""
    return GlossaryLinks(**options)
