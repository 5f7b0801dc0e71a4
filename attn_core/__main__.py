"""`python -m attn_core`: the command line, `attn_lab.cli`. The one import upwards."""

from attn_lab.cli import main

if __name__ == "__main__":
    main()
