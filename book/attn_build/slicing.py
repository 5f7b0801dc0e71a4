"""Which statements of earlier cells a cell needs, read from the code without running it."""

import ast
import symtable
from collections.abc import Iterator


def needed(code: str, earlier: list[str], page: list[str] | None = None) -> str:
    """Statements of `earlier` cells, in their order, that bind or change what `code` reads, and what these read. page:
    all cells, if earlier are not: what one of them imports is not changed by a call."""
    wanted = read_in(code)
    statements = [text for cell in earlier for text in statements_of(cell)]
    everywhere = [text for cell in page or earlier for text in statements_of(cell)]
    modules = {name for text in everywhere if text.startswith(("import ", "from ")) for name in bound_in(text)}
    taken = []
    for text in reversed(statements):
        bound = bound_in(text)
        if wanted & (bound | changed_in(text) - modules):
            if not is_loop(text):
                wanted -= bound
            wanted |= read_in(text)
            taken.append(text)
    return "\n".join(reversed(taken))


def statements_of(cell: str) -> Iterator[str]:
    """The source of each statement of a cell."""
    for node in ast.parse(cell).body:
        first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
        yield "\n".join(cell.splitlines()[first - 1 : node.end_lineno])


def is_loop(text: str) -> bool:
    """Whether what a statement binds may have been bound before: a loop, a condition, `+=`."""
    return isinstance(ast.parse(text).body[0], ast.For | ast.While | ast.If | ast.With | ast.Try | ast.AugAssign)


def read_in(code: str) -> set[str]:
    """Names of the notebook that code reads, in functions too."""
    names = set()
    tables = [symtable.symtable(code, "cell", "exec")]
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
                names.add(symbol.get_name())
    return names


def bound_in(code: str) -> set[str]:
    """Names that code binds: by assignment, import, definition, as a loop's variable."""
    symbols = symtable.symtable(code, "cell", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def changed_in(code: str) -> set[str]:
    """Names whose things code changes in place: `name[…] = …`, `name.x = …`, `name.method(…)` for its effect."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        targets = getattr(node, "targets", []) if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign):
            targets = [node.target]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            targets = [node.value.func]
        for target in targets:
            while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
                target = target.func if isinstance(target, ast.Call) else target.value
                if isinstance(target, ast.Name):
                    names.add(target.id)
    return names
