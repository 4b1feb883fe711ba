"""The groups of the table, in its order."""

from __future__ import annotations

from collections.abc import Sequence

from data import DATA
from image_models import IMAGE_MODELS
from list_programs import LIST_PROGRAMS
from pointwise import CALL, POINTWISE, STEPS
from products import ATTENTION, PRODUCT
from quantized import QUANTIZED
from reductions import NORMALISATION, REDUCTION
from scalar_programs import SCALAR_PROGRAMS
from text_models import TEXT_MODELS
from windows import WINDOW
from workload import Workload

GROUPS: dict[str, Sequence[Workload]] = {
    "pointwise": POINTWISE,
    "reduction": REDUCTION,
    "normalisation": NORMALISATION,
    "product": PRODUCT,
    "quantized": QUANTIZED,
    "attention": ATTENTION,
    "window": WINDOW,
    "data": DATA,
    "model": (*IMAGE_MODELS, *TEXT_MODELS),
    "control flow": (*SCALAR_PROGRAMS, STEPS, *LIST_PROGRAMS),
    "call": CALL,
}
