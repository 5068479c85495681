"""Two small models and some sentences, made up here: a bag of words and a BERT of one layer in float64."""

import re
from functools import cache
from itertools import product

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from uegr.attacks import Surface, Victim, load_surface
from uegr.attacks.lexicons import Lexicon, Reading

GOOD = ["fine", "superb", "charming", "funny", "moving", "clever", "pleasant", "strong"]
BAD = ["bad", "dull", "stupid", "tedious", "weak", "awful", "boring", "ugly"]
THINGS = ["film", "story", "director", "scenes", "cast", "script"]
SHAPES = [
    "The {thing} is {word} and the acting seems {other}.",
    "A {word} {thing}, it is told in a {other} way!",
    "I thought the {thing} was {word}, really {other}",
    "{word}, {other}: nobody makes a {thing} like this",
]


@cache
def sentences() -> list[tuple[str, int]]:
    """200 (text, label), in a fixed order."""
    random, found = np.random.default_rng(0), []
    for label, pool in enumerate((BAD, GOOD)):
        for shape, thing, word in product(SHAPES, THINGS, pool):
            text = shape.format(thing=thing, word=word, other=str(random.choice(pool)))
            found.append((text[0].upper() + text[1:], label))
    return [found[i] for i in random.permutation(len(found))[:200]]


@cache
def surface() -> Surface:
    """Three WordNet substitutes for each word of the sentences: few enough for slow tellings."""
    wordnet = load_surface()
    words = {word.lower() for text, _ in sentences() for word in wordnet.split(text).words}
    found = {word: wordnet.substitutes(word, 3) for word in sorted(words)}
    readings = {word: (Reading("", 0, others),) for word, others in found.items() if others}
    return Surface(Lexicon("three", "en", readings, stop_words=wordnet.stop_words))


@cache
def weight(token: str) -> float:
    return float(np.random.default_rng(list(token.encode())).normal())


def bag(texts) -> np.ndarray:
    """Two classes by the sum of a weight for each word and mark, drawn once for ever; a pair counts both sides."""
    joined = [text if isinstance(text, str) else " ".join(text) for text in texts]
    tokens = [re.findall(r"\w+|[^\w\s]", text.lower()) for text in joined]
    logits = np.array([sum(map(weight, row)) / (1 + len(row)) ** 0.5 for row in tokens])
    return np.stack([1 / (1 + np.exp(logits)), 1 / (1 + np.exp(-logits))], axis=1)


@cache
def tokenizer():
    """Words, and letters for the unknown ones, over the sentences and all their substitutes."""
    words = {}
    for text, _ in sentences():
        for word in surface().split(text.lower()).words:
            words |= dict.fromkeys([word, *(other.lower() for other in surface().substitutes(word))])
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    listed = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(listed))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, model_input_names=inputs, **names)


@cache
def bert() -> BertForSequenceClassification:
    """Random weights large enough that words matter; three classes."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer()), num_labels=3, initializer_range=0.6, **sizes)
    return BertForSequenceClassification(config).double().eval()


def victim() -> Victim:
    return Victim(bert(), tokenizer())


def own_labels(predict, texts):
    """Examples that the model has right, whatever it says."""
    return [(text, int(row.argmax())) for text, row in zip(texts, predict(texts), strict=True)]


def examples(count=12):
    """The first sentences, labelled as the bag of words sees them."""
    return own_labels(bag, [text for text, _ in sentences()[:count]])


class Recorder:
    """A predict function that remembers its calls."""

    def __init__(self, function=bag):
        self.function, self.calls = function, []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return self.function(texts)
