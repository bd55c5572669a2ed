"""Griffe extension: functions made by `takes` are documented with the keywords that
they take.

The documentation is built from the source alone, where such a function is `f(data,
options)`.  This replaces its signature and its docstring by those of the function at
run time.
"""

import inspect
import re
from typing import Any

import griffe

DECORATORS = ("takes", "method_takes")

MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")
"""The module before a name."""


class TakenOptions(griffe.Extension):
    """Give functions decorated by `takes` the signature and docstring they have at run
    time.
    """

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace parameters and docstring if the function is made by `takes`."""
        if not any(
            one.callable_path.rpartition(".")[2] in DECORATORS
            for one in func.decorators
        ):
            return
        made = griffe.dynamic_import(func.path)
        taken = inspect.signature(made).parameters.values()
        func.parameters = griffe.Parameters(*map(_parameter, taken))
        func.docstring = griffe.Docstring(inspect.getdoc(made) or "", parent=func)


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    """Return a parameter of a signature as Griffe has it."""
    empty = inspect.Parameter.empty
    annotation = inspect.formatannotation(one.annotation)
    return griffe.Parameter(
        one.name,
        kind=griffe.ParameterKind(one.kind.description),
        annotation=None if one.annotation is empty else MODULE.sub("", annotation),
        default=None if one.default is empty else repr(one.default),
    )
