"""erfinv: polynomials, by how near to 1 its argument is.

erfinv(x)/x is a polynomial in w = -log(1 - x^2) about 3.125 where w < 6.25, else in sqrt(w): for
float32 about 3.25, up to its last number before 1 (6e-9 and 2e-8 off); for float64 about 3.25 where
that root is below 4 and about 5.05 behind (2e-17 off). The forms are Giles's (Approximating the
erfinv function, 2012), the numbers minimax fits and interpolations in Chebyshev's points.

Where registers are tables float32 takes one of 16 polynomials in -log2(1 - x^2), and elsewhere
float64's logarithm.
"""

from __future__ import annotations

from .builder import Builder, Value
from .coefficients import LOG2F
from .logarithm import decompose_normal
from .registers import has_tables, lookup
from .tables import ERFINV_STEPS
from .words import two_product

_MIDDLE_SINGLE = (
    1.6536545713016189, 0.2401581742049443, -0.006033730041460044, -0.000740687704226145,
    0.00018679965682399073, -1.3891455367579654e-05, -1.391950980821763e-06,
    4.263098621698581e-07, -2.4208967289507617e-08, -4.638629481692381e-09,
    6.377712479025003e-10,
)  # fmt: skip
_TAIL_SINGLE = (
    3.08388563005851, 1.0052584433602203, 0.0053697022697211105, -0.0037413575785950476,
    0.0025007652210482303, -0.001740551568135836, 0.0009395671011732231,
    -0.00024903774194073576,
)  # fmt: skip
_MIDDLE = (
    1.6536545626831027, 0.24015818242558834, -0.006033670871426851, -0.0007407025341546431,
    0.00018673420801981186, -1.3882523393957483e-05, -1.3654691758785656e-06,
    4.23478816822246e-07, -2.907039127564132e-08, -4.1126604371632185e-09,
    1.051223377050429e-09, -5.414303283919504e-11, -1.2978805369932565e-11,
    2.6305268312595183e-12, -8.07192593899004e-14, -4.0020031087558496e-14,
    6.521333511502239e-15, -3.94018812230432e-17, -1.2215637192404172e-16,
    1.5510787009902526e-17, 6.075050702072414e-19, -3.4734793888538036e-19,
    1.999259988861535e-20, 3.194015548136271e-21, -3.5932028927020693e-22,
)  # fmt: skip
_TAIL = (
    3.0838856104922208, 1.0052589676941655, 0.005370914553555033, -0.0037512085082247342,
    0.00249144209795696, -0.0016882755354488555, 0.0009532893415794137, -0.0003550378137852452,
    2.4031512865758357e-05, 6.828711739251955e-05, -4.732068066544697e-05,
    1.2465028224217455e-05, 2.93257845538535e-06, -3.985705945648173e-06,
    1.4815977874022539e-06, -2.761716223816241e-08, -2.4549818963339823e-07,
    1.3158663683192966e-07, -2.091453334773126e-08, -1.5305397964152548e-08,
    7.680200479077053e-09,
)  # fmt: skip
_LAST = (
    4.90042105144364, 1.0102850175977713, -0.00016985809149409965, -0.00020031200663244195,
    7.124031543921427e-05, -1.837453690245167e-05, 4.193853598399479e-06,
    -9.070804867494309e-07, 2.0161977749293584e-07, -5.495373584643725e-08,
    2.1819954198957383e-08, -1.1157237339184437e-08, 5.808784347621683e-09,
    -2.701182367811159e-09, 1.0457388953820868e-09, -3.287330062602554e-10,
    7.870516370080182e-11, 2.5642334664972044e-12, -1.5691036320801838e-11,
    5.029463831717124e-12,
)  # fmt: skip
_SPLIT, _FAR = 6.25, 4.0
_CENTRES = (3.125, 3.25, 5.05)
_STEPS_OFFSET, _STEP_BITS = 1.75, 21


def erfinv(b: Builder, x: Value) -> Value:
    """Infinite at 1 and -1, NaN beyond."""
    if b.dtype == "f64":
        found = _double(b, x)
    elif has_tables(b):
        found = _by_steps(b, x)
    else:
        found = _single(b, x)
    magnitude = b.abs(x)
    end = b.select(magnitude > 1.0, float("nan"), b.copysign(float("inf"), x))
    return b.select(magnitude >= 1.0, end, found)


def _negative_log(b: Builder, x: Value) -> Value:
    """w; 1 - x * x would be rounded as a whole."""
    return -b.call("log", (1.0 - x) * (x + 1.0))


def _double(b: Builder, x: Value) -> Value:
    w = _negative_log(b, x)
    root = b.intrinsic("sqrt", w)
    middle, tail, last = (
        b.polynomial(at - centre, numbers)
        for at, centre, numbers in zip(
            (w, root, root), _CENTRES, (_MIDDLE, _TAIL, _LAST), strict=True
        )
    )
    return x * b.select(w < _SPLIT, middle, b.select(root < _FAR, tail, last))


def _single(b: Builder, x: Value) -> Value:
    """Precise enough for float32: fewer terms, the first of which move the result by less than a
    rounding of float32 and are made in it."""
    wide, long = b.wide(), b.widen(x)
    w = _negative_log(wide, long)
    middle = w < _SPLIT
    moved = wide.select(middle, w, wide.intrinsic("sqrt", w)) - wide.select(middle, *_CENTRES[:2])
    short = b.narrow(moved)
    forms, steps = (_MIDDLE_SINGLE, _TAIL_SINGLE), 3
    high = [b.polynomial(short, numbers[steps:]) for numbers in forms]
    low = [wide.select(middle, *pair) for pair in zip(*(f[:steps] for f in forms), strict=True)]
    return b.narrow(long * wide.polynomial(moved, [*low, b.widen(b.select(middle, *high))]))


def _by_steps(b: Builder, x: Value) -> Value:
    """A centre is subtracted from the logarithm's whole part first, and the product with the value
    there has two words, so that other roundings are of small summands."""
    whole, f = decompose_normal(b, b.fma(-x, x, 1.0))
    fraction = f * b.polynomial(f, LOG2F["f32"])
    index = b.bits_of(_STEPS_OFFSET - (whole + fraction)).sar(_STEP_BITS)
    centre, value, *factors = (
        lookup(b, f"erfinv{place}", table, index) for place, table in enumerate(ERFINV_STEPS)
    )
    away = (-whole - centre) - fraction
    top, lost = two_product(b, x, value)
    found = top + b.fma(x, away * b.polynomial(away, factors), lost)
    return b.copysign(found, x)  # -0 has lost +0
