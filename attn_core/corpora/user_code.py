"""A hash of code that is not this package's: of a user's function or class as it is loaded, with all it names.

Bytecode, not source: a class of a notebook has no source to be had, a file may have been changed since it was loaded,
and a comment changes no number. The hash holds for one version of Python.
"""

import dis
import hashlib
import sys
import sysconfig
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType

PLAIN = (str, bytes, int, float, complex, type(None), type(...))
INSIDE = ("__wrapped__", "fget", "fset", "fdel")
"""Attributes of static methods, properties and other wrappers that hold what they do."""


def digest(value: object) -> str:
    """SHA-256 of a function, a class or a value: another where its code, a base, a default, or a function, class or
    value that it names is another, as far as these are the user's; of libraries only the names count."""
    return hashlib.sha256(repr(told(value, {})).encode()).hexdigest()


def is_users(module: str | None) -> bool:
    """Whether the code of a module is the user's: neither this package's nor Python's nor installed."""
    if module in (None, "__main__", "builtins"):  # the last is what exec makes of code without a __name__
        return True
    package = module.partition(".")[0]
    if package == "attn_core" or module in sys.builtin_module_names:
        return False
    files = [Path(getattr(sys.modules.get(name), "__file__", None) or "") for name in (module, package)]
    installed, library = {"site-packages", "dist-packages"}, sysconfig.get_path("stdlib")
    return not any(installed & set(file.parts) or file.is_relative_to(library) for file in files)


def told(value: object, seen: dict) -> object:
    """A value in lists and plain values whose repr is the same in every process. seen: id -> number and object of what
    was met before, since code may name itself."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple):
        return [told(part, seen) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(told(part, seen)) for part in value)
    if isinstance(value, CodeType):
        sizes = value.co_argcount, value.co_kwonlyargcount, value.co_flags
        names = value.co_names, value.co_varnames, value.co_freevars
        return [value.co_code, value.co_exceptiontable, sizes, names, told(value.co_consts, seen)]
    if id(value) in seen:
        return ["again", seen[id(value)][0]]
    seen[id(value)] = len(seen), value  # held, or its id could become another's
    if isinstance(value, (list, dict)):
        return [told(part, seen) for part in (value.items() if isinstance(value, dict) else value)]
    if isinstance(value, (FunctionType, type, ModuleType)):
        return [told(part, seen) for part in content(value)]
    if hasattr(value, "untyped_storage"):  # a tensor: packed, it holds an address
        value = [str(value.dtype), value.detach().cpu().double().numpy()]
    try:
        parts = [getattr(value, name) for name in INSIDE if hasattr(value, name)] or value.__reduce_ex__(4)
    except Exception:  # open files, locks and the like raise many kinds; of these only the kind counts
        return name_of(type(value))
    return [name_of(type(value)), *(told(list(part) if hasattr(part, "__next__") else part, seen) for part in parts)]


def content(thing: FunctionType | type | ModuleType) -> list:
    """Of the user's the code of a function with the globals that this reads, the bases and the body of a class, the
    names of a module; of all others the name. Of any function also what it encloses and its defaults."""
    own = is_users(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__)
    if isinstance(thing, FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if cell != CellType()]
        inside, known = [cells, thing.__defaults__, thing.__kwdefaults__], thing.__globals__
        if own:
            read = [(name, known[name]) for name in global_names(thing.__code__) if name in known]
            return [*inside, thing.__code__, read]
        return [*inside, name_of(thing)]
    if not own or thing is object:
        return [name_of(thing)]
    body = [(k, v) for k, v in sorted(vars(thing).items()) if not k.startswith("__") or callable(v)]  # no line numbers
    return [body, getattr(thing, "__bases__", ())]


def global_names(code: CodeType) -> list[str]:
    """The globals that a piece of code reads, the functions defined in it included."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (global_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return sorted(own.union(*inner))


def name_of(thing: object) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', None) or thing.__name__}"
