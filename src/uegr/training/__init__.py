"""The only plumbing: precision, processes, accumulation and checkpoints, by a subclass of transformers.Trainer."""
