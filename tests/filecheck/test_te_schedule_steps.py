"""What does each schedule primitive print? One case a primitive: IR in, steps, IR out."""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import Step, step

POINTWISE = """
te.func @f kernel logical (x: f32[N, 12], N: i64, out y: f32[N, 12]) {
  te.for i in 0 .. N serial {
    te.for j in 0 .. 12 serial {
      te.store y[i, j] = -x.f32[i, j]
    }
  }
}"""
ROW_SUM = """
te.func @f kernel logical (x: f32[N, 16], N: i64, out y: f32[N]) {
  te.for i in 0 .. N serial {
    te.store y[i] = (0.0).f32
    te.for k in 0 .. 16 serial reduce {
      te.update y[i] add= x.f32[i, k]
    }
  }
}"""
CHAIN = """
te.func @f kernel logical (x: f32[N], N: i64, out y: f32[N]) {
  te.alloc arena t: f32[N]
  te.for i in 0 .. N serial {
    te.store t[i] = exp(x.f32[i])
  }
  te.for j in 0 .. N serial {
    te.store y[j] = t.f32[j] + x.f32[j]
  }
}"""
TOTAL = """
te.func @f kernel logical (x: f32[N], N: i64, out y: f32[]) {
  te.store y[] = (0.0).f32
  te.for k in 0 .. N serial reduce {
    te.update y[] add= x.f32[k]
  }
}"""
ACCUMULATED = """
te.func @f kernel logical (a: f32[6, 4], out y: f32[4]) {
  te.for j in 0 .. 4 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for k in 0 .. 6 serial reduce {
      te.update t[] add= a.f32[k, j]
    }
    te.store y[j] = t.f32[()]
  }
}"""

