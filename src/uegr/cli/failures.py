"""What the machine refuses, as one line: a full disk or memory, a folder that may not be written, too long a path."""

import errno
import os
import re

FULL = "free some space, or choose a folder on another disk"
REMEDIES = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EFBIG: "raise the limit of a file's size (ulimit -f), or choose a folder on another disk",
    errno.EROFS: "choose a folder that can be written",
    errno.EACCES: "choose a path that you may use",
    errno.EPERM: "choose a path that you may use",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ENOTDIR: "a file is where a folder should be; choose another path",
    errno.EEXIST: "a file is where a folder should be; choose another path",
    errno.EISDIR: "a folder is where a file should be; choose another path",
    errno.ENOENT: "check the path",
    errno.EMFILE: "close other programs, or raise the limit (ulimit -n)",
    errno.EIO: "check the disk",
}
IN_RUST = re.compile(r"\(os error (\d+)\)")  # safetensors and tokenizers
TORCH = ("PytorchStreamWriter failed", "inline_container.cc", "iostream error")  # torch.save does not say why
MEMORY = ("can't allocate memory", "out of memory")  # torch, on the processor and on a GPU


def complaint(error: BaseException) -> str | None:
    """The path, the reason and the remedy; None for an error that is not the machine's.

    >>> complaint(OSError(28, "No space left on device", "runs/first"))
    'cannot use runs/first: No space left on device; free some space, or choose a folder on another disk'
    >>> complaint(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    'the memory is full; use a smaller batch, shorter texts or a smaller model, or close other programs'
    >>> complaint(ValueError("a bug"))
    """
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in MEMORY):
        return "the memory is full; use a smaller batch, shorter texts or a smaller model, or close other programs"
    code, reason = cause(error)
    if code is None and reason is None:
        return None
    path = getattr(error, "filename2", None) or getattr(error, "filename", None)
    where = f"cannot use {os.fsdecode(path)}" if isinstance(path, str | bytes) else "a file cannot be used"
    return f"{where}: {reason}; {REMEDIES.get(code or 0, 'check the path and the disk')}"


def cause(error: BaseException) -> tuple[int | None, str | None]:
    """The number of the system's error and its text."""
    if isinstance(error, OSError):
        return error.errno, error.strerror or str(error)
    if found := IN_RUST.search(str(error)):
        return int(found[1]), os.strerror(int(found[1]))
    if not any(sign in str(error) for sign in TORCH):
        return None, None
    if is_limited():
        return errno.EFBIG, "the file was not written, most often since it would be larger than allowed"
    return errno.ENOSPC, "the file was not written, most often for want of space"


def is_limited() -> bool:
    """Whether this process may write no file above some size."""
    if os.name != "posix":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
