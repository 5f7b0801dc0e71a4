"""The errors that users meet, and warnings."""

import sys


class AttnError(Exception):
    """A mistake of use or a damaged file. The message is one line: what is wrong, what was expected, what to do."""

    def _render_traceback_(self) -> list[str]:
        """How IPython shows it: one line in a page instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


def one_line(error: BaseException) -> str:
    """An error of any kind in one line, its kind first; a long message is cut."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) < 500 else text[:500] + ' …'}"


def say(message: str) -> None:
    """One warning line on stderr."""
    print(f"warning: {message}", file=sys.stderr)


class Damaged(AttnError):
    """A stored file that is not what was stored: what hangs on it is a gap, and nothing of it enters a number."""
