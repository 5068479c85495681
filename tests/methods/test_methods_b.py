"""What the contract cannot ask of every method: equations away from anchors, exact limits, masks, heads, refusals."""

import copy
from typing import Any

import pytest
import torch
from reference_b import REFERENCES
from tiny_models import EARLY, adapted, batch_for, classifier, gradients, made, prepared, step
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, TrainingArguments

import uegr
from uegr import Moment, RobustTrainer, methods
from uegr.methods import Method
from uegr.training.step import edit_gradients

SMALL = {"steps": 3, "sparsity": 0.05}
FEATURES = {**SMALL, "projection": (8, 4), "alpha": 0.7}


def shaken(model: nn.Module, seed: int = 7) -> nn.Module:
    """The model some steps later."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return model


@pytest.mark.parametrize("labels", [3, 1], ids=["classification", "regression"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("wcons", {"anneal": "constant", "strength": 3.0}),
        ("wcons", {"k": 0.5, "t0": 3.0, "strength": 3.0}),
        ("mixout", {"p": 0.3}),
        ("adv_ptwd", {**SMALL, "strength": 0.7}),
        ("adv_ptwd", {**SMALL, "strength": 0.7, "distance": "squared"}),
        ("adv_mixout", {**SMALL, "p": 0.3}),
        ("rift", FEATURES),
        ("rift", {**FEATURES, "conditional": False}),
        ("rift", {**FEATURES, "conditional": False, "beta": 0.0}),
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
        with pytest.raises(ValueError, match="say conditional=False, or choose ascc"):
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
    method = getattr(methods, name)(substitutes=str(lexicon), limit=3)
    with pytest.raises(ValueError, match="expected a table of substitutes, got none") as refusal:
        method.objective.check(model)
    with pytest.raises(ValueError, match="expected a table of substitutes, got none"):
        uegr.backward(method, model, batch_for(model))
    lines = [line.strip() for line in str(refusal.value).splitlines()[1:]]
    assert len(lines) == 3
    exec("\n".join(lines), {"method": method, "tokenizer": vocabulary()})
    assert method.objective.table.ids.tolist() == [[0, 0, 0], [1, 1, 1], [2, 3, 2], [3, 3, 3]]
    method.objective.check(model)


def vocabulary() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {"[PAD]": 0, "[UNK]": 1, "good": 2, "fine": 3}
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")


def test_a_tokenizer_announces_the_table() -> None:
    method = methods.ascc()
    method.objective.tokenizer = vocabulary()
    method.objective.check(classifier())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wcons", {"strength": -1.0}, "wcons: expected strength >= 0, got -1.0"),
        ("wcons", {"anneal": "linear"}, "wcons: expected anneal to be sigmoid or constant, got 'linear'"),
        ("child_f", {"p": 0.0}, "child_f: expected 0 < p <= 1, got 0.0"),
        ("child_d", {"p": 1.3}, "child_d: expected 0 < p <= 1, got 1.3"),
        ("mixout", {"p": 1.0}, "mixout: expected 0 <= p < 1, got 1.0"),
        ("mixout", {"weights": "some"}, "mixout: expected weights to be matrices or all, got 'some'"),
        ("ascc", {"beta": float("nan")}, "ascc: expected beta >= 0, got nan"),
        ("ascc", {"steps": 0}, "ascc: expected steps >= 1, got 0"),
        ("ascc", {"limit": 1}, "ascc: expected limit >= 2"),
        ("adv_ptwd", {"distance": "far"}, "adv_ptwd: expected distance to be norm or squared, got 'far'"),
        ("rift", {"temperature": 0.0}, "rift: expected temperature > 0"),
        ("roast", {"reduction": "max"}, "roast: expected reduction to be mean or sum, got 'max'"),
        ("roast", {"alpha": 2.0}, "roast: expected 0 <= alpha <= 1, got 2.0"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        getattr(methods, name)(**options)


def layered(gradient: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The gradients of the layers, and all others, flat."""
    inside = [value.flatten() for key, value in gradient.items() if "encoder.layer" in key]
    outside = [value.flatten() for key, value in gradient.items() if "encoder.layer" not in key]
    return torch.cat(inside), torch.cat(outside)


def test_child_f_keeps_a_share_and_the_mean() -> None:
    model = classifier(dropout=False)
    batch = batch_for(model)
    step(methods.child_f(p=1.0), model, batch)
    unmasked = gradients(model)
    whole, rest = layered(unmasked)
    method, total, draws = methods.child_f(p=0.3), torch.zeros_like(whole), 200
    method.objective.check(model)
    for seed in range(draws):
        for key, weight in model.named_parameters():
            weight.grad = unmasked[key].clone()
        edit_gradients(method, model, Moment(step=4, seed=seed))
        masked, untouched = layered(gradients(model))
        assert torch.equal(untouched, rest)
        total += masked
    kept = (masked != 0) & (whole != 0)
    torch.testing.assert_close(masked[kept], whole[kept] / 0.3)
    assert float(kept.sum() / (whole != 0).sum()) == pytest.approx(0.3, abs=0.03)
    deviation = whole.abs() * (0.7 / 0.3 / draws) ** 0.5
    assert ((total / draws - whole).abs() <= 6 * deviation + 1e-9).all()


def test_child_f_draws_by_seed_and_step() -> None:
    model = classifier(dropout=False)
    batch, found = batch_for(model), []
    for moment in (Moment(3, seed=1), Moment(3, seed=1), Moment(4, seed=1), Moment(3, seed=2)):
        step(methods.child_f(), model, batch, moment=moment, seed=len(found))
        found.append(layered(gradients(model))[0])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[3])


