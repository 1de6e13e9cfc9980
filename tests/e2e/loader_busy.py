# SPDX-License-Identifier: MIT
"""Nothing blocks where another thread of the program holds a lock of the loader."""
import os
import sys

from harness import NO_PERF, Case, main

PROGRAM = os.environ.get("LOADER_BUSY", "build/tests/loader_busy")
CHILDREN = "5"
# As threadpoolctl walks: the callback waits for the GIL, which a thread in a hook has.
PYTHON = """
import ctypes, threading
libc = ctypes.CDLL(None)
stop = False
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
def visit(info, size, data): return 0
def walk():
    while not stop: libc.dl_iterate_phdr(visit, None)
walker = threading.Thread(target=walk)
walker.start()
for _ in range(100):
    library = ctypes.CDLL(None)
    for name in ('malloc', 'getpid', 'strlen'): getattr(library, name)
    thread = threading.Thread(target=len, args=((),))
    thread.start()
    thread.join()
    for _ in range(1000): pass
stop = True
walker.join()
print('done')
"""
RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
    "kernel, traced": (["--trace", "f_*"], []),
    "agent, traced": (["--trace", "f_*"], [NO_PERF]),
}


class LoaderBusy(Case):
    def check(self, *command):
        bare = self.bare(command)
        self.assertEqual((bare.returncode, bare.stderr), (0, b""))
        self.assertTrue(bare.stdout)
        for rung, (options, prefix) in RUNGS.items():
            with self.subTest(rung=rung):
                done = self.profile_run(command, *options, prefix=prefix)
                self.assertEqual((done.status, done.out), (0, bare.stdout), done.err)

    def test_children_made_beside_a_walk_over_the_loaded_objects(self):
        self.check(PROGRAM, "walk", CHILDREN)

    def test_children_made_beside_the_constructor_of_a_library(self):
        self.check(PROGRAM, "open", CHILDREN)

    def test_children_made_within_a_walk(self):
        self.check(PROGRAM, "own", CHILDREN)

    def test_a_walk_that_waits_for_a_thread_in_a_hook(self):
        self.check(PROGRAM, "walk_waits", CHILDREN)

    def test_a_constructor_that_waits_for_a_thread_in_a_hook(self):
        self.check(PROGRAM, "open_waits", CHILDREN)

    def test_a_callback_in_python_that_waits_for_the_gil(self):
        self.check(sys.executable, "-c", PYTHON)


if __name__ == "__main__":
    main()
