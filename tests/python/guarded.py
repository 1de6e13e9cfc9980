# SPDX-License-Identifier: MIT
"""guarded.py LIBRARY SECONDS: faults that an extension handles itself, beside faulthandler.

What is printed does not depend on time. At the end a child has a fault that nobody handles.
"""
import ctypes
import faulthandler
import os
import sys
import threading
import time


def work(library, seconds, right):
    nobodys, somebodys = ctypes.c_char_p(8), ctypes.create_string_buffer(8)
    library.guards_stack()
    end = time.monotonic() + seconds
    answers = set()
    while time.monotonic() < end or not answers:
        answers.add((library.guards_probe(nobodys), library.guards_probe(somebodys),
                     library.guards_write(), library.guards_overflow(),
                     sum(i * i for i in range(500))))
    right.append(answers)


def fault():
    os.dup2(1, 2)
    ctypes.memset(8, 0, 1)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.guards_probe.argtypes = [ctypes.c_void_p]
    seconds = float(sys.argv[2])
    faulthandler.enable()
    print(library.guards_install(), flush=True)
    right = []
    # A stack that is small: each time that it ends it has been walked as a whole.
    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=work, args=(library, seconds, right)) for _ in range(2)]
    for thread in threads:
        thread.start()
    work(library, seconds, right)
    for thread in threads:
        thread.join()
    print(*right, faulthandler.is_enabled(), sep="\n", flush=True)
    child = os.fork()
    if child == 0:
        fault()
    print("child", os.waitpid(child, 0)[1])


main()
