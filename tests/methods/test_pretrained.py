"""What the contract cannot ask of every method: equations away from anchors, exact limits, masks, heads, refusals."""

import copy
from typing import Any

import pytest
import torch
from transformers import BertModel

import uegr
from tests.methods.reference_pretrained import REFERENCES
from tests.methods.tiny_models import made, shaken
from uegr import Moment, methods
from uegr.methods import METHODS
from uegr.testing.models import adapted, batch_for, classifier, substitutes
from uegr.testing.subject import EARLY, gradients, prepared, step

SMALL = {"steps": 3, "sparsity": 0.05}
FEATURES = {**SMALL, "projection": (8, 4), "alpha": 0.7}


@pytest.mark.parametrize("labels", [3, 1], ids=["classification", "regression"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("wcons", {"anneal": "constant", "strength": 3.0}),
        ("wcons", {"k": 0.5, "t0": 3.0, "strength": 3.0}),
        ("mixout", {"p": 0.3}),
        ("mixout", {"p": 0.3, "unit": "weight"}),
        ("adv_ptwd", {**SMALL, "strength": 0.7}),
        ("adv_ptwd", {**SMALL, "strength": 0.7, "distance": "squared"}),
        ("adv_mixout", {**SMALL, "p": 0.3}),
        ("adv_mixout", {**SMALL, "p": 0.3, "unit": "weight"}),
        ("rift", FEATURES),
        ("rift", {**FEATURES, "conditional": False}),
        ("rift", {**FEATURES, "conditional": False, "beta": 0.0}),
        ("rift", {**FEATURES, "attack": False}),
        ("rift", {**FEATURES, "attack": False, "conditional": False}),
        ("roast", {"epsilon": 0.5, "divergence_weight": 2.0, "adversarial": False}),
        ("roast", {"epsilon": 0.5, "divergence_weight": 0.3, "reduction": "sum"}),
    ],
)
def test_away_from_the_anchors_the_gradient_equals_the_equations(
    name: str, options: dict[str, Any], labels: int
) -> None:
    model = classifier(labels=labels, dtype=torch.float64)
    batch = batch_for(model, labels)
    method = made(name, **options)
    if name == "rift" and labels == 1 and method.options["conditional"]:
        with pytest.raises(ValueError, match="use conditional=False, or choose ascc"):
            prepared(method, model, batch)
        return
    before = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    prepared(method, model, batch)
    shaken(model)
    torch.manual_seed(0)
    expected = REFERENCES[name](copy.deepcopy(model), batch, dict(method.options) | {"pretrained": before})
    step(method, model, batch, moment=EARLY)
    for key, gradient in gradients(model).items():
        wanted = expected.get(key, torch.zeros_like(gradient))
        torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize(
    ("name", "options", "other", "others"),
    [
        ("wcons", {"strength": 0.0, "anneal": "constant"}, "vanilla", {}),
        ("child_f", {"p": 1.0}, "vanilla", {}),
        ("child_d", {"p": 1.0}, "vanilla", {}),
        ("mixout", {"p": 0.0}, "vanilla", {}),
        ("ascc", {"beta": 0.0}, "vanilla", {}),
        ("rift", {"alpha": 0.0, **SMALL}, "ascc", SMALL),
        ("rift", {"alpha": 0.0, "attack": False}, "vanilla", {}),
        ("adv_ptwd", {"strength": 0.0, **SMALL}, "ascc", SMALL),
        ("adv_mixout", {"p": 0.0, **SMALL}, "ascc", SMALL),
        ("roast", {"epsilon": 0.0, "divergence_weight": 0.0, "adversarial": False}, "vanilla", {}),
    ],
)
def test_a_limit_is_the_other_method_bitwise(
    name: str, options: dict[str, Any], other: str, others: dict[str, Any]
) -> None:
    found = []
    for method in (made(name, **options), made(other, **others)):
        model = classifier()
        batch = batch_for(model)
        prepared(method, model, batch)
        step(method, shaken(model), batch, moment=EARLY)
        found.append(gradients(model))
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(value, found[1][key]) for key, value in found[0].items())


