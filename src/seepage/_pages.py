"""Self-contained HTML pages: escaped text, inline styles, a strict content security policy.

The policy allows the page's own style and script by their hashes and nothing else, so that nothing
is fetched and no name from a table can run as a script.
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
        By name: `class_` stands for `class`, other underscores for hyphens; None omits one.

    Examples
    --------
    >>> element("p", "a < b ", element("b", "c"), class_="note", title='"')
    '<p class="note" title="&quot;">a &lt; b <b>c</b></p>'
    """
    formatted = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_attribute_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{formatted}>{joined(*children)}</{tag}>")


def joined(*children: str | Iterable[str]) -> Markup:
    """Return the concatenation of texts, which are escaped, and elements."""
    parts = []
    for child in children:
        items = [child] if isinstance(child, str) else child
        parts += [item if isinstance(item, Markup) else html.escape(item) for item in items]
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
    style = read_styles(styles)
    policy = html.escape(content_policy(style))
    return PAGE.format(policy=policy, title=html.escape(title), style=style, body=body)


def fill_template(
    template: str, title: str, style: str, script: str, data: Any, connect: str = ""
) -> str:
    """Return a page with a script: a template whose placeholders such as `{{title}}` are replaced.

    Parameters
    ----------
    template
        HTML with `{{policy}}`, `{{title}}`, `{{style}}`, `{{data}}` and `{{script}}`.
    title
        The title of the window.
    style, script
        The only style and script that the page permits.
    data
        Input of the script, embedded as JSON with <, > and & escaped: it cannot close its element.
    connect
        The only address that the page may send requests to.
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
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def content_policy(style: str, script: str = "", connect: str = "") -> str:
    """Return a content security policy that allows an inline style, and a script if given."""
    rules = {
        "default-src": "'none'",
        "script-src": script and _content_hash(script),
        "style-src": _content_hash(style),
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items() if value)


def read_styles(names: Iterable[str]) -> str:
    """Return the concatenation of style sheets."""
    return "\n".join(static_text(f"css/{name}.css") for name in names)


def static_text(name: str) -> str:
    """Return a style sheet, script or template by its path in the folder of static files."""
    return (files("seepage") / "report" / "static" / name).read_text(encoding="utf-8")


def _content_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _attribute_text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
