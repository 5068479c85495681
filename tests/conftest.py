"""What every test shares: no hub, no progress bars, one thread, and the tiny models of `tests/models/families.py`."""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch  # the variables above must be set before anything reads them
import transformers

sys.path.insert(0, str(Path(__file__).parent / "models"))  # from families import tiny
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