CASES: dict[str, tuple[str, tuple[Step, ...], str]] = {
    "split exact": (
        POINTWISE,
        (step("split", "j", 4),),
        """
  te.for i in 0 .. N serial {
    te.for j_o in 0 .. 3 serial {
      te.for j_i in 0 .. 4 serial {
        te.store y[i, j_o * 4 + j_i] = -x.f32[i, j_o * 4 + j_i]
      }
    }
  }
}""",
    ),
    "split guard": (
        POINTWISE,
        (step("split", "i", 4, "guard"),),
        """
  te.for i_o in 0 .. (N + 3) // 4 serial {
    te.for i_i in 0 .. 4 serial {
      te.if i_o * 4 + i_i < N {
        te.for j in 0 .. 12 serial {
          te.store y[i_o * 4 + i_i, j] = -x.f32[i_o * 4 + i_i, j]
        }
      }
    }
  }
}""",
    ),
    "split loop": (
        POINTWISE,
        (step("split", "j", 8, "loop"),),
        """
  te.for i in 0 .. N serial {
    te.for j_o in 0 .. 1 serial {
      te.for j_i in 0 .. 8 serial {
        te.store y[i, j_o * 8 + j_i] = -x.f32[i, j_o * 8 + j_i]
      }
    }
    te.for j_t in 0 .. 4 serial {
      te.store y[i, 8 + j_t] = -x.f32[i, 8 + j_t]
    }
  }
}""",
    ),
    "reorder": (
        POINTWISE,
        (
            step("split", "i", 4, "guard"),
            step("reorder", "j", "i_i"),
        ),
        """
  te.for i_o in 0 .. (N + 3) // 4 serial {
    te.for j in 0 .. 12 serial {
      te.for i_i in 0 .. 4 serial {
        te.if i_o * 4 + i_i < N {
          te.store y[i_o * 4 + i_i, j] = -x.f32[i_o * 4 + i_i, j]
        }
      }
    }
  }
}""",
    ),
    "fuse": (
        POINTWISE,
        (step("fuse", "i", "j"),),
        """
  te.for i_f in 0 .. N * 12 serial {
    te.store y[i_f // 12, i_f % 12] = -x.f32[i_f // 12, i_f % 12]
  }
}""",
    ),
    "tile": (
        POINTWISE,
        (step("tile", "i", "j", 4, 3, "guard"),),
        """
  te.for i_o in 0 .. (N + 3) // 4 serial {
    te.for j_o in 0 .. 4 serial {
      te.for i_i in 0 .. 4 serial {
        te.for j_i in 0 .. 3 serial {
          te.if i_o * 4 + i_i < N {
            te.store y[i_o * 4 + i_i, j_o * 3 + j_i] = -x.f32[i_o * 4 + i_i, j_o * 3 + j_i]
          }
        }
      }
    }
  }
}""",
    ),
    "vectorize, unroll, parallel": (
        POINTWISE,
        (
            step("split", "j", 4),
            step("vectorize", "j_i"),
            step("unroll", "j_o"),
            step("parallel", "i", 32),
        ),
        """
  te.for i in 0 .. N parallel grain 32 {
    te.for j_o in 0 .. 3 unroll {
      te.for j_i in 0 .. 4 vector {
        te.store y[i, j_o * 4 + j_i] = -x.f32[i, j_o * 4 + j_i]
      }
    }
  }
}""",
    ),
    "bind": (
        POINTWISE,
        (
            step("bind", "i", "bx"),
            step("bind", "j", "tx"),
        ),
        """
  te.for i in 0 .. N bx {
    te.for j in 0 .. 12 tx {
      te.store y[i, j] = -x.f32[i, j]
    }
  }
}""",
    ),
    "serial": (
        POINTWISE,
        (
            step("parallel", "i", 2),
            step("serial", "i"),
        ),
        """
  te.for i in 0 .. N serial {
    te.for j in 0 .. 12 serial {
      te.store y[i, j] = -x.f32[i, j]
    }
  }
}""",
    ),
    "slice_head, normalize": (
        POINTWISE,
        (
            step("slice_head", "j", 2),
            step("normalize", "j"),
        ),
        """
  te.for i in 0 .. N serial {
    te.for j_h in 0 .. 2 serial {
      te.store y[i, j_h] = -x.f32[i, j_h]
    }
    te.for j in 0 .. 10 serial {
      te.store y[i, 2 + j] = -x.f32[i, 2 + j]
    }
  }
}""",
    ),
    "slice_tail": (
        POINTWISE,
        (step("slice_tail", "i", 2),),
        """
  te.for i in 0 .. N - min(2, N) serial {
    te.for j in 0 .. 12 serial {
      te.store y[i, j] = -x.f32[i, j]
    }
  }
  te.for i_t in N - min(2, N) .. min(2, N) serial {
    te.for j_t in 0 .. 12 serial {
      te.store y[i_t, j_t] = -x.f32[i_t, j_t]
    }
  }
}""",
    ),
    "distribute": (
        ROW_SUM,
        (step("distribute", "i"),),
        """
  te.for i in 0 .. N serial {
    te.store y[i] = (0.0).f32
  }
  te.for i_d in 0 .. N serial {
    te.for k in 0 .. 16 serial reduce {
      te.update y[i_d] add= x.f32[i_d, k]
    }
  }
}""",
    ),
    "rfactor": (
        ROW_SUM,
        (
            step("split", "k", 4),
            step("rfactor", "k_i"),
            step("vectorize", "k_i"),
        ),
        """
  te.for i in 0 .. N serial {
    te.store y[i] = (0.0).f32
    te.alloc reg y_rf: f32[4]
    te.for k_i_z in 0 .. 4 serial {
      te.store y_rf[k_i_z] = (0.0).f32
    }
    te.for k_o in 0 .. 4 serial reduce {
      te.for k_i in 0 .. 4 vector {
        te.update y_rf[k_i] add= x.f32[i, k_o * 4 + k_i]
      }
    }
    te.for k_i_r in 0 .. 4 serial reduce {
      te.update y[i] add= y_rf.f32[k_i_r]
    }
  }
}""",
    ),
    "rfactor of two loops": (
        ROW_SUM,
        (
            step("split", "k", 8),
            step("split", "k_i", 4),
            step("rfactor", "k_i_o", "k_i_i"),
        ),
        """
  te.for i in 0 .. N serial {
    te.store y[i] = (0.0).f32
    te.alloc reg y_rf: f32[2, 4]
    te.for k_i_o_z in 0 .. 2 serial {
      te.for k_i_i_z in 0 .. 4 serial {
        te.store y_rf[k_i_o_z, k_i_i_z] = (0.0).f32
      }
    }
    te.for k_o in 0 .. 2 serial reduce {
      te.for k_i_o in 0 .. 2 serial {
        te.for k_i_i in 0 .. 4 serial {
          te.update y_rf[k_i_o, k_i_i] add= x.f32[i, k_o * 8 + (k_i_o * 4 + k_i_i)]
        }
      }
    }
    te.for k_i_o_r in 0 .. 2 serial reduce {
      te.for k_i_i_r in 0 .. 4 serial reduce {
        te.update y[i] add= y_rf.f32[k_i_o_r, k_i_i_r]
      }
    }
  }
}""",
    ),
    "rfactor of blocks, as many as there are": (
        TOTAL,
        (
            step("split", "k", 8, "short"),
            step("rfactor", "k_o"),
            step("fuse_loops", "k_o_z", "k_o"),
            step("parallel", "k_o_z"),
        ),
        """
  te.store y[] = (0.0).f32
  te.alloc arena y_rf: f32[(N + 7) // 8]
  te.for k_o_z in 0 .. (N + 7) // 8 parallel {
    te.store y_rf[k_o_z] = (0.0).f32
    te.for k_i in 0 .. min(8, N - k_o_z * 8) serial reduce {
      te.update y_rf[k_o_z] add= x.f32[k_o_z * 8 + k_i]
    }
  }
  te.for k_o_r in 0 .. (N + 7) // 8 serial reduce {
    te.update y[] add= y_rf.f32[k_o_r]
  }
}""",
    ),
    "rfactor within blocks, the last of which is shorter": (
        TOTAL,
        (step("split", "k", 8, "short"), step("rfactor", "k_i")),
        """
  te.store y[] = (0.0).f32
  te.alloc reg y_rf: f32[8]
  te.for k_i_z in 0 .. 8 serial {
    te.store y_rf[k_i_z] = (0.0).f32
  }
  te.for k_o in 0 .. (N + 7) // 8 serial reduce {
    te.for k_i in 0 .. min(8, N - k_o * 8) serial {
      te.update y_rf[k_i] add= x.f32[k_o * 8 + k_i]
    }
  }
  te.for k_i_r in 0 .. 8 serial reduce {
    te.update y[] add= y_rf.f32[k_i_r]
  }
}""",
    ),
    "cache": (
        ROW_SUM,
        (step("cache", "y", "i", "reg"),),
        """
  te.for i in 0 .. N serial {
    te.alloc reg y_c: f32[1]
    te.store y_c[0] = (0.0).f32
    te.for k in 0 .. 16 serial reduce {
      te.update y_c[0] add= x.f32[i, k]
    }
    te.store y[i] = y_c.f32[0]
  }
}""",
    ),
    "cache of a read block": (
        POINTWISE,
        (
            step("split", "i", 4, "guard"),
            step("cache", "x", "i_o", "stack"),
        ),
        """
  te.for i_o in 0 .. (N + 3) // 4 serial {
    te.alloc stack x_c: f32[4, 12]
    te.for x_c_r in 0 .. 4 serial {
      te.for x_c_r_2 in 0 .. 12 serial {
        te.if i_o * 4 + x_c_r < N {
          te.store x_c[x_c_r, x_c_r_2] = x.f32[i_o * 4 + x_c_r, x_c_r_2]
        }
      }
    }
    te.for i_i in 0 .. 4 serial {
      te.if i_o * 4 + i_i < N {
        te.for j in 0 .. 12 serial {
          te.store y[i_o * 4 + i_i, j] = -x_c.f32[i_i, j]
        }
      }
    }
  }
}""",
    ),
    "fuse_loops": (
        CHAIN,
        (step("fuse_loops", "i", "j"),),
        """
  te.alloc arena t: f32[N]
  te.for i in 0 .. N serial {
    te.store t[i] = exp(x.f32[i])
    te.store y[i] = t.f32[i] + x.f32[i]
  }
}""",
    ),
    "inline": (
        CHAIN,
        (step("inline", "t"),),
        """
  te.for j in 0 .. N serial {
    te.store y[j] = exp(x.f32[j]) + x.f32[j]
  }
}""",
    ),
    "compute_at": (
        CHAIN,
        (step("split", "j", 4, "guard"), step("compute_at", "t", "j_o")),
        """
  te.for j_o in 0 .. (N + 3) // 4 serial {
    te.alloc stack t_a: f32[4]
    te.for t_a_i in 0 .. 4 serial {
      te.if j_o * 4 + t_a_i < N {
        te.store t_a[t_a_i] = exp(x.f32[j_o * 4 + t_a_i])
      }
    }
    te.for j_i in 0 .. 4 serial {
      te.if j_o * 4 + j_i < N {
        te.store y[j_o * 4 + j_i] = t_a.f32[j_i] + x.f32[j_o * 4 + j_i]
      }
    }
  }
}""",
    ),
    "cache, permute": (
        POINTWISE,
        (step("cache", "x", "i", "stack"), step("permute", "x_c", 1, 0)),
        """
  te.for i in 0 .. N serial {
    te.alloc stack x_c: f32[12, 1]
    te.for x_c_r_2 in 0 .. 12 serial {
      te.store x_c[x_c_r_2, 0] = x.f32[i, x_c_r_2]
    }
    te.for j in 0 .. 12 serial {
      te.store y[i, j] = -x_c.f32[j, 0]
    }
  }
}""",
    ),
    "expand": (
        ACCUMULATED,
        (
            step("expand", "t", "j"),
            step("distribute", "j"),
            step("reorder", "k", "j_d"),
            step("vectorize", "j_d"),
        ),
        """
  te.alloc stack t: f32[4]
  te.for j in 0 .. 4 serial {
    te.store t[j] = (0.0).f32
  }
  te.for k in 0 .. 6 serial reduce {
    te.for j_d in 0 .. 4 vector {
      te.update t[j_d] add= a.f32[k, j_d]
    }
  }
  te.for j_d_2 in 0 .. 4 serial {
    te.store y[j_d_2] = t.f32[j_d_2]
  }
}""",
    ),
    "compress_buffer, set_scope": (
        CHAIN,
        (
            step("fuse_loops", "i", "j"),
            step("compress_buffer", "t"),
            step("set_scope", "t", "reg"),
        ),
        """
  te.alloc reg t: f32[1]
  te.for i in 0 .. N serial {
    te.store t[0] = exp(x.f32[i])
    te.store y[i] = t.f32[0] + x.f32[i]
  }
}""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_step(name: str) -> None:
    source, steps, expected = CASES[name]
    # The header stays; the cases show the body.
    assert run_steps(source, steps).split("\n", 1)[1] == expected.lstrip("\n")
