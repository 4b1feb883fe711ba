"""Programs with modules: forward hooks and pre-hooks.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== hooks_top
def before(self, input: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
    return input[0] + self.k, input[1] * 2
def after(self, input: Tuple[Tensor, int], output: Tensor):
    return output * input[1], self.k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.register_forward_pre_hook(before)
        self.register_forward_hook(after)
    def forward(self, x: Tensor, n: int) -> Tensor:
        return x + n
>>> f(T([1.0]), 2)
>>> f.forward(T([1.0]), 2)

=== hooks_submodule
def before(self, input: Tuple[Tensor]) -> Tensor:
    return input[0] + 1
def quiet(self, input: Tuple[Tensor]) -> None:
    assert input[0].numel() > 0, "empty"
def after(self, input: Tuple[Tensor], output: Tensor):
    return output * 10
def silent(self, input: Tuple[Tensor], output: Tensor) -> None:
    assert output.numel() > 0
class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.plain = Inner()
        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_pre_hook(quiet)
        self.inner.register_forward_hook(after)
        self.inner.register_forward_hook(silent)
    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return self.inner(x), self.inner.forward(x), self.plain(x)
>>> f(T([1.0]))
>>> f.inner(T([1.0]))
>>> f.inner.forward(T([1.0]))
>>> f(torch.zeros(0))

=== hooks_repeated
def before(self, input: Tuple[str]) -> Tuple[str]:
    return (input[0] + "p",)
def after(self, input: Tuple[str], output: str):
    return output + "h"
class M(nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(2):
            self.register_forward_pre_hook(before)
            self.register_forward_hook(after)
    def forward(self, x: str) -> str:
        return x + "-"
>>> f("a")

=== hooks_no_arguments
def before(self, input: Tuple[()]) -> None:
    self.n += 1
def after(self, input: Tuple[()], output: None):
    self.n += 10
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.register_forward_pre_hook(before)
        self.register_forward_hook(after)
    def forward(self):
        self.n += 100
>>> f()
>>> f.n

=== hooks_change_result_type
def first(self, input: Tuple[Tensor], output: Tensor):
    return output, output + 1
def second(self, input: Tuple[Tensor], output: Tuple[Tensor, Tensor]):
    return output[0] * output[1]
class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.inner.register_forward_hook(first)
        self.inner.register_forward_hook(second)
    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1
>>> f(T([1.0]))

=== hooks_tuple_argument
def before(self, input: Tuple[Tuple[int, int]]) -> Tuple[Tuple[int, int]]:
    return ((input[0][0] + 1, input[0][1]),)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(before)
    def forward(self, pair: Tuple[int, int]) -> int:
        return pair[0] * pair[1]
>>> f((3, 4))

=== hooks_call_functions
def scale(x, k: float):
    return x * k
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def helper(self, x):
        return scale(x, 0.5)
    def forward(self, x):
        return self.fc(x)
def after(self, input: Tuple[Tensor], output: Tensor):
    return self.helper(output) + scale(input[0], 3.0)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Inner(), Inner())
        self.body[0].register_forward_hook(after)
    def forward(self, x):
        return self.body(x)
>>> f(T([[1.0, -2.0]]))

=== hook_name_of_method
def helper(self, input: Tuple[Tensor]) -> Tensor:
    return input[0]
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(helper)
    def helper(self, x):
        return x
    def forward(self, x):
        return self.helper(x)
>>> f(T([1.0]))

=== pre_hook_wrong_inner
def bad(self, input: Tuple[None]) -> Tuple[str]:
    return ("a",)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== pre_hook_too_many
def bad(self, input: Tuple[str], more: str) -> Tuple[str]:
    return ("a",)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== pre_hook_no_tuple
def bad(self, input: int) -> Tuple[str]:
    return ("a",)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== pre_hook_wrong_result
def bad(self, input: Tuple[str]) -> int:
    return 1
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== pre_hook_no_annotation
def bad(self, input: Tuple[str]):
    return 1
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== pre_hook_lost_tuple
def bad(self, input: Tuple[Tuple[int]]) -> Tuple[int]:
    return (11,)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: Tuple[int]) -> str:
        return "a"
>>> f((1,))

=== pre_hook_result_count
def bad(self, input: Tuple[str]) -> Tuple[str, str]:
    return "a", "b"
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_input_count
def bad(self, input: Tuple[str, str], output: str):
    return output
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_no_tuple
def bad(self, input: str, output: str):
    return output
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_wrong_inner
def bad(self, input: Tuple[None], output: str):
    return output
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_wrong_output
def bad(self, input: Tuple[str], output: Tuple[str]):
    return output
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_too_few
def bad(self, input: Tuple[str]):
    return input
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_unannotated_input
def bad(self, input, output: str):
    return output
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")

=== hook_does_not_compile
def bad(self, input: Tuple[str], output: str):
    return nothing
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(bad)
    def forward(self, x: str) -> str:
        return "a"
>>> f("a")
"""
