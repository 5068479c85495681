"""Attack a scikit-learn pipeline: an attack needs a function from texts to probabilities, and nothing else.

python examples/attack_sklearn.py
"""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from uegr import attack, data

snippets = data.load("snippets")
train, test = snippets.splits["train"], data.subsample(snippets.splits["test"], size=50, seed=0)
pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
pipeline.fit(list(train["text"]), list(train["label"]))

results = attack(pipeline.predict_proba, list(zip(test["text"], test["label"], strict=True)), attack="pwws")
print(f"accuracy {results.summary.accuracy_before:.2f} before, {results.summary.accuracy_after:.2f} after")
for outcome in results.outcomes:
    if outcome.status == "success":
        print(outcome.text, "->", outcome.found)
        break
