"""Runs: one folder each, and what compares several of them."""
