"""Many runs: grids, their cells, searches, and the backends that run them."""
