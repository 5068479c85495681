"""The ledger: one small file of numbers per finished cell of a study, made to be committed.

results/STUDY/grid.yaml      what was run, and what the paper printed; as in the folder of a grid
results/STUDY/CELL.json      the result without texts, what the paper reported for it, and the reasons to doubt it
"""
