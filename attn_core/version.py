"""The package's version, which records name too."""

__version__ = "0.2.0"
