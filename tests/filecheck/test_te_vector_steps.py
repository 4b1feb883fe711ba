"""What do the steps print that heuristics are made of: vectors, accumulators, squares, fusion?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import Step, step
from tensorscript.lowering.schedule import ScheduleError

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
ROWS_NORM = """
te.func @f kernel logical (x: f32[16], out y: f32[16]) {
  te.alloc stack t: f32[16]
  te.for i in 0 .. 16 serial {
    te.store t[i] = exp(x.f32[i])
  }
  te.alloc stack s: f32[]
  te.store s[] = (0.0).f32
  te.for k in 0 .. 16 serial reduce {
    te.update s[] add= t.f32[k]
  }
  te.for j in 0 .. 16 serial {
    te.store y[j] = t.f32[j] / s.f32[()]
  }
}"""
FIRST = """
te.func @f kernel logical (x: f32[N], N: i64, out y: i64[]) {
  te.store y[] = 9223372036854775807
  te.for k in 0 .. N serial reduce {
    te.update y[] min= select(x.f32[k] > (0.0).f32, k, N - 1)
  }
}"""
COPY = """
te.func @f kernel logical (x: f32[8, 12], out y: f32[8, 12]) {
  te.for i in 0 .. 8 serial {
    te.for j in 0 .. 12 serial {
      te.store y[i, j] = -x.f32[i, j]
    }
  }
}"""
TRANSPOSED = """
te.func @f kernel logical (x: f32[16, 8], out y: f32[8, 16]) {
  te.for i in 0 .. 8 serial {
    te.for j in 0 .. 16 serial {
      te.store y[i, j] = exp(x.f32[j, i])
    }
  }
}"""
UNEVEN = """
te.func @f kernel logical (x: f32[11, 9], out y: f32[9, 11]) {
  te.for i in 0 .. 9 serial {
    te.for j in 0 .. 11 serial {
      te.store y[i, j] = exp(x.f32[j, i])
    }
  }
}"""
COLUMNS = """
te.func @f kernel logical (a: f32[8, 128], out y: f32[128]) {
  te.for j in 0 .. 128 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for k in 0 .. 8 serial reduce {
      te.update t[] add= a.f32[k, j]
    }
    te.store y[j] = t.f32[()]
  }
}"""
NAMED = """
te.func @f kernel logical (x: f32[N], N: i64, out y: f32[N]) {
  te.for i in 0 .. N serial {
    te.alloc stack t: f32[]
    te.store t[] = exp(x.f32[i])
    te.store y[i] = t.f32[()] * t.f32[()]
  }
}"""

CASES: dict[str, tuple[str, tuple[Step, ...], str]] = {
    "split rest": (
        POINTWISE,
        (
            step("split", "i", 4, "rest"),
            step("split", "j", 16, "rest"),
        ),
        """
  te.for i_o in 0 .. N // 4 serial {
    te.for i_i in 0 .. 4 serial {
      te.for j_t_2 in 0 .. 16 serial {
        te.if j_t_2 < 12 {
          te.store y[i_o * 4 + i_i, j_t_2] = -x.f32[i_o * 4 + i_i, j_t_2]
        }
      }
    }
  }
  te.for i_t in 0 .. 4 serial {
    te.if N // 4 * 4 + i_t < N {
      te.for j_t in 0 .. 12 serial {
        te.store y[N // 4 * 4 + i_t, j_t] = -x.f32[N // 4 * 4 + i_t, j_t]
      }
    }
  }
}""",
    ),
    "split short": (
        POINTWISE,
        (step("split", "j", 8, "short"),),
        """
  te.for i in 0 .. N serial {
    te.for j_o in 0 .. 2 serial {
      te.for j_i in 0 .. min(8, 12 - j_o * 8) serial {
        te.store y[i, j_o * 8 + j_i] = -x.f32[i, j_o * 8 + j_i]
      }
    }
  }
}""",
    ),
    "collapse": (
        COPY,
        (step("collapse", "i", "j"),),
        """
  te.for j in 0 .. 96 serial {
    te.store y[0, j] = -x.f32[0, j]
  }
}""",
    ),
    "accumulate": (
        ROW_SUM,
        (step("accumulate", "k", 4),),
        """
  te.for i in 0 .. N serial {
    te.store y[i] = (0.0).f32
    te.alloc reg acc0_k: f32[4]
    te.for k_s0 in 0 .. 4 vector {
      te.store acc0_k[k_s0] = (0.0).f32
    }
    te.for k_o in 0 .. 4 serial reduce {
      te.for k_v in 0 .. 4 vector {
        te.update acc0_k[k_v] add= x.f32[i, k_o * 4 + k_v]
      }
    }
    te.for k_z0 in 0 .. 4 vector reduce {
      te.update y[i] add= acc0_k.f32[k_z0]
    }
  }
}""",
    ),
    "vectorize_outer": (
        ACCUMULATED,
        (step("vectorize_outer", "j", 4),),
        """
  te.for j_o in 0 .. 1 serial {
    te.alloc reg t: f32[4]
    te.for j_v in 0 .. 4 vector {
      te.store t[j_v] = (0.0).f32
    }
    te.for k in 0 .. 6 serial reduce {
      te.for j_v_2 in 0 .. 4 vector {
        te.update t[j_v_2] add= a.f32[k, j_o * 4 + j_v_2]
      }
    }
    te.for j_v_3 in 0 .. 4 vector {
      te.store y[j_o * 4 + j_v_3] = t.f32[j_v_3]
    }
  }
}""",
    ),
    "vectorize_outer, the last vector again": (
        ACCUMULATED,
        (step("vectorize_outer", "j", 3),),
        """
  te.for j_o in 0 .. 1 serial {
    te.alloc reg t: f32[3]
    te.for j_v in 0 .. 3 vector {
      te.store t[j_v] = (0.0).f32
    }
    te.for k in 0 .. 6 serial reduce {
      te.for j_v_2 in 0 .. 3 vector {
        te.update t[j_v_2] add= a.f32[k, j_o * 3 + j_v_2]
      }
    }
    te.for j_v_3 in 0 .. 3 vector {
      te.store y[j_o * 3 + j_v_3] = t.f32[j_v_3]
    }
  }
  te.alloc reg t_w: f32[3]
  te.for j_w in 0 .. 3 vector {
    te.store t_w[j_w] = (0.0).f32
  }
  te.for k_w in 0 .. 6 serial reduce {
    te.for j_w_2 in 0 .. 3 vector {
      te.update t_w[j_w_2] add= a.f32[k_w, 1 + j_w_2]
    }
  }
  te.for j_w_3 in 0 .. 3 vector {
    te.store y[1 + j_w_3] = t_w.f32[j_w_3]
  }
}""",
    ),
    "vectorize_outer, no more lanes than the rest needs": (
        ACCUMULATED.replace("[6, 4]", "[6, 20]")
        .replace("[4]", "[20]")
        .replace("0 .. 4", "0 .. 20"),
        (step("vectorize_outer", "j", 16),),
        """
  te.for j_o in 0 .. 1 serial {
    te.alloc reg t: f32[16]
    te.for j_v in 0 .. 16 vector {
      te.store t[j_v] = (0.0).f32
    }
    te.for k in 0 .. 6 serial reduce {
      te.for j_v_2 in 0 .. 16 vector {
        te.update t[j_v_2] add= a.f32[k, j_o * 16 + j_v_2]
      }
    }
    te.for j_v_3 in 0 .. 16 vector {
      te.store y[j_o * 16 + j_v_3] = t.f32[j_v_3]
    }
  }
  te.alloc reg t_w: f32[4]
  te.for j_w in 0 .. 4 vector {
    te.store t_w[j_w] = (0.0).f32
  }
  te.for k_w in 0 .. 6 serial reduce {
    te.for j_w_2 in 0 .. 4 vector {
      te.update t_w[j_w_2] add= a.f32[k_w, 16 + j_w_2]
    }
  }
  te.for j_w_3 in 0 .. 4 vector {
    te.store y[16 + j_w_3] = t_w.f32[j_w_3]
  }
}""",
    ),
    "search": (
        FIRST,
        (step("search", "k", 16),),
        """
  te.store y[] = 9223372036854775807
  te.var k_at: i64 = 0
  te.var k_none: b1 = True
  te.while k_none.b1 & (k_at + 16 < N) {
    te.alloc reg k_any: b1[]
    te.store k_any[] = False
    te.for k_v in 0 .. 16 vector reduce {
      te.update k_any[] or= x.f32[k_at + k_v] > (0.0).f32
    }
    te.assign k_none = ~k_any.b1[()]
    te.assign k_at = k_at + 16
  }
  te.let k_last: i64 = select(k_none.b1, k_at, k_at - 16)
  te.alloc reg k_place: i32[]
  te.store k_place[] = (16).i32
  te.for k_w in 0 .. 16 vector reduce {
    te.if k_last + k_w < N {
      te.update k_place[] min= select(x.f32[k_last + k_w] > (0.0).f32, i32(k_w), (16).i32)
    }
  }
  te.if 0 < N {
    te.update y[] min= min(k_last + i64(k_place.i32[()]), N - 1)
  }
}""",
    ),
    "stretch": (
        COLUMNS,
        (step("stretch", "j", 64, 64, 1),),
        """
  te.for j_b in 0 .. 2 serial {
    te.alloc stack t: f32[64]
    te.for j_c_o in 0 .. 1 serial {
      te.for j_c_v in 0 .. 64 vector {
        te.store t[j_c_o * 64 + j_c_v] = (0.0).f32
      }
    }
    te.for k_o in 0 .. 8 serial reduce {
      te.for j_s_o in 0 .. 1 serial {
        te.for j_s_v in 0 .. 64 vector {
          te.update t[j_s_o * 64 + j_s_v] add= a.f32[k_o, j_b * 64 + (j_s_o * 64 + j_s_v)]
        }
      }
    }
    te.for j_y_o in 0 .. 1 serial {
      te.for j_y_v in 0 .. 64 vector {
        te.store y[j_b * 64 + (j_y_o * 64 + j_y_v)] = t.f32[j_y_o * 64 + j_y_v]
      }
    }
  }
}""",
    ),
    "stretch in partial sums": (
        COLUMNS,
        (step("stretch", "j", 64, 128, 1, 4),),
        """
  te.for j_b in 0 .. 1 serial {
    te.alloc stack t: f32[128]
    te.for j_c_o in 0 .. 2 serial {
      te.for j_c_v in 0 .. 64 vector {
        te.store t[j_c_o * 64 + j_c_v] = (0.0).f32
      }
    }
    te.alloc stack t_p: f32[128]
    te.for k_p in 0 .. 2 serial reduce {
      te.for j_q_o in 0 .. 2 serial {
        te.for j_q_v in 0 .. 64 vector {
          te.store t_p[j_q_o * 64 + j_q_v] = (0.0).f32
        }
      }
      te.for k_o in 0 .. 4 serial reduce {
        te.for j_s_o in 0 .. 2 serial {
          te.for j_s_v in 0 .. 64 vector {
            te.update t_p[j_s_o * 64 + j_s_v] add= a.f32[k_p * 4 + k_o, j_b * 128 + (j_s_o * 64 + j_s_v)]
          }
        }
      }
      te.for j_p_o in 0 .. 2 serial {
        te.for j_p_v in 0 .. 64 vector {
          te.update t[j_p_o * 64 + j_p_v] add= t_p.f32[j_p_o * 64 + j_p_v]
        }
      }
    }
    te.for j_y_o in 0 .. 2 serial {
      te.for j_y_v in 0 .. 64 vector {
        te.store y[j_b * 128 + (j_y_o * 64 + j_y_v)] = t.f32[j_y_o * 64 + j_y_v]
      }
    }
  }
}""",  # noqa: E501 (a te statement is one line)
    ),
    "stretch in parts of the rows": (
        COLUMNS,
        (step("stretch", "j", 128, 128, 2, 0, 2),),
        """
  te.alloc stack t_a: f32[2, 128]
  te.for k_a in 0 .. 2 serial {
    te.alloc stack t: f32[128]
    te.for j_c_o in 0 .. 1 serial {
      te.for j_c_v in 0 .. 128 vector {
        te.store t[j_c_o * 128 + j_c_v] = (0.0).f32
      }
    }
    te.for k_o in 0 .. 2 serial reduce {
      te.for j_s_o in 0 .. 1 serial {
        te.for j_s_v in 0 .. 128 vector {
          te.update t[j_s_o * 128 + j_s_v] add= a.f32[(k_a * 2 + k_o) * 2, j_s_o * 128 + j_s_v] + a.f32[(k_a * 2 + k_o) * 2 + 1, j_s_o * 128 + j_s_v]
        }
      }
    }
    te.for j_e_o in 0 .. 1 serial {
      te.for j_e_v in 0 .. 128 vector {
        te.store t_a[k_a, j_e_o * 128 + j_e_v] = t.f32[j_e_o * 128 + j_e_v]
      }
    }
  }
  te.for j_y_o in 0 .. 1 serial {
    te.for j_y_v in 0 .. 128 vector {
      te.store y[j_y_o * 128 + j_y_v] = (0.0).f32 + (t_a.f32[0, j_y_o * 128 + j_y_v] + t_a.f32[1, j_y_o * 128 + j_y_v])
    }
  }
}""",  # noqa: E501 (a te statement is one line)
    ),
    "squares": (
        TRANSPOSED,
        (step("squares", "i", "j", 8),),
        """
  te.for i_o in 0 .. 1 serial {
    te.for j_o in 0 .. 2 serial {
      te.alloc stack i_square0: f32[8, 8]
      te.for i_u0 in 0 .. 8 vector {
        te.for j_u0 in 0 .. 8 vector {
          te.store i_square0[i_u0, j_u0] = x.f32[j_o * 8 + j_u0, i_o * 8 + i_u0]
        }
      }
      te.for i_t in 0 .. 8 serial {
        te.for j_t in 0 .. 8 vector {
          te.store y[i_o * 8 + i_t, j_o * 8 + j_t] = exp(i_square0.f32[i_t, j_t])
        }
      }
    }
  }
}""",
    ),
    "squares, and parts of such": (
        UNEVEN,
        (step("squares", "i", "j", 8),),
        """
  te.for i_o in 0 .. 1 serial {
    te.for j_o in 0 .. 1 serial {
      te.alloc stack i_square0: f32[8, 8]
      te.for i_u0 in 0 .. 8 vector {
        te.for j_u0 in 0 .. 8 vector {
          te.store i_square0[i_u0, j_u0] = x.f32[j_o * 8 + j_u0, i_o * 8 + i_u0]
        }
      }
      te.for i_t in 0 .. 8 serial {
        te.for j_t in 0 .. 8 vector {
          te.store y[i_o * 8 + i_t, j_o * 8 + j_t] = exp(i_square0.f32[i_t, j_t])
        }
      }
    }
  }
  te.for i_r in 0 .. 1 serial {
    te.alloc stack i_square0_r: f32[8, 8]
    te.for i_u0_r in 0 .. 8 vector {
      te.for j_u0_r in 0 .. 3 vector {
        te.store i_square0_r[i_u0_r, j_u0_r] = x.f32[8 + j_u0_r, i_r * 8 + i_u0_r]
      }
    }
    te.for i_t_r in 0 .. 8 serial {
      te.for j_t_r in 0 .. 8 vector {
        te.if j_t_r < 3 {
          te.store y[i_r * 8 + i_t_r, 8 + j_t_r] = exp(i_square0_r.f32[i_t_r, j_t_r])
        }
      }
    }
  }
  te.for i_l_b in 0 .. 1 serial {
    te.for j_l_b_o in 0 .. 1 serial {
      te.for j_l_b_v in 0 .. 8 vector {
        te.store y[8 + i_l_b, j_l_b_o * 8 + j_l_b_v] = exp(x.f32[j_l_b_o * 8 + j_l_b_v, 8 + i_l_b])
      }
    }
  }
  te.for i_l_c in 0 .. 1 serial {
    te.for j_l_c_w in 0 .. 8 vector {
      te.if j_l_c_w < 3 {
        te.store y[8 + i_l_c, 8 + j_l_c_w] = exp(x.f32[8 + j_l_c_w, 8 + i_l_c])
      }
    }
  }
}""",
    ),
    "full_unroll": (
        ACCUMULATED,
        (
            step("slice_head", "k", 2),
            step("full_unroll", "k_h"),
        ),
        """
  te.for j in 0 .. 4 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.update t[] add= a.f32[0, j]
    te.update t[] add= a.f32[1, j]
    te.for k in 2 .. 4 serial reduce {
      te.update t[] add= a.f32[k, j]
    }
    te.store y[j] = t.f32[()]
  }
}""",
    ),
    "fuse_loops of a map and a reduction, forward": (
        ROWS_NORM,
        (
            step("fuse_loops", "i", "k"),
            step("forward", "i"),
        ),
        """
  te.alloc stack t: f32[16]
  te.alloc stack s: f32[]
  te.store s[] = (0.0).f32
  te.for i in 0 .. 16 serial reduce {
    te.let t_value: f32 = exp(x.f32[i])
    te.store t[i] = t_value.f32
    te.update s[] add= t_value.f32
  }
  te.for j in 0 .. 16 serial {
    te.store y[j] = t.f32[j] / s.f32[()]
  }
}""",
    ),
    "name_temporaries": (
        NAMED,
        (step("name_temporaries", "i"),),
        """
  te.for i in 0 .. N serial {
    te.let t: f32 = exp(x.f32[i])
    te.store y[i] = t.f32 * t.f32
  }
}""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_step(name: str) -> None:
    source, steps, expected = CASES[name]
    # The header stays; the cases show the body.
    assert run_steps(source, steps).split("\n", 1)[1] == expected.lstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((64, 128, 3, 0, 3), "k has not 3 parts of 3 rows"),
        ((64, 64, 1, 0, 2), "a part of all iterations of j is longer than 64"),
        ((64, 64, 0), "positive integers"),
    ],
)
def test_stretches_that_do_not_fit_are_refused(arguments: tuple[int, ...], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(COLUMNS, (step("stretch", "j", *arguments),))
