"""What makes the archive: grids of runs, here or on a cluster; a run's tables packed; its files put in and sealed."""
