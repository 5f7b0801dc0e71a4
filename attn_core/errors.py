"""The one error type that users meet."""


class AttnError(Exception):
    """A mistake of use or a damaged file. The message is one line: what is wrong, what was expected, what to do."""

    def _render_traceback_(self) -> list[str]:
        """How IPython shows it: one line in a page instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]
