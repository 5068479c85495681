"""The published methods, by name. Adding one is a file beside this one and a line in the table."""

from uegr.methods.adv_mixout import adv_mixout
from uegr.methods.adv_ptwd import adv_ptwd
from uegr.methods.ascc import ascc
from uegr.methods.awp import awp
from uegr.methods.child_d import child_d
from uegr.methods.child_f import child_f
from uegr.methods.contract import GradientEdit, Method, MethodFactory, Objective
from uegr.methods.fgm import fgm
from uegr.methods.freelb import freelb
from uegr.methods.lpft import lpft
from uegr.methods.mixout import mixout
from uegr.methods.neftune import neftune
from uegr.methods.pgd import pgd
from uegr.methods.r3f import r3f
from uegr.methods.rat import rat
from uegr.methods.rat_su import rat_su
from uegr.methods.rdrop import rdrop
from uegr.methods.rift import rift
from uegr.methods.roast import roast
from uegr.methods.sam import sam
from uegr.methods.smart import smart
from uegr.methods.uegr import uegr
from uegr.methods.vanilla import vanilla
from uegr.methods.wcons import wcons

METHODS: dict[str, MethodFactory] = {
    "vanilla": vanilla,
    "fgm": fgm,
    "rat": rat,
    "rat_su": rat_su,
    "uegr": uegr,
    "pgd": pgd,
    "rdrop": rdrop,
    "freelb": freelb,
    "sam": sam,
    "smart": smart,
    "r3f": r3f,
    "neftune": neftune,
    "lpft": lpft,
    "awp": awp,
    "wcons": wcons,
    "child_f": child_f,
    "child_d": child_d,
    "mixout": mixout,
    "ascc": ascc,
    "rift": rift,
    "adv_ptwd": adv_ptwd,
    "adv_mixout": adv_mixout,
    "roast": roast,
}

__all__ = ["METHODS", "GradientEdit", "Method", "Objective", *METHODS]
