"""Names that C and C++ take: of the functions of an exported object, and of their parameters.

A parameter's name is the program's own; one that a header could not declare gets an underscore. A
function's name is the user's to choose, so a word of the language or of its library is refused.
"""

from __future__ import annotations

from dataclasses import replace

from tensorscript.base.errors import UserError

from .signature import Signature, ValueSpec


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words(
    """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor
    bool break case catch char char8_t char16_t char32_t class co_await co_return co_yield compl
    concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public reflexpr register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch synchronized template this thread_local throw true try
    typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t
    while xor xor_eq _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn
    _Static_assert _Thread_local
    """
)
"""Of C23 and C++20 (cppreference.com/w/c/keyword, /w/cpp/keyword)."""

_MACROS = _words(
    """
    BUFSIZ EDOM EILSEQ EOF ERANGE HUGE_VAL I INFINITY NAN NULL RAND_MAX assert complex errno i386
    imaginary linux math_errhandling noreturn offsetof setjmp stderr stdin stdout unix va_arg
    va_copy va_end va_start
    """
)
"""Of the standard headers and of compilers: a declaration that says one of them reads differently
behind these headers."""

_TYPES = _words(
    "DLDataType DLDevice DLTensor int64_t uint8_t uint16_t int32_t uint64_t int8_t int16_t "
    "uint32_t size_t self"
)
"""What the header itself says in a list of parameters."""

_LIBRARY = _words(
    """
    abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol bsearch calloc cbrt ceil
    clearerr close copysign cos cosh ctime div erf erfc exit exp exp2 expm1 fabs fclose fdim feof
    ferror fflush fgetc fgets floor fma fmax fmin fmod fopen fprintf fputc fputs fread free frexp
    fseek ftell fwrite getc getchar getenv hypot ilogb isalnum isalpha isdigit islower isspace
    isupper labs ldexp ldiv lgamma log log10 log1p log2 logb longjmp lrint lround main malloc memchr
    memcmp memcpy memmove memset mmap modf munmap nan nearbyint nextafter open perror pow printf
    putc putchar puts qsort raise rand read realloc remainder remove remquo rename rewind rint round
    scalbn scanf sin sinh signal sprintf sqrt srand sscanf strcat strchr strcmp strcpy strerror
    strlen strncmp strncpy strtod strtok strtol syscall system tan tanh tgamma time tmpfile tolower
    toupper trunc ungetc write
    """
)
"""Functions of the standard headers, and `main`. Those of one precision end in f or l."""


def with_c_names(signature: Signature) -> Signature:
    """The signature with names of parameters that every header can declare; all differ."""
    values = (*signature.inputs, *signature.outputs)
    taken = {spec.name for spec in values}
    return replace(
        signature,
        inputs=tuple(_renamed(spec, taken) for spec in signature.inputs),
        outputs=tuple(_renamed(spec, taken) for spec in signature.outputs),
    )


def _renamed(spec: ValueSpec, taken: set[str]) -> ValueSpec:
    name = spec.name
    if name not in _KEYWORDS | _MACROS | _TYPES:
        return spec
    while name in taken:
        name += "_"
    taken.add(name)
    return replace(spec, name=name)


def check_function_name(name: str, *texts: str) -> None:
    """Refuse the name of a function that C, its library or the object itself has already.

    Args:
        texts: LLVM text of what is in the object.

    Raises:
        UserError: says which, and what to do.
    """
    is_library = name in _LIBRARY or (name[-1:] in "fl" and name[:-1] in _LIBRARY)
    if name in _KEYWORDS | _MACROS | _TYPES or is_library:
        raise UserError(f"C has {name!r} of its own: give the function another name")
    if any(f"@{name}(" in text for text in texts):
        raise UserError(f"the object has {name!r} inside: give the function another name")