def test_child_d_is_the_same_child_throughout_and_in_the_checkpoint() -> None:
    model = classifier()
    batches = [batch_for(model, seed=seed) for seed in range(3)]
    method = made("child_d", p=0.2)
    method.objective.prepare(model, batches)
    step(method, model, batches[0])
    first = gradients(model)
    resumed = made("child_d", p=0.2)
    resumed.load_state_dict(method.state_dict())
    step(resumed, model, batches[0], moment=Moment(9, seed=9))
    assert all(torch.equal(value, gradients(model)[key]) for key, value in first.items())
    inside, _ = layered(first)
    child = torch.cat([value.flatten() for value in method.state_dict().values()])
    assert float(child.float().mean()) == pytest.approx(0.2, abs=1e-3)
    assert float((inside != 0).float().mean()) <= 0.2 + 1e-3


def test_roast_masks_the_layers_only_and_only_after_the_first_epoch() -> None:
    model = classifier(dropout=False)
    batch = batch_for(model)
    options: dict[str, Any] = {"epsilon": 0.02, "alpha": 0.8, "beta": 1e6}
    method, plain = made("roast", **options), made("roast", **options)
    whole = layered(after(plain, model, batch, Moment(0, epoch_steps=100)))
    for number in range(3):
        found = layered(after(method, model, batch, Moment(number, epoch_steps=2)))
        assert torch.equal(found[1], whole[1])
        if number < 2:
            assert torch.equal(found[0], whole[0])
    assert float((found[0] != 0).float().mean()) == pytest.approx(0.2, abs=0.01)
    edge = whole[0].abs().sort(descending=True).values[int(0.19 * len(whole[0]))]
    assert (found[0][whole[0].abs() >= edge] != 0).all()


def after(method: Method, model: nn.Module, batch: dict[str, Tensor], moment: Moment) -> dict[str, Tensor]:
    step(method, model, batch, moment=moment)
    return gradients(model)


def test_roast_says_when_it_needs_the_epoch() -> None:
    model = classifier()
    with pytest.raises(ValueError, match="expected the number of steps in an epoch for refresh='epoch'"):
        uegr.backward(methods.roast(), model, batch_for(model))


def test_a_model_without_trainable_layers_is_refused() -> None:
    model = classifier()
    model.bert.encoder.requires_grad_(False)
    for method in (methods.child_f(), methods.child_d(), methods.roast()):
        with pytest.raises(ValueError, match="expected trainable layers in the encoder, got Bert"):
            method.objective.check(model)


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


def test_rift_s_heads_learn_and_its_frozen_model_holds_no_gradient() -> None:
    model = classifier()
    batch = batch_for(model)
    method = prepared(made("rift"), model, batch)
    heads, frozen = method.objective.memory.heads, method.objective.memory.frozen.module
    assert dict(model.named_parameters())["rift_heads.trained.0.0.weight"] is heads.trained[0][0].weight
    kept = {key: value.clone() for key, value in frozen.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    values = []
    for _ in range(20):
        values.append(float(step(method, model, batch)["information"]))
        optimizer.step()
    assert values[-1] < values[0] - 0.01
    assert not any(weight.requires_grad or weight.grad is not None for weight in frozen.parameters())
    assert not any(module.training for module in frozen.modules())
    assert all(torch.equal(value, kept[key]) for key, value in frozen.state_dict().items())


def test_rift_s_checkpoint_has_its_heads_and_refuses_another_start() -> None:
    model = classifier()
    batch = batch_for(model)
    method = prepared(made("rift"), model, batch)
    shaken(method.objective.memory.heads)
    state = method.state_dict()
    own = sum(weight.numel() for weight in method.objective.memory.heads.parameters())
    assert sum(value.numel() for value in state.values()) == own + 3  # three sums, and nothing of the frozen model
    again = classifier()
    resumed = prepared(made("rift"), again, batch)
    resumed.load_state_dict(state)
    for key, weight in resumed.objective.memory.heads.named_parameters():
        assert torch.equal(weight, dict(method.objective.memory.heads.named_parameters())[key])
    other = prepared(made("rift"), shaken(classifier()), batch)
    with pytest.raises(ValueError, match="expected the weights that this training once started from"):
        other.load_state_dict(state)


def test_preparing_rift_uses_up_no_random_number() -> None:
    model = classifier()
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = prepared(made("rift"), model, batch_for(model)).objective.memory.heads
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(4)
    second = prepared(made("rift"), model, batch_for(model)).objective.memory.heads
    assert not torch.equal(first.trained[0][0].weight, second.trained[0][0].weight)  # but follows the run's seed


def test_a_finished_rift_run_is_a_plain_model(tmp_path: Any) -> None:
    model = classifier()
    rows = [{key: value[i] for key, value in batch_for(model).items()} for i in range(8)]
    arguments = TrainingArguments(str(tmp_path), max_steps=2, use_cpu=True, report_to=[], save_strategy="no")
    trainer = RobustTrainer(model=model, args=arguments, train_dataset=rows, method=made("rift"))
    trainer.train()
    heads = trainer.method.objective.memory.heads
    assert {id(weight) for weight in heads.parameters()} <= {
        id(weight) for group in trainer.optimizer.param_groups for weight in group["params"]
    }
    trainer.save_model()
    loaded, report = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["unexpected_keys"]
    assert not report["missing_keys"]
    batch = batch_for(model)
    assert torch.equal(loaded.eval()(**batch)["logits"], model.eval()(**batch)["logits"])


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
