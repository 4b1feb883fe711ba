"""The families that most programs have no operator of, merged: a part of `table.py`.

It is imported when an operator is looked up that the ordinary families do not have.
"""

from __future__ import annotations

from .adaptive_max import ADAPTIVE_MAX
from .airy import AIRY
from .antialias import ANTIALIAS
from .arguments import ARGUMENTS
from .attention import ATTENTION
from .bag import BAG
from .batch_statistics import BATCH_STATISTICS
from .bessel import BESSEL
from .bisection import BISECTION
from .builder import Rows
from .checked_rows import checked
from .compaction import COMPACTION
from .complex_dispatch import with_complex
from .complex_pointwise import MAKES_COMPLEX
from .composites import COMPOSITE
from .convolution import CONVOLUTION
from .counting import COUNTING
from .covariance import COVARIANCE
from .creation import CREATION
from .ctc import CTC
from .decomposition import DECOMPOSITION
from .differences import DIFFERENCES
from .distance import DISTANCE
from .distinct import DISTINCT
from .divisors import DIVISORS
from .dropout import DROPOUT
from .element_arguments import ELEMENT_ARGUMENTS
from .equivalents import EQUIVALENT
from .factored import FACTORED
from .fake_quantization import FAKE_QUANTIZATION
from .gamma import GAMMA
from .gaussian import GAUSSIAN
from .general_eigenvalues import GENERAL_EIGENVALUES
from .hashing import HASHED
from .histogram import HISTOGRAM
from .indefinite import INDEFINITE
from .indefinite_systems import INDEFINITE_SYSTEMS
from .index import INDEX
from .index_arguments import INDEX_ARGUMENTS
from .loss import LOSS
from .masked_index import MASKED_INDEX
from .matrix_norm import MATRIX_NORM
from .memory_formats import MEMORY_FORMAT
from .nested import NESTED
from .normalization import NORMALIZATION
from .number_programs import NUMBER_PROGRAMS
from .order import ORDER
from .packed import PACKED
from .polynomial import POLYNOMIAL
from .pooling import POOLING
from .pooling_places import POOLING_PLACES
from .product import PRODUCT
from .quantization import QUANTIZATION
from .random_numbers import RANDOM
from .rearrange import REARRANGE
from .recurrent import RECURRENT
from .reinterpreted import REINTERPRETED
from .repeated import REPEATED
from .resize import RESIZE
from .sampling import SAMPLING
from .scattered_views import SCATTERED_VIEW
from .segments import SEGMENTS
from .selection import SELECTION
from .short_programs import SHORT_PROGRAM
from .sparse import SPARSE
from .special import SPECIAL
from .spectrum import SPECTRUM
from .statistic import STATISTIC
from .stft import STFT
from .systems import SYSTEM
from .windows import WINDOW

_ROWS: Rows = {
    **COMPACTION,
    **DISTINCT,
    **REINTERPRETED,
    **CREATION,
    **MEMORY_FORMAT,
    **NORMALIZATION,
    **BATCH_STATISTICS,
    **CONVOLUTION,
    **POOLING,
    **POOLING_PLACES,
    **INDEX,
    **BISECTION,
    **REPEATED,
    **MASKED_INDEX,
    **ATTENTION,
    **NESTED,
    **SPARSE,
    **LOSS,
    **RESIZE,
    **ANTIALIAS,
    **RECURRENT,
    **PACKED,
    **ADAPTIVE_MAX,
    **COUNTING,
    **DISTANCE,
    **EQUIVALENT,
    **ORDER,
    **PRODUCT,
    **REARRANGE,
    **SAMPLING,
    **SELECTION,
    **SEGMENTS,
    **HASHED,
    **HISTOGRAM,
    **COMPOSITE,
    **SHORT_PROGRAM,
    **NUMBER_PROGRAMS,
    **DIFFERENCES,
    **SCATTERED_VIEW,
    **SPECIAL,
    **RANDOM,
    **DROPOUT,
    **STATISTIC,
    **COVARIANCE,
    **BAG,
    **CTC,
    **GAUSSIAN,
    **DECOMPOSITION,
    **SYSTEM,
    **FACTORED,
    **GENERAL_EIGENVALUES,
    **INDEFINITE,
    **INDEFINITE_SYSTEMS,
    **MATRIX_NORM,
    **BESSEL,
    **AIRY,
    **GAMMA,
    **DIVISORS,
    **POLYNOMIAL,
    **MAKES_COMPLEX,
    **SPECTRUM,
    **STFT,
    **WINDOW,
    **FAKE_QUANTIZATION,
    **QUANTIZATION,
}

FURTHER: Rows = checked(with_complex(_ROWS), ARGUMENTS | INDEX_ARGUMENTS | ELEMENT_ARGUMENTS)