@pytest.mark.parametrize("side", ["second", "first", "both"])
@pytest.mark.parametrize("name", ["ascc", "rift", "adv_ptwd", "adv_mixout"])
def test_of_a_pair_only_the_side_that_may_change_is_moved(name: str, side: str) -> None:
    """Against the literal equations; the last three tokens of a row are its second text."""
    model = classifier(dtype=torch.float64)
    batch = batch_for(model)
    batch["token_type_ids"] = (batch["attention_mask"].flip(1).cumsum(1).flip(1) <= 3).long() * batch["attention_mask"]
    method = prepared(made(name, side=side, **(FEATURES if name == "rift" else SMALL)), model, batch)
    torch.manual_seed(0)
    expected = REFERENCES[name](copy.deepcopy(model), batch, dict(method.options))
    step(method, model, batch, moment=EARLY)
    for key, gradient in gradients(model).items():
        wanted = expected.get(key, torch.zeros_like(gradient))
        torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}")


@pytest.mark.parametrize("name", ["mixout", "adv_mixout"])
def test_mixout_replaces_whole_neurons_by_default(name: str) -> None:
    assert METHODS[name]().options["unit"] == "neuron"


def test_the_default_side_is_what_the_data_card_says_and_without_a_card_the_second_text() -> None:
    for name in ("ascc", "rift", "adv_ptwd", "adv_mixout", "uegr_plus"):
        method = METHODS[name]()
        assert method.options["side"] is None
        assert method.objective.side == "second"


@pytest.mark.parametrize("name", ["ascc", "rift", "adv_ptwd", "adv_mixout"])
def test_a_tokenizer_that_marks_no_boundary_is_refused_at_the_start(name: str) -> None:
    model = classifier()
    table = substitutes()[:2]
    method = METHODS[name]()
    method.objective.use_table(*table)
    with pytest.raises(ValueError, match=r"expected a tokenizer .* for side='second', got one .*; use side='both'"):
        method.objective.check(model)
    method = METHODS[name](side="both")
    method.objective.use_table(*table)
    method.objective.check(model)


def test_informative_fine_tuning_needs_no_substitutes_and_costs_two_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier()
    batch = batch_for(model)
    method = METHODS["rift"](attack=False, projection=(8, 4))
    assert not method.objective.needs_tokenizer
    prepared(method, model, batch)
    rows, forward = [0], BertModel.forward

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        rows[0] += len(kwargs["input_ids"] if "input_ids" in kwargs else args[0])
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(BertModel, "forward", counted)
    assert step(method, model, batch).keys() == {"task", "information"}
    assert method.objective.passes == (2, 1)
    assert rows[0] == 2 * len(batch["labels"])


def test_wcons_without_strength_is_the_annealed_task() -> None:
    model = classifier(dtype=torch.float64)
    batch = batch_for(model)
    method = prepared(made("wcons", strength=0.0, k=1.0, t0=2.0), model, batch)
    step(method, model, batch, moment=Moment(step=2))
    annealed = gradients(model)
    step(methods.vanilla(), model, batch)
    for key, gradient in gradients(model).items():
        torch.testing.assert_close(annealed[key], gradient / (1 + 2.718281828459045**-1), rtol=1e-12, atol=1e-15)


def test_wcons_recalls_first_and_learns_later() -> None:
    model = classifier()
    batch = batch_for(model)
    method = prepared(made("wcons"), model, batch)
    shaken(model)
    terms = [step(method, model, batch, moment=Moment(number, total=200)) for number in (0, 19, 199)]
    task, penalty = ([float(term[key]) for term in terms] for key in ("task", "penalty"))
    assert task[0] < task[1] < task[2]
    assert penalty[0] > penalty[1] > penalty[2]


@pytest.mark.parametrize("name", ["wcons", "mixout", "adv_ptwd", "adv_mixout", "child_d", "rift"])
def test_without_preparation_the_remedy_is_named(name: str) -> None:
    model = classifier()
    with pytest.raises(ValueError, match=r"call\s+method.objective.prepare\(model, batches\)"):
        uegr.backward(made(name, **({"t0": 1.0} if name == "wcons" else {})), model, batch_for(model))


