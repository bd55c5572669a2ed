"""Self-contained pages: styles from one folder, HTML with every text escaped, a strict policy.

A page holds all that it shows.  Its content security policy names the hashes of its own style and
script and allows nothing else, so nothing is fetched, whatever names the data hold.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

import msgspec

PAGE = """<!doctype html>
<html lang="en" data-ready>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


class Markup(str):
    """HTML that is safe to put into a page as it is."""

    __slots__ = ()


def element(tag: str, *children: str | Iterable[str], **attributes: str | float | None) -> Markup:
    """Return an HTML element; children and attributes are escaped unless they are `Markup`.

    Parameters
    ----------
    tag
        The name of the element.
    children
        Texts and elements, or lists of them.
    attributes
        By name: `class_` stands for `class`, other underscores for hyphens; None leaves one out.

    Examples
    --------
    >>> element("p", "a < b ", element("b", "c"), class_="note", title='"')
    '<p class="note" title="&quot;">a &lt; b <b>c</b></p>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{given}>{joined(*children)}</{tag}>")


def joined(*children: str | Iterable[str]) -> Markup:
    """Return texts and elements one after the other, texts escaped."""
    parts = []
    for child in children:
        each = [child] if isinstance(child, str) else child
        parts += [one if isinstance(one, Markup) else html.escape(one) for one in each]
    return Markup("".join(parts))


def static_page(title: str, body: Markup, styles: Sequence[str] = ()) -> str:
    """Return a page without a script.

    Parameters
    ----------
    title
        The title of the window.
    body
        The content.
    styles
        The names of style sheets.

    Examples
    --------
    >>> page = static_page("<b>", element("p", "<script>"), ["base"])
    >>> "<title>&lt;b&gt;</title>" in page, "script-src" in page, "<script" in page
    (True, False, False)
    """
    style = joined_styles(styles)
    policy = html.escape(content_policy(style))
    return PAGE.format(policy=policy, title=html.escape(title), style=style, body=body)


def filled(template: str, title: str, style: str, script: str, data: Any, connect: str = "") -> str:
    """Return a page with a script: a template with its parts in place of `{{title}}` and so on.

    Parameters
    ----------
    template
        HTML with `{{policy}}`, `{{title}}`, `{{style}}`, `{{data}}` and `{{script}}`.
    title
        The title of the window.
    style, script
        The only style and script that the page permits.
    data
        What the script reads, as JSON with <, > and & escaped, so that it cannot end its element.
    connect
        The one address that the page may send to.
    """
    content = msgspec.json.encode(data).decode()
    for character in "<>&":
        content = content.replace(character, f"\\u00{ord(character):02x}")
    parts = {
        "policy": html.escape(content_policy(style, script, connect)),
        "title": html.escape(title),
        "style": style,
        "data": content,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def content_policy(style: str, script: str = "", connect: str = "") -> str:
    """Return a content security policy that permits an inline style, and perhaps a script."""
    rules = {
        "default-src": "'none'",
        "script-src": script and _content_hash(script),
        "style-src": _content_hash(style),
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items() if value)


def joined_styles(names: Iterable[str]) -> str:
    """Return style sheets as one."""
    return "\n".join(static_text(f"css/{name}.css") for name in names)


def static_text(name: str) -> str:
    """Return a style sheet, script or template by its path in the folder of static files."""
    return (files("seepage") / "report" / "static" / name).read_text(encoding="utf-8")


def _content_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
