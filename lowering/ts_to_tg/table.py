"""The operator table: one row a name, merged from one file a family.

A key is `aten::name.overload` or `aten::name` for all overloads that have no row of their own. An
in-place operator `name_` needs no row: it is `name` written back into its first argument.
"""

from __future__ import annotations

from tensorscript.base.composites import COMPOSITES
from tensorscript.base.schema import Schema
from tensorscript.base.twins import counterparts, maker_of

from .activation import ACTIVATION
from .adaptive_max import ADAPTIVE_MAX
from .airy import AIRY
from .antialias import ANTIALIAS
from .arguments import ARGUMENTS, checked
from .attention import ATTENTION
from .bag import BAG
from .batch_statistics import BATCH_STATISTICS
from .bessel import BESSEL
from .builder import Rows
from .compaction import COMPACTION
from .comparison import COMPARISON
from .complex_dispatch import with_complex
from .complex_pointwise import MAKES_COMPLEX
from .composites import COMPOSITE
from .containers import CONTAINER
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
from .joining import JOINING
from .linalg import LINALG
from .list_joining import LIST_JOINING
from .lists import GROWN
from .loss import LOSS
from .maps import MAPS
from .masked_index import MASKED_INDEX
from .matrix_norm import MATRIX_NORM
from .memory_formats import MEMORY_FORMAT
from .nested import NESTED
from .normalization import NORMALIZATION
from .number_programs import NUMBER_PROGRAMS
from .order import ORDER
from .packed import PACKED
from .pieces import PIECES
from .plain_rows import FOLDS_COMPLEX, functional_name
from .pointwise import POINTWISE
from .polynomial import POLYNOMIAL
from .pooling import POOLING
from .pooling_places import POOLING_PLACES
from .product import PRODUCT
from .properties import PROPERTIES
from .quantization import QUANTIZATION
from .random_numbers import RANDOM
from .rearrange import REARRANGE
from .recurrent import RECURRENT
from .reduction import REDUCTION
from .reinterpreted import REINTERPRETED
from .repeated import REPEATED
from .reshape import RESHAPE
from .reshaped_names import RESHAPES
from .resize import RESIZE
from .said import SAID
from .sampling import SAMPLING
from .scalars import SCALAR
from .scattered_views import SCATTERED_VIEW
from .segments import SEGMENTS
from .selection import SELECTION
from .short_programs import SHORT_PROGRAM
from .shown import OF_CONTAINERS, SHOWN
from .slicing import SLICING
from .sparse import SPARSE
from .special import SPECIAL
from .spectrum import SPECTRUM
from .statistic import STATISTIC
from .stft import STFT
from .strings import STRINGS
from .systems import SYSTEM
from .texts import TEXT_ROWS
from .view import VIEW
from .windows import WINDOW

_ROWS: Rows = {
    **POINTWISE,
    **COMPARISON,
    **COMPACTION,
    **DISTINCT,
    **ACTIVATION,
    **REDUCTION,
    **VIEW,
    **RESHAPE,
    **REINTERPRETED,
    **SLICING,
    **JOINING,
    **LINALG,
    **CREATION,
    **MEMORY_FORMAT,
    **NORMALIZATION,
    **BATCH_STATISTICS,
    **CONVOLUTION,
    **POOLING,
    **POOLING_PLACES,
    **INDEX,
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

BUILDERS: Rows = checked(with_complex(_ROWS), ARGUMENTS | INDEX_ARGUMENTS | ELEMENT_ARGUMENTS)

TABLES: dict[str, Rows] = {
    "container": {**STRINGS, **CONTAINER, **PIECES, **PROPERTIES, **SAID, **SHOWN},
    "grown": GROWN | LIST_JOINING | OF_CONTAINERS,
    "map": MAPS | OF_CONTAINERS,
    "scalar": SCALAR,
    "text": TEXT_ROWS | SAID,
    "tensor": BUILDERS,
}


def has_row(found: Schema) -> bool:
    """Whether the evaluator finds a row for an overload, by the order in which it looks."""
    base, overload = found.name, found.full_name[len(found.name) :]
    if found.full_name in RESHAPES or found.full_name in COMPOSITES:
        return True
    if found.full_name in TABLES["container"] or base in TABLES["container"]:
        return not found.is_out
    if base not in FOLDS_COMPLEX and any(str(a.type) == "complex" for a in found.arguments):
        return False
    if any(found.full_name in table or base in table for table in TABLES.values()):
        return not found.is_out
    if (functional := functional_name(base)) != base:
        pure = functional + overload
        return pure in BUILDERS or pure in COMPOSITES or functional in BUILDERS
    pure = base.removesuffix("_copy")
    return pure != base and not found.is_out and (pure + overload in BUILDERS or pure in BUILDERS)


def has_native_form(found: Schema) -> bool:
    """Whether an overload has a row, or is the `out=` of one that has: what the row gives is then
    written into the tensors of the caller."""
    if not found.is_out:
        return has_row(found)
    computes = next(counterparts(found, found.name), None) or maker_of(found)
    return computes is not None and has_row(computes)


def operator_names() -> frozenset[str]:
    """The operators (without overload) that have a native form."""
    keys = [k for table in (*TABLES.values(), COMPOSITES) for k in table]
    return frozenset(k.partition(".")[0] for k in keys if not k.startswith("tg::"))
