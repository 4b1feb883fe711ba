"""Coefficients of log gamma, for eager mode and compiled code alike.

log gamma has zeros at 1 and 2, where sums lose all digits: near them it is
(x - 1) (x - 2) h(x), and h is a polynomial, fitted by Chebyshev interpolation. From `STIRLING_FROM`
on Stirling's series (Abramowitz and Stegun 6.1.41) is enough; between, the recurrence leads down.
"""

from __future__ import annotations

NEAR_ONE_CENTRE = 1.2
NEAR_ONE = (
    0.5335880625207241, -0.19445588075153838, 0.10358117662348368, -0.06415771449775097,
    0.04292303724122531, -0.030046169188850946, 0.021656714260741915, -0.01593029825592898,
    0.01189451841847396, -0.008983834160796853, 0.006847801983538641, -0.005258954828206777,
    0.004064754155069015, -0.003158156434356357, 0.002458567928988908, -0.0019267053052841308,
    0.0015644897154675408, -0.0012349325381695675, 0.000748435733008102, -0.0005921879740697448,
    0.0010726188568668555, -0.000856478664349532,
)  # fmt: skip
"""h on [0.8, 1.6], in powers of x - NEAR_ONE_CENTRE, lowest first."""
NEAR_TWO_CENTRE = 2.1
NEAR_TWO = (
    0.4130703504044103, -0.09407683459509136, 0.029529872820103907, -0.010578565568335786,
    0.004068863166545033, -0.0016348386495116508, 0.0006762434274906029, -0.0002855231228875708,
    0.00012239131088949206, -5.307255336064001e-05, 2.3224966691044938e-05,
    -1.0249624563632393e-05, 4.546012585889879e-06, -1.9783078884679107e-06,
    8.854694876186693e-07, -5.081938247872284e-07, 2.294273078551696e-07,
)  # fmt: skip
"""h on [1.6, 2.6], in powers of x - NEAR_TWO_CENTRE, lowest first."""
LOW, MIDDLE, STIRLING_FROM = 0.8, 1.6, 8.0
"""Below LOW the recurrence leads up by one; the polynomials meet at MIDDLE; one above it, the
recurrence leads down."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""B(2k) / (2k (2k - 1)), of the odd powers of 1 / x."""
