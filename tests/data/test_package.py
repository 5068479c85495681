import io
import re
import tarfile

import pytest

from uegr.data import load
from uegr.data import package as package_room
from uegr.data.card import card
from uegr.data.resolve import from_card
from uegr.errors import InputError
from uegr.packages import digest

LINES = [
    f"{index}\t{rating}\tmovie number {index}" for index, rating in enumerate([2.5, -1.0, 0.9, 1.0, -3.1, -0.99] * 20)
]


@pytest.fixture
def snippets(tmp_path, monkeypatch):
    """The card `snippets`, whose package is an archive of 120 rows, 80 of them at least 1 away from 0."""
    known = card("snippets")
    content = ("\r\n".join(LINES) + "\r\n").encode()
    info = tarfile.TarInfo(known.where.package.file)
    info.size = len(content)
    with tarfile.open(tmp_path / "inner.tar.gz", "w:gz") as bundle:
        bundle.addfile(info, io.BytesIO(content))
    monkeypatch.setattr(package_room, "fetch", lambda source: tmp_path / "inner.tar.gz")
    member = known.where.package.model_copy(update={"archive_sha256": digest(tmp_path / "inner.tar.gz")})
    where = known.where.model_copy(update={"package": member})
    return known.model_copy(update={"where": where, "hash_split": {"validation": 10, "test": 10}})


def test_the_sign_of_a_rating_is_the_label_and_weak_ratings_are_left_out(snippets):
    sources = from_card(snippets, paper_split=False).sources
    rows = [row for source in sources.values() for row in source.read()]
    assert len(rows) == 80
    ratings = {line.split("\t")[2]: float(line.split("\t")[1]) for line in LINES}
    assert all(row.label == int(ratings[row.text] > 0) and abs(ratings[row.text]) >= 1 for row in rows)
    assert {split: sum(1 for _ in source.read()) for split, source in sources.items()} == {
        "train": 60,
        "validation": 10,
        "test": 10,
    }


def test_an_archive_of_another_hash_is_refused(snippets):
    with pytest.raises(InputError, match=re.escape("expected sha256 d5bb07d8")):
        load("snippets")  # the real card, the wrong archive
