"""Two processes (gloo) end with bitwise equal replicas, and do what one with both batches does."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, distributed

from tests.forks import pair
from tests.models.families import tiny
from tests.training.replica import WAYS, train, write_weights
from uegr.training.processes import leave_processes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes have written their weights."""
    place = tmp_path_factory.mktemp("replicas")
    assert pair(lambda rank: write_weights(place, rank, 2)) == [0, 0]
    return place


def weights(folder: Path, way: str, rank: int) -> dict[str, Tensor]:
    return load_file(folder / f"{way}-{rank}-of-2.safetensors")


@pytest.mark.parametrize("way", WAYS)
def test_replicas_end_bitwise_equal(folder: Path, way: str) -> None:
    first, second = (weights(folder, way, rank) for rank in range(2))
    start = dict(tiny("bert", num_labels=3)[0].named_parameters())
    assert first.keys() == second.keys() == start.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name].float(), start[name]) for name in first)


@pytest.mark.parametrize("way", [name for name in WAYS if WAYS[name]["still"]])
def test_two_processes_do_what_one_with_both_batches_does(folder: Path, way: str, tmp_path: Path) -> None:
    alone = train(**WAYS[way] | {"times": 1}, folder=tmp_path, processes=1)
    found = weights(folder, way, 0)
    for name, weight in alone.named_parameters():
        torch.testing.assert_close(found[name], weight.detach(), rtol=0, atol=1e-6, msg=lambda t, n=name: f"{n}: {t}")


def test_a_group_of_processes_is_left_once(tmp_path: Path) -> None:
    distributed.init_process_group("gloo", init_method=(tmp_path / "store").as_uri(), rank=0, world_size=1)
    leave_processes()
    assert not distributed.is_initialized()
    leave_processes()
