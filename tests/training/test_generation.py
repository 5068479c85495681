"""Causal language models and token classification: what has no label counts for nothing, and they train."""

import pytest
import torch
from datasets import Dataset
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    BertForTokenClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    TrainingArguments,
)

from tests.doc_pages import ROOT, read
from tests.methods.tiny_models import made
from tests.models.families import tiny
from tests.tiny_run import sentences
from uegr import RobustTrainer
from uegr.data.vocabulary import vocabulary
from uegr.testing.models import spread_out, without_dropout
from uegr.training.step import backward

LENGTHS, PROMPTS = (
    (6, 4, 6, 5, 3, 6, 4, 6),
    (3, 1, 5, 2, 1, 2, 3, 4),
)  # of eight rows; what follows a prompt is labelled
four_methods = pytest.mark.parametrize("name", ["vanilla", "fgm", "rat", "uegr"])
both_tasks = pytest.mark.parametrize("task", ["causal", "tokens"])


def model_of(task, dtype=torch.float32, dropout=True):
    kind = {"causal": GPT2LMHeadModel, "tokens": BertForTokenClassification}[task]
    config = tiny("gpt2" if task == "causal" else "bert", num_labels=3)[0].config
    torch.manual_seed(0)
    return spread_out(without_dropout(kind(config), attention_only=dropout).to(dtype))


def rows_of(task):
    """Unequal texts with unequal numbers of labels: the words themselves, or classes that the words decide."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(5, 40, (8, 6), generator=generator)
    place = torch.arange(6)
    mask = (place < torch.tensor(LENGTHS)[:, None]).long()
    ids = torch.where(mask == 1, ids, 0)
    labels = ids if task == "causal" else ids % 3
    labels = torch.where((mask == 1) & (place >= torch.tensor(PROMPTS)[:, None]), labels, -100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def counted(task, labels):
    """The positions whose logits a label judges."""
    if task == "tokens":
        return labels != -100
    return torch.cat([labels[:, 1:] != -100, torch.zeros(len(labels), 1, dtype=torch.bool)], 1)


@four_methods
@both_tasks
def test_only_labelled_positions_are_judged(name, task):
    model, batch = model_of(task), rows_of(task)
    seen = []

    def look(module, inputs, keywords, output):
        output.logits.register_hook(lambda gradient: seen.append((keywords["labels"], gradient.clone())))

    hook = model.register_forward_hook(look, with_kwargs=True)
    terms = backward(made(name), model, batch)
    hook.remove()
    assert len(seen) >= (1 if name == "vanilla" else 2)
    for labels, gradient in seen:
        judged = counted(task, labels)
        assert judged.any()
        assert torch.equal(gradient.abs().sum(-1) > 0, judged)
    if name in ("rat", "uegr"):
        assert terms["divergence"] > 0


@four_methods
@both_tasks
def test_what_the_unlabelled_logits_are_changes_no_term(name, task):
    """The same step on a model whose logits at unlabelled places are shifted by a constant direction."""
    batch = rows_of(task)
    idle = ~counted(task, batch["labels"])

    def shift(module, inputs, output):
        passes = len(output) // len(idle)
        return output + idle.repeat(passes, 1).unsqueeze(-1) * torch.linspace(-3, 3, output.shape[-1])

    found = []
    for shifted in (False, True):
        model = model_of(task)
        head = model.get_submodule("lm_head" if task == "causal" else "classifier")
        if shifted:
            head.register_forward_hook(shift)
        torch.manual_seed(1)
        options = {} if name in ("vanilla", "fgm") else {"split": 1}
        found.append(backward(made(name, **options), model, batch))
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def trainer(name, model, folder, rows, **arguments):
    settings = {
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
        "save_strategy": "no",
        "seed": 1,
    }
    settings |= {"per_device_train_batch_size": 8, "lr_scheduler_type": "constant"}
    options = {"spread": 0.0} if name == "uegr" and not dropping(model) else {}
    return RobustTrainer(
        model=model,
        args=TrainingArguments(str(folder), **settings | arguments),
        train_dataset=[{key: values[row] for key, values in rows.items()} for row in range(len(rows["labels"]))],
        method=made(name, **options),
    )


def dropping(model):
    return any(module.p for module in model.modules() if isinstance(module, nn.Dropout))


@four_methods
@both_tasks
def test_it_trains(name, task, tmp_path):
    model, batch = model_of(task), rows_of(task)
    model.eval()
    before = float(model(**batch).loss.detach())
    trainer(name, model, tmp_path, batch, max_steps=8, learning_rate=0.02).train()
    model.eval()
    assert float(model(**batch).loss.detach()) < 0.8 * before


@pytest.mark.parametrize("name", ["vanilla", "rat", "uegr"])
@both_tasks
def test_two_times_four_are_one_times_eight_whatever_the_labels(name, task, tmp_path):
    ends = []
    for size, times in ((8, 1), (4, 2)):
        model = model_of(task, torch.float64, dropout=False)
        shape = {"per_device_train_batch_size": size, "gradient_accumulation_steps": times}
        rules = {"optim": "sgd", "max_grad_norm": 0.0, "learning_rate": 0.1, "max_steps": 1}
        trainer(name, model, tmp_path, rows_of(task), **shape, **rules).train()
        ends.append({key: weight.detach().clone() for key, weight in model.named_parameters()})
    start = dict(model_of(task, torch.float64, dropout=False).named_parameters())
    assert any(not torch.equal(start[key], weight) for key, weight in ends[0].items())
    for key, weight in ends[0].items():
        torch.testing.assert_close(ends[1][key], weight, rtol=0, atol=1e-6, msg=key)


def test_a_llama_without_dropout_is_refused_with_the_remedy(tmp_path):
    model = LlamaForCausalLM(tiny("llama")[0].config)
    for name in ("rat", "uegr"):
        with pytest.raises(ValueError, match="LlamaForCausalLM with none; give it dropout"):
            trainer(name, model, tmp_path, rows_of("causal"))
    trainer("fgm", model, tmp_path, rows_of("causal"), max_steps=1).train()


def test_the_script_of_the_page_trains_a_small_llama(tmp_path, monkeypatch):
    tokenizer = vocabulary(Dataset.from_dict({"text": [text for text, _ in sentences(200)] + ["-> good bad"] * 3}))
    tokenizer.eos_token = "[SEP]"
    tokenizer.save_pretrained(tmp_path / "model")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    (script,) = read(ROOT / "docs" / "generation.md").python
    assert script.count('fetch("smollm2")') == 1
    assert len([line for line in script.splitlines() if line.strip()]) <= 30
    names: dict = {}
    exec(compile(script.replace('fetch("smollm2")', '"model"'), "generation.md", "exec"), names)
    assert names["trainer"].state.global_step == 9
    assert repr(names["trainer"].method).startswith("uegr(")
    AutoModelForCausalLM.from_pretrained(tmp_path / "runs" / "writer" / "merged")
