"""Objects with the run-time support linked in, used from C."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tensorscript.backends.cpu.object import build_object, link_library, write_archive
from tensorscript.backends.target import host

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc")

TEXT = """
declare void @ts_par_for(ptr, ptr, i64)
define internal void @body(i64 %i, ptr %x) {
  %p = getelementptr i64, ptr %x, i64 %i
  store i64 %i, ptr %p
  ret void
}
define i32 @fill(ptr %x, i64 %n) {
  call void @ts_par_for(ptr @body, ptr %x, i64 %n)
  ret i32 0
}
"""
MAIN = """
#include <stdint.h>
#include <stdio.h>
int fill(int64_t *, int64_t);
int main(void) {
    static int64_t x[1000];
    fill(x, 1000);
    for (int i = 0; i < 1000; i++) if (x[i] != i) return 1;
    puts("ok");
    return 0;
}
"""
ALLOWED = (
    "pthread_", "sched_", "syscall", "getpid", "mmap", "munmap", "madvise", "posix_memalign",
    "free", "memset", "memcpy",
)  # fmt: skip


@pytest.fixture(scope="module")
def data() -> bytes:
    return build_object(TEXT, host())


def run(tmp_path: Path, library: Path) -> str:
    (tmp_path / "main.c").write_text(MAIN)
    command = ["cc", "-o", str(tmp_path / "main"), str(tmp_path / "main.c"), str(library)]
    subprocess.run([*command, "-lm", "-lpthread"], check=True)
    result = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    return result.stdout


def test_object_archive_and_shared_library(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.o").write_bytes(data)
    (tmp_path / "first.o").write_bytes(data)
    link_library(tmp_path / "first.o", tmp_path / "m.so")
    write_archive(tmp_path / "first.o", tmp_path / "m.a")
    for name in ("m.o", "m.a", "m.so"):
        assert run(tmp_path, tmp_path / name) == "ok\n"


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_only_system_symbols_are_missing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.o").write_bytes(data)
    link_library(tmp_path / "m.o", tmp_path / "m.so")
    listing = subprocess.run(
        ["nm", "-u", str(tmp_path / "m.o")], capture_output=True, text=True, check=True
    ).stdout
    missing = [line.split()[-1] for line in listing.splitlines()]
    assert missing
    assert all(name.startswith(ALLOWED) or name == "_GLOBAL_OFFSET_TABLE_" for name in missing)
    visible = subprocess.run(
        ["nm", "-D", "--defined-only", str(tmp_path / "m.so")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.split()[-1] for line in visible.splitlines()] == ["fill"]
