"""Loading by alias, folder and name; the refusals."""

import re
import subprocess
import sys

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, GPT2Config, GPT2Model

from uegr.errors import InputError
from uegr.models import load
from uegr.models.card import read

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film"]


@pytest.fixture
def folder(tmp_path):
    """A saved two-label BERT with its tokenizer."""
    config = BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, num_labels=2
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path / "saved")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "saved")
    return str(tmp_path / "saved")


def test_finished_run_keeps_its_head(folder):
    torch.manual_seed(7)
    first, second = load(folder, seed=1).model, load(folder, seed=2).model
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)


def test_new_head_follows_the_seed_and_nothing_else(folder):
    def draw(seed, noise):
        torch.manual_seed(noise)
        before = torch.get_rng_state()
        model = load(folder, labels=("a", "b", "c"), seed=seed).model
        assert torch.equal(before, torch.get_rng_state())
        return model.classifier.weight

    assert torch.equal(draw(1, 0), draw(1, 1))
    assert not torch.equal(draw(1, 0), draw(2, 0))


def test_labels_reach_the_configuration(folder):
    config = load(folder, labels=("negative", "positive", "neither")).model.config
    assert config.num_labels == 3
    assert config.id2label == {0: "negative", 1: "positive", 2: "neither"}
    assert config.label2id == {"negative": 0, "positive": 1, "neither": 2}


def test_regression_has_one_output_and_squared_error(folder):
    loaded = load(folder, problem_type="regression", dtype="float64")
    batch = loaded.tokenizer(["good film", "bad"], padding=True, return_tensors="pt")
    target = torch.tensor([1.5, -2.0], dtype=torch.float64)
    out = loaded.model(**batch, labels=target)
    assert out.logits.shape == (2, 1)
    assert torch.allclose(out.loss, ((out.logits[:, 0] - target) ** 2).mean())


def test_loads_without_a_word(folder, capfd):
    load(folder, num_labels=5)
    assert capfd.readouterr() == ("", "")


def test_positions_bound_the_tokenizer(folder):
    assert load(folder).tokenizer.model_max_length == 512


def test_decoder_without_padding_token_gets_one(folder, tmp_path):
    config = GPT2Config(vocab_size=8, n_embd=16, n_layer=1, n_head=2, n_positions=32)
    GPT2Model(config).save_pretrained(tmp_path / "decoder")
    load(folder).tokenizer.save_pretrained(tmp_path / "decoder")
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    rust = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    PreTrainedTokenizerFast(tokenizer_object=rust, eos_token="[SEP]").save_pretrained(tmp_path / "decoder")
    loaded = load(str(tmp_path / "decoder"), num_labels=2)
    assert loaded.tokenizer.pad_token == "[SEP]"
    assert loaded.model.config.pad_token_id == 3
    assert loaded.tokenizer.model_max_length == 32
    loaded.model(**loaded.tokenizer(["good", "bad film"], padding=True, return_tensors="pt"))  # batch of two


def test_weights_that_do_not_fit_are_refused(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    file = tmp_path / "saved" / "model.safetensors"
    kept = {name: tensor for name, tensor in load_file(file).items() if "layer.1." not in name}
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"missing or of another shape: bert\.encoder\.layer\.1\S+ and 15 more"):
        load(folder)


def test_a_finished_run_must_have_its_head_too(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    load(folder, whole=True)
    file = tmp_path / "saved" / "model.safetensors"
    kept = {name: tensor for name, tensor in load_file(file).items() if name != "classifier.bias"}
    save_file(kept, file, metadata={"format": "pt"})
    load(folder)
    with pytest.raises(InputError, match=r"missing or of another shape: classifier\.bias$"):
        load(folder, whole=True)


def test_unknown_name_says_what_was_tried(monkeypatch):
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    with pytest.raises(
        InputError, match=r"no alias .*did you mean minilm\?.* no folder, .* hub \(no route\)"
    ) as caught:
        load("minlm")
    assert "\n" not in str(caught.value)


def unreachable(*args, **kwargs):
    raise ConnectionError("no route")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_labels": 3, "labels": ("a", "b")}, "as many labels"),
        ({"num_labels": 3, "problem_type": "regression"}, "one output for regression"),
        ({"dtype": "float23"}, "did you mean float32"),
        ({"attention": "flashy"}, "cannot load the model"),
    ],
)
def test_refusals(folder, arguments, message):
    with pytest.raises(InputError, match=message):
        load(folder, **arguments)


def test_folder_without_model(tmp_path):
    with pytest.raises(InputError, match=r"no config\.json"):
        load(str(tmp_path))


@pytest.mark.parametrize("damage", ["{", '{"model_type": "nonesuch"}', ""])
def test_damaged_configuration(folder, tmp_path, damage):
    (tmp_path / "saved" / "config.json").write_text(damage)
    with pytest.raises(InputError, match="cannot load the model"):
        load(folder)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", r'"hidden_size": \d+', '"hidden_size": []'),
        ("tokenizer.json", r'"vocab": \{', '"vocab": {"odd": "x", '),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_folder(folder, tmp_path, file, old, new):
    place = tmp_path / "saved" / file
    changed, count = re.subn(old, new, place.read_text(), count=1)
    assert count == 1
    place.write_text(changed)
    with pytest.raises(InputError, match=f"cannot load the model {folder}: "):
        load(folder)


def test_damaged_weights(folder, tmp_path):
    (tmp_path / "saved" / "model.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match="cannot load the model"):
        load(folder)


def test_card_with_unknown_key(tmp_path):
    (tmp_path / "mine.yaml").write_text("description: x\nlicence: y\nparameters: 1\nhub: a/b\nlanguages: en\n")
    with pytest.raises(InputError, match=r"mine\.yaml is not a model card"):
        read(tmp_path / "mine.yaml")


def test_card_with_two_origins(tmp_path):
    (tmp_path / "mine.yaml").write_text("description: x\nlicence: y\nparameters: 1\nhub: a/b\narchitecture: bilstm\n")
    with pytest.raises(InputError, match="exactly one of sources, hub and architecture"):
        read(tmp_path / "mine.yaml")


def test_listing_imports_no_torch():
    code = "import sys, uegr.models as m; m.cards(); assert not {'torch', 'transformers'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
