"""Files are whole or not there, only regular files are replaced, and the umask decides who may read them."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import end_of, forked
from uegr.errors import InputError
from uegr.files import machine, replacing, share, write_text


@pytest.fixture(params=[0o022, 0o027, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: int) -> None:
    write_text(tmp_path / "a", "text")
    assert mode(tmp_path / "a") == 0o666 & ~umask


def test_what_a_library_wrote_for_its_owner_alone_is_shared(tmp_path: Path, umask: int) -> None:
    file = tmp_path / "a"
    file.touch()
    file.chmod(0o600)
    share([file])
    assert mode(file) == 0o666 & ~umask
    assert os.listdir(tmp_path) == ["a"]


def test_nothing_is_left_and_nothing_replaced_when_the_body_raises(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "before")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a") as partial:
        partial.write_text(str(1 // 0))
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "before"


def special_files(folder: Path) -> dict[str, Path]:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link to a device").symlink_to("/dev/null")
    (folder / "link to a folder").symlink_to(folder / "folder")
    names = {name: folder / name for name in ("folder", "pipe", "link to a device", "link to a folder")}
    return names | {"device": Path("/dev/null")}


@pytest.mark.parametrize("name", ["folder", "pipe", "device", "link to a device", "link to a folder"])
def test_a_special_file_is_not_replaced(tmp_path: Path, name: str) -> None:
    path = special_files(tmp_path)[name]
    before = os.lstat(path)
    with pytest.raises(InputError, match=r"^expected a file or a new path, got .*, a (folder|pipe|device); choose"):
        write_text(path, "text")
    assert os.lstat(path)[:3] == before[:3]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("keep")
    (tmp_path / "result.json").symlink_to(tmp_path / "secret")
    write_text(tmp_path / "result.json", "new")
    assert (tmp_path / "secret").read_text() == "keep"
    assert (tmp_path / "result.json").read_text() == "new"


def test_a_name_as_long_as_the_file_system_takes_is_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), "text")
    assert (tmp_path / ("n" * 255)).read_text() == "text"


def killed_while_writing(path: Path) -> None:
    """A child is killed after it has written, before the file gets its name."""

    def write() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    assert end_of(forked(write)) == -signal.SIGKILL


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "a")
    (left,) = os.listdir(tmp_path)
    assert left.endswith(".partial")
    write_text(tmp_path / "b", "text")
    assert os.listdir(tmp_path) == ["b"]


def test_what_a_living_process_another_machine_or_a_user_writes_stays(tmp_path: Path) -> None:
    numbers = (f"{machine()}-{os.getppid()}", "00000000-99999999")
    names = {*(f".a.{number}-{'0' * 12}.partial" for number in numbers), ".a.partial", f".{machine()}-9-x.partial"}
    for name in names:
        (tmp_path / name).touch()
    write_text(tmp_path / "b", "text")
    assert set(os.listdir(tmp_path)) == {*names, "b"}


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        write_text(tmp_path / "missing" / "file.yaml", "")
    assert raised.value.filename == str(tmp_path / "missing" / "file.yaml")
