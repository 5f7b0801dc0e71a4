"""A hash of code that is not this package's: of a user's function or class as it is loaded, with all it names.

Bytecode, not source: a class of a notebook has no source to be had, a file may have been changed since it was loaded,
and a comment changes no number. The hash holds for one version of Python.
"""

import dis
import hashlib
import io
import pickle
import sys
import sysconfig
from functools import cached_property, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""

PLAIN = (str, bytes, int, float, complex, type(None), type(...))
WRAPPERS = {
    staticmethod: ("__func__",), classmethod: ("__func__",), property: ("fget", "fset", "fdel"),
    cached_property: ("func",), partial: ("func", "args", "keywords"), MethodType: ("__func__", "__self__"),
}  # fmt: skip
"""Kind of object around a function -> its attributes that say what it does."""


def digest(value: object) -> str:
    """SHA-256 of a function, a class or a value: another where its code, a base, a default, or a function, class or
    value that it names is another, as far as these are the user's; of libraries only the names count."""
    return hashlib.sha256(repr(told(value, {})).encode()).hexdigest()


def is_ours(thing: object) -> bool:
    """Whether a function or class belongs to this package."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] == "attn_core"


def is_users(module: str | None) -> bool:
    """Whether the code of a module is the user's: neither this package's nor Python's nor installed."""
    if module in (None, "__main__", "builtins"):  # the last is what exec makes of code without a __name__
        return True
    package = module.partition(".")[0]
    if package == "attn_core" or module in sys.builtin_module_names:
        return False
    files = [Path(getattr(sys.modules.get(name), "__file__", None) or "") for name in (module, package)]
    library = sysconfig.get_path("stdlib")
    return not any(INSTALLED & set(file.parts) or file.is_relative_to(library) for file in files)


class Pickler(pickle.Pickler):
    """With tensors by their numbers: as torch packs them, they hold an address."""

    def persistent_id(self, value: object) -> object:
        if hasattr(type(value), "untyped_storage"):
            return str(value.dtype), value.detach().cpu().double().numpy().tobytes(), tuple(value.shape)
        return None


def told(value: object, seen: dict) -> object:
    """A value in lists, dicts and plain values whose repr is the same in every process. seen: id -> number and object
    of what was met before, since code may name itself."""
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
    if isinstance(value, list):
        return [told(part, seen) for part in value]
    if isinstance(value, dict):
        return [[told(key, seen), told(part, seen)] for key, part in value.items()]
    if isinstance(value, FunctionType):
        return told_function(value, seen)
    if isinstance(value, type):
        return told_class(value, seen)
    if isinstance(value, ModuleType):
        own = {k: v for k, v in sorted(vars(value).items()) if not k.startswith("__")}
        return told(own, seen) if is_users(value.__name__) else value.__name__
    attributes = WRAPPERS.get(type(value)) or (("__wrapped__",) if hasattr(value, "__wrapped__") else ())
    if attributes:
        return [type(value).__name__, *(told(getattr(value, name), seen) for name in attributes)]
    if is_users(type(value).__module__) and hasattr(value, "__dict__"):
        return [told(type(value), seen), told(vars(value), seen)]
    packed = io.BytesIO()
    try:
        Pickler(packed, protocol=4).dump(value)
        return packed.getvalue()
    except Exception:  # open files, locks and the like: pickle raises many kinds, and of these only the kind counts
        return name_of(type(value))


def told_function(function: FunctionType, seen: dict) -> list:
    """Its code with the globals that this reads, where it is the user's, else its name; what it encloses; defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    inside = told([cells, function.__defaults__, function.__kwdefaults__], seen)
    if not is_users(function.__module__):
        return [name_of(function), inside]
    known = function.__globals__
    read = {name: known[name] for name in global_names(function.__code__) if name in known}
    return [told(function.__code__, seen), inside, told(read, seen)]


def told_class(kind: type, seen: dict) -> object:
    """Its bases and all that its body defines, where it is the user's, else its name."""
    if kind is object or not is_users(kind.__module__):
        return name_of(kind)
    body = {k: v for k, v in sorted(vars(kind).items()) if not k.startswith("__") or callable(v)}  # no line numbers
    return [[told(base, seen) for base in kind.__bases__], told(body, seen)]


def global_names(code: CodeType) -> list[str]:
    """The globals that a piece of code reads, the functions defined in it included."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (global_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return sorted(own.union(*inner))


def name_of(thing: type | FunctionType) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