@pytest.mark.parametrize("name", ["ascc", "rift", "adv_ptwd", "adv_mixout"])
def test_without_a_table_three_lines_are_the_remedy(name: str, tmp_path: Any) -> None:
    lexicon = tmp_path / "words.tsv"
    lexicon.write_text("good\tfine\n")
    model = classifier()
    method = getattr(methods, name)(substitutes=str(lexicon), limit=2)
    with pytest.raises(ValueError, match="expected a table of substitutes, got none") as refusal:
        method.objective.check(model)
    with pytest.raises(ValueError, match="expected a table of substitutes, got none"):
        uegr.backward(method, model, batch_for(model))
    lines = [line.strip() for line in str(refusal.value).splitlines()[1:]]
    assert len(lines) == 3
    exec("\n".join(lines), {"method": method, "tokenizer": vocabulary()})
    assert method.objective.table.ids.tolist() == [[0, 0, 0], [1, 1, 1], [2, 3, 2], [3, 3, 3], [4, 4, 4]]
    method.objective.check(model)


def vocabulary() -> Any:
    from tokenizers import Tokenizer, models, processors
    from transformers import PreTrainedTokenizerFast

    words = {"[PAD]": 0, "[UNK]": 1, "good": 2, "fine": 3, "[SEP]": 4}
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    inner.post_processor = processors.TemplateProcessing(single="$A", pair="$A [SEP] $B", special_tokens=[("[SEP]", 4)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", sep_token="[SEP]")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wcons", {"strength": -1.0}, "wcons: expected strength >= 0, got -1.0"),
        ("wcons", {"anneal": "linear"}, "wcons: expected anneal to be sigmoid or constant, got 'linear'"),
        ("child_f", {"p": 0.0}, "child_f: expected 0 < p <= 1, got 0.0"),
        ("child_d", {"p": 1.3}, "child_d: expected 0 < p <= 1, got 1.3"),
        ("mixout", {"p": 1.0}, "mixout: expected 0 <= p < 1, got 1.0"),
        ("mixout", {"weights": "some"}, "mixout: expected weights to be matrices or all, got 'some'"),
        ("mixout", {"unit": "row"}, "mixout: expected unit to be neuron or weight, got 'row'"),
        ("ascc", {"beta": float("nan")}, "ascc: expected beta >= 0, got nan"),
        ("ascc", {"steps": 0}, "ascc: expected steps >= 1, got 0"),
        ("ascc", {"limit": 0}, "ascc: expected limit >= 1"),
        ("adv_ptwd", {"distance": "far"}, "adv_ptwd: expected distance to be norm or squared, got 'far'"),
        ("rift", {"temperature": 0.0}, "rift: expected temperature > 0"),
        ("roast", {"reduction": "max"}, "roast: expected reduction to be mean or sum, got 'max'"),
        ("roast", {"alpha": 2.0}, "roast: expected 0 <= alpha <= 1, got 2.0"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        getattr(methods, name)(**options)


def test_lora_adapters_are_mixed_and_recalled() -> None:
    model = adapted()
    batch = batch_for(model)
    method = prepared(made("wcons", anneal="constant"), model, batch)
    assert set(method.objective.anchors.values) == {key for key, _ in model.named_parameters() if "lora_" in key}
    before = sum(float(step(method, model, batch)["penalty"]) for _ in range(1))
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "lora_" in key:
                weight.add_(0.5)
    count = sum(weight.numel() for key, weight in model.named_parameters() if "lora_" in key)
    assert before == 0
    assert float(step(method, model, batch)["penalty"]) == pytest.approx(0.25 * count / 2, rel=1e-5)


@pytest.mark.parametrize("name", ["mixout", "adv_mixout", "ascc", "rift", "roast"])
def test_gradient_checkpointing_changes_nothing(name: str) -> None:
    found = []
    for checkpointing in (False, True):
        model = classifier(dropout=False, dtype=torch.float64)
        batch = batch_for(model)
        torch.manual_seed(0)
        method = prepared(made(name), model, batch)
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        step(method, shaken(model), batch, moment=EARLY)
        found.append(gradients(model))
    for key, gradient in found[0].items():
        torch.testing.assert_close(found[1][key], gradient, rtol=1e-9, atol=1e-12)
