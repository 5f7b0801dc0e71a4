"""A hash of code that is not this package's: of a user's function or class as it is loaded, with all it names.

Bytecode, not source: a class of a notebook has no source to be had, a file may have been changed since it was loaded,
and a comment changes no number. The hash holds for one version of Python.
"""

import dis
import hashlib
import sys
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType

PLAIN = (str, bytes, int, float, complex, type(None), type(...))
CODE = ("code", "exceptiontable", "argcount", "kwonlyargcount", "flags", "names", "varnames", "freevars", "consts")


def digest(value: object) -> str:
    """SHA-256 of a function, a class or a value: another where its code, a base, a default, or a function, class or
    value that it names is another, as far as these are the user's; of libraries only the names count."""
    return hashlib.sha256(repr(told(value, {})).encode()).hexdigest()


def is_users(thing: FunctionType | type | ModuleType) -> bool:
    """Whether code is the user's: neither this package's nor Python's nor installed."""
    module = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__ or "__main__"
    if module == "builtins":  # also what exec makes of code without a name; types of C are no heap types
        return isinstance(thing, FunctionType) or isinstance(thing, type) and bool(thing.__flags__ & 1 << 9)
    package = module.partition(".")[0]
    file = Path(getattr(sys.modules.get(package), "__file__", None) or "")
    ours = package in ("attn_core", *sys.stdlib_module_names) or {"site-packages", "dist-packages"} & set(file.parts)
    return package == "__main__" or not ours  # of a notebook that is the kernel's file


def told(value: object, seen: dict) -> object:
    """A value in lists and plain values whose repr is the same in every process. seen: id -> what was met before, since
    code may name itself; held, or its id could become another's.

    Of the user's the code of a function with the globals that this reads, the bases and the body of a class, the names
    of a module; of all others the name. Of any function also what it encloses and its defaults.
    """
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(repr(told(part, seen)) for part in value)
    if isinstance(value, CodeType):
        value = tuple(getattr(value, f"co_{name}") for name in CODE)
    if isinstance(value, tuple):
        return [told(part, seen) for part in value]
    if id(value) in seen:
        return ["again", list(seen).index(id(value))]
    seen[id(value)] = value
    if isinstance(value, (list, dict)):
        parts = value.items() if isinstance(value, dict) else value
    elif isinstance(value, FunctionType):
        own, known = is_users(value), value.__globals__
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        read = [(name, known[name]) for name in global_names(value.__code__) if name in known] if own else ()
        parts = [value.__code__ if own else name_of(value), read, cells, value.__defaults__, value.__kwdefaults__]
    elif isinstance(value, (type, ModuleType)) and not is_users(value):
        parts = [name_of(value)]
    elif isinstance(value, (type, ModuleType)):  # of dunders methods alone: others tell of lines and files
        body = [(name, part) for name, part in vars(value).items() if not name.startswith("__") or callable(part)]
        parts = [sorted(body, key=lambda pair: pair[0]), getattr(value, "__bases__", ())]
    else:
        if hasattr(value, "untyped_storage"):  # a tensor: packed, it holds an address
            value = [str(value.dtype), value.detach().cpu().double().numpy()]
        try:  # what static methods, properties and other wrappers hold, else what a copy is made of
            wrapped = [getattr(value, name) for name in ("__wrapped__", "fget", "fset") if hasattr(value, name)]
            parts = [name_of(type(value)), *(wrapped or value.__reduce_ex__(4))]
        except Exception:  # open files, locks and the like raise many kinds; of these only the kind counts
            parts = [name_of(type(value))]
    return [told(part, seen) for part in parts]


def global_names(code: CodeType) -> list[str]:
    """The globals that a piece of code reads, the functions defined in it included."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (global_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return sorted(own.union(*inner))


def name_of(thing: object) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', None) or thing.__name__}"
