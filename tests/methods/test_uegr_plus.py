"""uegr_plus against its literal transcription in float64, option by option; its refusals; steps without adversaries."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.methods.plus_reference import reference_step
from tests.methods.tiny_models import made, vanilla_gradients
from uegr.methods import uegr_plus
from uegr.pieces.schedule import Moment
from uegr.testing.models import Batch, batch_for, classifier
from uegr.testing.subject import gradients, prepared, step

READINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "without the adversarial loss": {"adversarial_weight": 0.0},
    "without the divergence": {"divergence_weight": 0.0},
    "pulled to each other": {"divergence_to": "submodels", "divergence": "js"},
    "worst synonyms": {"adversary": "words", "words": 0.5},
    "two adversaries": {"adversary": "both", "epsilon": 0.4},
    "two adversaries, three sub-models, one piece": {"adversary": "both", "submodels": 3, "split": 1, "words": 1.0},
    "both in one": {"adversary": "joint", "epsilon": 0.4},
    "both in one, one sub-model": {"adversary": "joint", "submodels": 1, "epsilon": 0.4},
    "in turn": {"adversary": "turns", "submodels": 1, "epsilon": 0.4},
    "in turn, three sub-models": {"adversary": "turns", "submodels": 3, "epsilon": 0.4},
    "token norm and rates": {"norm": "token", "rates": (0.2, 0.5), "adversary": "both"},
}


def some(model: nn.Module, labels: int = 3) -> Batch:
    """Four examples, two of them padded."""
    return {key: value[:4] for key, value in batch_for(model, labels).items()}


@pytest.mark.parametrize("labels", [3, 1], ids=["classification", "regression"])
@pytest.mark.parametrize("reading", READINGS)
def test_the_step_equals_its_transcription(reading: str, labels: int) -> None:
    check_step(reading, labels, number=0)


def check_step(reading: str, labels: int, number: int) -> None:
    model = classifier(labels=labels, dtype=torch.float64)
    batch = some(model, labels)
    method = prepared(made("uegr_plus", selective_update=False, **READINGS[reading]), model, batch)
    seen: list[Tensor] = []
    with model.get_input_embeddings().register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0])):
        terms = step(method, model, batch, moment=Moment(number, total=10))
    torch.manual_seed(0)
    expected = reference_step(model, batch, {**method.options, "step": number})
    for name, value in terms.items():
        torch.testing.assert_close(value, expected["terms"][name], rtol=1e-10, atol=1e-10)
    assert {name for name, value in expected["terms"].items() if value} == set(terms)
    for name, gradient in gradients(model).items():
        wanted = expected["gradients"].get(name, torch.zeros_like(gradient))
        torch.testing.assert_close(gradient, wanted, rtol=1e-10, atol=1e-10, msg=lambda text, n=name: n + text)
    check_texts(torch.cat(seen[1:]), expected["texts"], batch, {**method.options, "step": number})


def test_the_next_step_turns_the_adversaries_round() -> None:
    check_step("in turn", labels=3, number=1)
    model = classifier()
    batch = batch_for(model)
    method = prepared(made("uegr_plus", adversary="turns", submodels=1), model, batch)
    assert method.objective.passes == (2, 2)
    seen: list[Tensor] = []
    for number in (0, 1):
        with model.get_input_embeddings().register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0])):
            step(method, model, batch, moment=Moment(number, total=10))
    changed = [(texts != batch["input_ids"]).any(1) for texts in (seen[1], seen[3])]
    assert changed[0].any()
    assert changed[1].any()
    assert not (changed[0] & changed[1]).any()


def check_texts(seen: Tensor, expected: list[list[int]], batch: Batch, options: Any) -> None:
    """The adversarial passes saw the texts themselves, or those with the worst synonyms."""
    worst = batch["input_ids"].clone()
    for row, text in zip(worst, expected, strict=True):
        row[: len(text)] = torch.tensor(text)
    assert int((worst != batch["input_ids"]).sum()) > 0
    ids = batch["input_ids"]
    kinds = {"ball": [ids], "words": [worst], "joint": [worst]}.get(options["adversary"], [ids, worst])
    turns = (ids.sum(1) + options["step"]).tolist() if options["adversary"] == "turns" else [0] * len(ids)
    wanted = torch.stack(
        [kinds[(turn + k) % len(kinds)][i] for k in range(options["submodels"]) for i, turn in enumerate(turns)]
    )
    assert sorted(seen.tolist()) == sorted(wanted.tolist())


def test_every_second_step_has_no_adversary() -> None:
    model = classifier(dropout=False, dtype=torch.float64)
    batch = batch_for(model)
    method = prepared(made("uegr_plus", every=2, spread=0.0, selective_update=False), model, batch)
    assert method.objective.passes == (2, 2)
    assert set(step(method, model, batch, moment=Moment(2, total=10))) == {"task", "adversarial", "divergence"}
    assert set(step(method, model, batch, moment=Moment(3, total=10))) == {"task"}
    for name, gradient in vanilla_gradients().items():
        torch.testing.assert_close(gradients(model)[name], gradient, rtol=1e-12, atol=1e-12)
    shared = [bool(terms) for terms in method.objective.losses(model, batch)]
    assert shared == [False, False, True]  # the last backward is the one that processes share


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"adversary": "typos"}, "expected adversary to be one of ball, words, both, joint, turns, got 'typos'"),
    ({"divergence_to": "label"}, "expected divergence_to to be one of clean, submodels, got 'label'"),
    ({"words": 0.0}, "expected 0 < words <= 1, got 0.0"),
    (
        {"adversary": "both", "submodels": 1},
        "expected submodels >= 2 with adversary both, got 1; use adversary='turns'",
    ),
    ({"every": 0}, "expected every >= 1 steps, got 0"),
    ({"limit": 0}, "expected limit >= 1 substitutes per word, got 0"),
    ({"side": "left"}, "expected side to be one of second, first, both, got 'left'"),
    ({"depth": 1.0}, "expected 0 <= depth < 1, got 1.0"),
    ({"depth": 0.5, "adversary": "both"}, "expected adversary ball with depth=0.5, got 'both'; words enter at depth=0"),
    ({"depth": 0.5, "norm": "matrix"}, "expected a norm of vectors with depth=0.5, got 'matrix'; use norm='example'"),
    ({"adversarial_weight": -1.0}, "expected adversarial_weight >= 0, got -1.0"),
    (
        {"adversarial_weight": 0.0, "divergence_weight": 0.0},
        "expected adversarial_weight or divergence_weight above 0, got 0 for both; use vanilla",
    ),
]


@pytest.mark.parametrize(("options", "line"), REFUSED, ids=[line for _, line in REFUSED])
def test_a_value_that_cannot_be_is_refused_in_one_line(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        uegr_plus(**options)
    assert str(caught.value) == f"uegr_plus: {line}"
