"""One function from texts to rows of numbers: called as rarely as possible, and its answers are checked."""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from uegr.attacks.search import Input, Scores
from uegr.errors import InputError

Function = Callable[[list[Any]], Any]


class Scorer:
    """Drops repeats, remembers, sorts by length, calls with full batches, and checks what comes back.

    `remember` bounds the memory in texts; the oldest are forgotten first. A million rows of two take some 300 MB.
    """

    def __init__(self, function: Function, name: str, batch_size: int = 64, remember: int = 1_000_000) -> None:
        if batch_size < 1:
            raise InputError(f"expected batch_size >= 1, got {batch_size}")
        self.function, self.name, self.batch_size, self.remember = function, name, batch_size, remember
        self.known: dict[bytes, Scores] = {}
        self.width: int | None = None  # numbers in a row, once seen
        self.scored, self.calls, self.seconds = 0, 0, 0.0

    def __call__(self, texts: Sequence[Input]) -> Scores:
        """Rows (n, width) in the order of the texts."""
        keys = [key(text) for text in texts]
        missing = {mark: text for mark, text in zip(keys, texts, strict=True) if mark not in self.known}
        order = sorted(missing.items(), key=lambda pair: length(pair[1]), reverse=True)  # the largest batch first:
        for start in range(0, len(order), self.batch_size):  # what does not fit in memory fails at once
            batch = order[start : start + self.batch_size]
            rows = self.asked([text for _, text in batch])
            self.known.update(zip((mark for mark, _ in batch), rows, strict=True))
        found = np.stack([self.known[mark] for mark in keys])
        while len(self.known) > self.remember:
            del self.known[next(iter(self.known))]
        return found

    def asked(self, texts: list[Input]) -> Scores:
        """One call of the function, timed and checked."""
        start = time.perf_counter()
        try:
            answer = self.function(texts)
        except InputError:
            raise
        except Exception as error:  # the user's function may raise anything: report it, and keep what is done
            reason = (str(error).strip().splitlines() or ["no message"])[0][:200]
            raise InputError(f"{self.name} failed on {len(texts)} texts: {type(error).__name__}: {reason}") from error
        finally:
            self.seconds += time.perf_counter() - start
        self.calls += 1
        self.scored += len(texts)
        return self.checked(answer, len(texts))

    def checked(self, answer: Any, count: int) -> Scores:
        """The answer as finite float64 rows (count, width)."""
        rows = numbers(answer, self.name)
        if rows.ndim == 1 and self.name != "predict":
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[0] != count or (self.width or rows.shape[1]) != rows.shape[1]:
            expected = f"({count}, {self.width or ('classes' if self.name == 'predict' else 'any')})"
            remedy = "; of a scikit-learn model, attack its predict_proba" if self.name == "predict" else ""
            raise InputError(f"{self.name} must give an array of shape {expected}, got {rows.shape}{remedy}")
        if not np.isfinite(rows).all():
            bad = int((~np.isfinite(rows)).any(axis=1).sum())
            raise InputError(f"{self.name} gave NaN or infinity for {bad} of {count} texts")
        if self.name == "predict":
            probabilities(rows)
        self.width = rows.shape[1]
        return rows


def numbers(answer: Any, name: str) -> NDArray[np.float64]:
    """An array of float64 from the array, tensor or list that a function returned."""
    try:
        plain = answer.detach().cpu().double().numpy() if isinstance(answer, torch.Tensor) else answer
        return np.array(plain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if name == "predict" and are_names(answer):
            raise InputError(
                f"expected predict to give probabilities, got labels such as {answer[0]!r:.40}; "
                "of a scikit-learn model, attack its predict_proba"
            ) from None
        raise InputError(f"{name} must give rows of numbers, got {type(answer).__name__} ({error})") from error


def are_names(answer: Any) -> bool:
    """Whether a function gave one word per text, as a classifier's `predict` does."""
    return isinstance(answer, list | tuple | np.ndarray) and len(answer) > 0 and isinstance(answer[0], str)


def probabilities(rows: Scores) -> None:
    """Refuse what is not a distribution over at least two classes: usually logits."""
    if rows.shape[1] < 2:
        raise InputError(f"predict must give the probabilities of at least 2 classes, got {rows.shape[1]} column")
    if (rows < -1e-6).any() or (np.abs(rows.sum(axis=1) - 1) > 1e-3).any():
        raise InputError(f"predict must give probabilities that sum to 1, got {rows[0][:4]}; apply a softmax to logits")


def key(text: Input) -> bytes:
    """A key of 16 bytes for a text or a pair, so that long texts are not kept."""
    joined = text if isinstance(text, str) else f"{len(text[0])}\0{text[0]}\0{text[1]}"
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def length(text: Input) -> int:
    """Characters."""
    return len(text) if isinstance(text, str) else len(text[0]) + len(text[1])
