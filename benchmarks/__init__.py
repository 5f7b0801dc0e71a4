"""Speed as ratios to plain-loop twins in the same process: `make bench`."""
