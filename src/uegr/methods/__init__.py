"""The published methods, by name. Adding one is a file beside this one and a line in the table."""

from uegr.methods.contract import GradientEdit, Method, MethodFactory, Objective
from uegr.methods.fgm import fgm
from uegr.methods.rat import rat
from uegr.methods.rat_su import rat_su
from uegr.methods.uegr import uegr
from uegr.methods.vanilla import vanilla

METHODS: dict[str, MethodFactory] = {
    "vanilla": vanilla,
    "fgm": fgm,
    "rat": rat,
    "rat_su": rat_su,
    "uegr": uegr,
}

__all__ = ["METHODS", "GradientEdit", "Method", "Objective", *METHODS]
