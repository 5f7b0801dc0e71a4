"""The page of public names, as an extension of Sphinx: signatures and docstrings, read from the source, never imported.

So the page is built without torch. Docstrings are plain text with numpydoc's sections where they have any; the signs
that reStructuredText would take for markup are escaped.
"""

import ast
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import NumpyDocstring
from sphinx.util.docutils import SphinxDirective

import attn_core

ROOT = Path(attn_core.__file__).parents[1]
MARKUP = re.compile(r"([\\|*]|_(?!\w))")


class Documented(SphinxDirective):
    """One public name a line of its content, as it is imported: `experiments.optimum.exact`, `Run`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = StringList()
        for place in self.content:
            module, _, name = place.rpartition(".")
            node, source = definition(f"attn_core.{module}".rstrip("."), name)
            self.env.note_dependency(str(source))
            for line in entry(f"attn_core.{place}", node):
                lines.append(line, str(source))
        container = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children


def definition(module: str, name: str) -> tuple[ast.ClassDef | ast.FunctionDef, Path]:
    """Where a module, or a module from which it imports the name, defines it; and the file."""
    source = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not source.is_file():
        source = source.with_suffix("") / "__init__.py"
    if not source.is_file():
        raise ExtensionError(f"book/reference.md names {module}.{name}: there is no such module")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node, source
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]:
            return definition(node.module, name)
    raise ExtensionError(f"book/reference.md names {module}.{name}, which {source} neither defines nor imports")


def entry(name: str, node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    """Lines of reStructuredText for one function or class, its public methods below it."""
    if isinstance(node, ast.FunctionDef):
        return described("function", name, node)
    lines = described("class", name, node)
    for member in methods(node):
        decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
        attribute = any("property" in decorator for decorator in decorators)
        lines += ["   " + line for line in described("attribute" if attribute else "method", member.name, member)]
    return lines


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The public ones that say what they do."""
    functions = [member for member in node.body if isinstance(member, ast.FunctionDef)]
    return [member for member in functions if not member.name.startswith("_") and ast.get_docstring(member)]


def described(kind: str, name: str, node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    """A directive of Sphinx's Python domain."""
    signature = "" if kind == "attribute" else f"({parameters(node)})"
    text = re.sub("`+", "``", MARKUP.sub(r"\\\1", ast.get_docstring(node) or ""))
    lines = NumpyDocstring(text, what=kind).lines()
    return [f".. py:{kind}:: {name}{signature}", "", *("   " + line for line in lines), ""]


def parameters(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Names and defaults without types, which the text says better; of a class those of its fields."""
    if isinstance(node, ast.ClassDef):
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        defaults = [f"={ast.unparse(field.value)}" if field.value else "" for field in fields]
        return ", ".join(ast.unparse(field.target) + default for field, default in zip(fields, defaults, strict=True))
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(node.args).removeprefix("self, ").removeprefix("self")


def setup(app) -> dict:
    app.add_directive("documented", Documented)
    return {"parallel_read_safe": True}
