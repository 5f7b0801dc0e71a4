"""Three 2019 papers on whether attention explains a model, re-run in one code base.

Data flow one way: corpus -> run -> traces -> table -> figure.
"""

__version__ = "0.1.0"
