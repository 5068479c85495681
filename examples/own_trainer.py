"""A plain transformers script. Two things change: Trainer becomes RobustTrainer, and `method=` is added.

python examples/own_trainer.py [runs/own_trainer]
"""

import sys

from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainingArguments

from uegr import RobustTrainer, data, methods, models

folder = models.fetch("minilm-l3")  # any folder or hub name works here
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)

rows = data.subsample(data.load("snippets").splits["train"], size=256, seed=0)  # or datasets.load_dataset(...)
encoded = tokenizer(list(rows["text"]), truncation=True, max_length=48)
train = Dataset.from_dict({**encoded, "labels": list(rows["label"])})

trainer = RobustTrainer(
    model=model,
    args=TrainingArguments(
        sys.argv[1] if len(sys.argv) > 1 else "runs/own_trainer",
        num_train_epochs=1,
        learning_rate=1e-4,
        report_to=[],
    ),
    train_dataset=train,
    processing_class=tokenizer,
    method=methods.uegr(epsilon=0.1),
)
print(trainer.train().metrics)
trainer.save_model()
