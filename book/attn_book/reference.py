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
from sphinx.ext.napoleon import Config, NumpyDocstring
from sphinx.util.docutils import SphinxDirective

import attn_core

PACKAGE = Path(attn_core.__file__).parent
SECTIONS = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)
MARKUP = re.compile(r"([\\|*]|_(?!\w))")


class Documented(SphinxDirective):
    """One public name a line of its content, by where it is defined: `experiments.echo.echo`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = StringList()
        for place in self.content:
            module, _, name = place.rpartition(".")
            source = PACKAGE / f"{module.replace('.', '/')}.py"
            self.env.note_dependency(str(source))
            for line in entry(module, name, source):
                lines.append(line, str(source))
        container = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children


def entry(module: str, name: str, source: Path) -> list[str]:
    """Lines of reStructuredText for one function or class, its public methods below it."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    defined = [node for node in tree.body if getattr(node, "name", None) == name]
    if not defined:
        raise ExtensionError(f"book/reference.md names {module}.{name}, which {source} does not define")
    node = defined[0]
    prefix = "attn_core" if name in attn_core.__all__ else f"attn_core.{module}"
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    lines = described(kind, f"{prefix}.{name}", node)
    for member in methods(node) if kind == "class" else ():
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
    text = MARKUP.sub(r"\\\1", ast.get_docstring(node) or "").replace("`", "``")
    lines = NumpyDocstring(text, SECTIONS, what=kind).lines()
    return [f".. py:{kind}:: {name}{signature}", "", *("   " + line for line in lines), ""]


def parameters(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Names and defaults without types, which the text says better; of a class those of its fields."""
    if isinstance(node, ast.ClassDef):
        fields = [
            field for field in node.body if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        ]
        return ", ".join(field.target.id + (f"={ast.unparse(field.value)}" if field.value else "") for field in fields)
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(node.args).removeprefix("self, ").removeprefix("self")


def setup(app) -> dict:
    app.add_directive("documented", Documented)
    return {"parallel_read_safe": True}
