"""One run, one folder: prepare, train, open, evaluate, attack, predict, export."""
