"""Self-contained HTML pages from Jinja2 templates, with a strict content security
policy.

Templates, style sheets and scripts are files in `templates/`.  All values are escaped
unless they are `Markup`.  The policy allows the page's own style and script by their
hashes and nothing else, so that nothing is fetched and no name from a table can run as
a script.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from seepage._core.errors import escaped

CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters other than tabs and line breaks."""


UNSAFE_IN_JSON = re.compile("[<>&\x7f-\x9f]")
"""What JSON does not escape, and the element of a script must not have."""


def render_page(
    template: str,
    title: str,
    *,
    styles: Sequence[str] = (),
    script: str = "",
    content: Any = None,
    connect: str = "",
    images: str = "",
    folder: str = "",
    **values: Any,
) -> str:
    """Return a page from a template that extends `base.html`.

    Parameters
    ----------
    template
        The name of the template in `templates/`.
    title
        The title of the window.
    styles
        The names of style sheets.
    script
        The only script that the page permits; "" for none.
    content
        Input of the script, embedded as JSON with <, > and & escaped, so that it cannot
        close its element, and with control characters escaped.
    connect
        The only address that the page may send requests to.
    images
        The only source of images, such as "data:"; "" for none.
    folder
        A folder of further templates, and of style sheets in `css/`; "" for none.
    values
        The variables of the template; one that is missing raises an error.

    Examples
    --------
    >>> page = render_page("questionnaire.html", "<b>")
    >>> "<title>&lt;b&gt;</title>" in page, "script-src" in page, "<script" in page
    (True, False, False)
    """
    environment = _environment(folder)
    style = "\n".join(_source(environment, f"css/{name}.css") for name in styles)
    data = msgspec.json.encode(content).decode()
    data = UNSAFE_IN_JSON.sub(lambda match: f"\\u00{ord(match[0]):02x}", data)
    return environment.get_template(template).render(
        **values,
        title=title,
        policy=content_policy(style, script, connect, images),
        style=Markup(style),
        script=Markup(script),
        content=Markup(data),
    )


def render_text(template: str, **values: Any) -> str:
    """Render a template as text; a variable that is missing raises an error."""
    return _environment().get_template(template).render(**values)


@cache
def _environment(folder: str = "") -> jinja2.Environment:
    """Return the environment that renders templates."""
    loaders: list[jinja2.BaseLoader] = [jinja2.PackageLoader("seepage.pages")]
    if folder:
        loaders.append(jinja2.FileSystemLoader(folder))
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(environment: jinja2.Environment, name: str) -> str:
    """Return the text of a style sheet to render a page with, by its path."""
    assert environment.loader is not None
    text, _, _ = environment.loader.get_source(environment, name)
    return text


def _printable(value: Any) -> Any:
    """Return a value as it is rendered, a text with its control characters escaped:
    they would reach the terminal of whoever prints the page.
    """
    if type(value) is str and CONTROLS.search(value):
        return escaped(value, ("Cc",))
    return value


def template_text(name: str) -> str:
    """Return a style sheet or script to render with, by its path in `templates/`."""
    return (files("seepage.pages") / "templates" / name).read_text(encoding="utf-8")


def content_policy(
    style: str, script: str = "", connect: str = "", images: str = ""
) -> str:
    """Return the content security policy of a rendered page that allows an inline
    style, and what else is given.
    """
    rules = {
        "default-src": "'none'",
        "script-src": script and _content_hash(script),
        "style-src": _content_hash(style),
        "connect-src": connect,
        "img-src": images,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items() if value)


def _content_hash(text: str) -> str:
    """Return the hash by which a rendered page's policy allows an inline text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
