"""An objective that replaces words by their substitutes: where its table comes from, and which texts may change."""

from torch import Tensor, nn

from uegr.methods.contract import Objective
from uegr.pieces.hull import Substitutes
from uegr.pieces.sides import Side, check_side


class Substitution(Objective):
    """It needs a table of substitutes: `use_table`, or a trainer that knows the tokenizer and builds it."""

    substitutes: str  # the surface that attacks use
    limit: int  # substitutes per word
    side: Side
    table: Substitutes | None = None

    def configure_words(self, substitutes: str, limit: int, side: str | None) -> None:
        """Keep the options, checked; a run has taken `side` from its data card, and without one it is the second."""
        if limit < 1:
            raise ValueError(f"expected limit >= 1 substitutes per word, got {limit}")
        self.substitutes, self.limit, self.side = substitutes, limit, check_side("second" if side is None else side)

    def use_table(
        self,
        ids: Tensor,
        mask: Tensor,
        goes_on: Tensor | None = None,
        open_ended: Tensor | None = None,
        separator: int | None = None,
    ) -> None:
        """What may replace what, by token id, and what stands between two texts: `uegr.attacks.vocabulary.tables`."""
        self.table = Substitutes(ids, mask, goes_on, open_ended, separator)

    def known(self) -> Substitutes:
        """The table, or how to get one."""
        if self.table is None:
            raise ValueError(
                "expected a table of substitutes, got none; give the trainer a processing_class, or use:\n"
                "    from uegr.attacks import load_surface\n"
                "    from uegr.attacks.vocabulary import tables\n"
                f"    method.objective.use_table(*tables(tokenizer, load_surface({self.substitutes!r}), {self.limit}))"
            )
        return self.table

    def table_on(self, tokens: Tensor) -> Substitutes:
        """The table on the device of the tokens, kept there."""
        self.table = self.known().to(tokens.device)
        return self.table

    def check(self, model: nn.Module) -> None:
        if self.needs_tokenizer and self.known().separator is None and self.side != "both":
            raise ValueError(
                f"expected a tokenizer that puts a separator between two texts for side={self.side!r}, got one that "
                "does not; use side='both' if the rows are single texts, or if both texts may change"
            )
