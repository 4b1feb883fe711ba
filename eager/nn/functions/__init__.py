"""Functions of `nn.functional` that are more than one operator, by family.

House rule: they are written in the TorchScript language. Eager mode runs them as Python and the
script frontend compiles the same source, so that both mean the same. Operators are named through
`namespace`, and annotations name the types of the language (`BroadcastingList2[int]` is a list that
also takes one number).
"""
