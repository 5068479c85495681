"""The published methods by name, and what an author of a method needs.

    from uegr import methods
    methods.uegr(epsilon=0.1), methods.METHODS["rat"]()

A new method in this package is a file beside this one and a line in the table. docs/own_method.md is about a method of
your own.
"""

from uegr.methods.adv_mixout import adv_mixout
from uegr.methods.adv_ptwd import adv_ptwd
from uegr.methods.ascc import ascc
from uegr.methods.awp import awp
from uegr.methods.child_d import child_d
from uegr.methods.child_f import child_f
from uegr.methods.contract import (
    GradientEdit,
    Method,
    MethodFactory,
    Objective,
    Terms,
    configured,
    predictions,
    task_loss,
)
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
from uegr.methods.uegr_plus import uegr_plus
from uegr.methods.vanilla import vanilla
from uegr.methods.wcons import wcons
from uegr.pieces.divergence import between, js, kl, pairwise, symmetric_kl
from uegr.pieces.embedding import Batch, perturbed, repeated, token_mask, unwrapped
from uegr.pieces.perturbation import ascend, climb, normal_start, project, random_start, unit, zero_start
from uegr.pieces.randomness import rehearsed
from uegr.pieces.schedule import Moment, warmed
from uegr.pieces.selective import SelectiveUpdate
from uegr.pieces.weights import gradients, moved, steepest, trainable

METHODS: dict[str, MethodFactory] = {
    "vanilla": vanilla,
    "fgm": fgm,
    "rat": rat,
    "rat_su": rat_su,
    "uegr": uegr,
    "uegr_plus": uegr_plus,
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

__all__ = [
    "METHODS",
    "Batch",
    "GradientEdit",
    "Method",
    "MethodFactory",
    "Moment",
    "Objective",
    "SelectiveUpdate",
    "Terms",
    "ascend",
    "between",
    "climb",
    "configured",
    "gradients",
    "js",
    "kl",
    "moved",
    "normal_start",
    "pairwise",
    "perturbed",
    "predictions",
    "project",
    "random_start",
    "rehearsed",
    "repeated",
    "steepest",
    "symmetric_kl",
    "task_loss",
    "token_mask",
    "trainable",
    "unit",
    "unwrapped",
    "warmed",
    "zero_start",
    *METHODS,
]
