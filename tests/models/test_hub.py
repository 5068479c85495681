"""A hub name, against a small hub on this machine; and again without it, from the hub's cache."""

import json
import os
import subprocess
import sys

import torch
from transformers import BertTokenizer

from tests.models.families import tiny

SCRIPT = '''
import hashlib, json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(sys.argv[1])


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's protocol as a download needs: what is in a model, and its files by name."""

    def do_GET(self):
        path, names = self.path.split("?")[0], [file.name for file in folder.iterdir()]
        if path.startswith("/api/models/someone/tiny/tree/"):
            entries = [{"type": "file", "path": name, "size": 1, "oid": "2" * 40} for name in names]
            self.answer(200, json.dumps(entries).encode())
        elif path.startswith("/api/models/someone/tiny"):
            files = [{"rfilename": name} for name in names]
            self.answer(200, json.dumps({"id": "someone/tiny", "sha": "1" * 40, "siblings": files}).encode())
        elif path.rsplit("/", 1)[-1] in names:
            self.answer(200, (folder / path.rsplit("/", 1)[-1]).read_bytes())
        else:
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound" if "/resolve/" in path else "RepoNotFound"})

    do_HEAD = do_GET

    def answer(self, status, body, headers={}):
        tag = hashlib.sha256(body).hexdigest()
        self.send_response(status)
        for name, value in {"Content-Length": len(body), "X-Repo-Commit": "1" * 40, "ETag": tag, **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body if self.command == "GET" else b"")

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_address[1]}"  # read when the hub's package is imported

from uegr.errors import InputError
from uegr.models import Card, cards, fetch, load


def described():
    loaded = load("someone/tiny", num_labels=3, seed=5)
    return [type(loaded.model).__name__, loaded.model.config.num_labels, loaded.tokenizer("good")["input_ids"]]


def refused(name):
    try:
        load(name)
    except InputError as error:
        return str(error)


cards()["mine"] = Card(name="mine", description="", hub="someone/tiny")
answers = {"files": sorted(file.name for file in fetch("mine").iterdir()), "online": described()}
answers["absent"] = refused("someone/else")
server.shutdown()
server.server_close()
answers["offline"] = described()
answers["unreachable"] = refused("bert-base")
print(json.dumps(answers))
'''


def test_hub_name_then_its_cache(tmp_path):
    folder = tmp_path / "tiny"
    torch.manual_seed(0)
    tiny("bert")[0].save_pretrained(folder)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(folder)
    (folder / "flax_model.msgpack").write_bytes(b"another framework's weights")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers["files"] == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert answers["online"] == answers["offline"] == ["BertForSequenceClassification", 3, [2, 5, 3]]
    assert answers["absent"].startswith("unknown model someone/else: no alias of that name")
    assert "no folder, and nothing on the model hub" in answers["absent"]
    assert answers["unreachable"].startswith(
        "bert-base is google-bert/bert-base-uncased on the model hub, which does not"
    )
