"""Pure mathematics on tensors: what the published methods are assembled from. Knows torch and nothing else."""
