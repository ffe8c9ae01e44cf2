"""What commands do, read from their source: to import them all takes seconds."""

import ast
from pathlib import Path

from sbibench.core.errors import UsageError


def summary(where: str) -> str:
    """Return the first line of what `described` returns."""
    return described(where).partition("\n")[0]


def described(where: str) -> str:
    """Return the docstring of `module:function` before its parameters, or the help of an app.

    Raises
    ------
    UsageError
        If there is neither.
    """
    module, _, name = where.partition(":")
    for node in ast.parse((Path(__file__).parent / f"{module}.py").read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n\nParameters\n")[0]
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.targets[0]) == name
        ):
            for word in node.value.keywords:
                if word.arg == "help":
                    return str(ast.literal_eval(word.value))
    raise UsageError(f"{where} is no function and no app with a help; see its name in the module")
