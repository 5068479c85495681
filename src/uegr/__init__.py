"""Fine-tune language models that generalise and withstand perturbation, and prove it."""
