"""RIFT beyond the contract: its projections learn, its frozen model stands still, and neither is in what it saves."""

from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, TrainingArguments

from tests.methods.tiny_models import made, shaken
from uegr import RobustTrainer
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import prepared, step


def test_rift_s_heads_learn_and_its_frozen_model_holds_no_gradient() -> None:
    model = classifier()
    batch = batch_for(model)
    torch.manual_seed(0)  # the heads follow it; how far they get in twenty steps depends on where they start
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
    with pytest.raises(ValueError, match="expected the weights that this training started from"):
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
