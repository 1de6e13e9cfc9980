# SPDX-License-Identifier: MIT
"""Programs that must not notice that they are sampled from within; see manners.py.

    python3 polite.py NAME

Each prints what only depends on itself, so that two runs can be compared.
"""
import collections
import concurrent.futures
import ctypes
import errno
import faulthandler
import multiprocessing
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

if sys.version_info < (3, 9):
    os.waitstatus_to_exitcode = lambda status: (
        os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status))
libc = ctypes.CDLL(None, use_errno=True)


def burn(seconds=0.1):
    """CPU time of the calling thread."""
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(500):
            total += i * i
    return total


def own_trap_handler(number=signal.SIGTRAP):
    seen = []
    signal.signal(number, lambda got, frame: seen.append(got))
    for _ in range(5):
        burn(0.02)
        os.kill(os.getpid(), number)
        signal.raise_signal(number)
        time.sleep(0)
    print(len(seen), set(seen), signal.getsignal(number).__name__)


def trap_kills():
    print(signal.getsignal(signal.SIGTRAP), flush=True)
    burn(0.05)
    os.kill(os.getpid(), signal.SIGTRAP)
    print("not reached", flush=True)


def trap_ignored():
    signal.signal(signal.SIGTRAP, signal.SIG_IGN)
    burn(0.05)
    os.kill(os.getpid(), signal.SIGTRAP)
    burn(0.05)
    print("alive", signal.getsignal(signal.SIGTRAP))


def all_blocked():
    every = signal.valid_signals()
    print(sorted(signal.pthread_sigmask(signal.SIG_SETMASK, every)))
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    burn(0.3)
    print(sorted(signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTRAP])))
    print(sorted(signal.pthread_sigmask(signal.SIG_SETMASK, [])))
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))


def thread_local_libraries():
    """Many libraries with thread-local memory, one after another."""
    with tempfile.TemporaryDirectory() as folder:
        kept = [ctypes.CDLL(shutil.copy(os.environ["THREAD_LOCAL_LIBRARY"], f"{folder}/{n}.so"))
                for n in range(60)]
    print(len(kept))


def blocked_waits(number=signal.SIGTRAP):
    """A blocked signal is pending until it is asked for."""
    signal.signal(number, lambda got, frame: print("handled", got))
    signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    burn(0.05)
    os.kill(os.getpid(), number)
    print(number in signal.sigpending())
    print(signal.sigwait([number]))
    print(number in signal.sigpending())
    os.kill(os.getpid(), number)
    print("still blocked")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    print("unblocked")
    burn(0.05)


def blocked_again_and_again(number=signal.SIGTRAP):
    """Nobody else's signal is pending, comes instead of the program's own, or loses it."""
    counts = collections.Counter()
    signal.signal(number, lambda got, frame: counts.update(["handled"]))
    for _ in range(100):
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        burn(0.0005)
        counts["pending before"] += number in signal.sigpending()
        os.kill(os.getpid(), number)
        burn(0.0005)
        counts["pending"] += number in signal.sigpending()
        info = signal.sigwaitinfo([number])
        counts[info.si_code, info.si_pid == os.getpid()] += 1
        burn(0.0005)
        counts["pending after"] += number in signal.sigpending()
        signal.raise_signal(number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    burn(0.1)
    print(sorted(counts.items(), key=str))


def blocked_waits_for_a_thread(number=signal.SIGTRAP):
    """The usual way: all threads block, and one waits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [number, signal.SIGUSR1])
    got = []
    waiter = threading.Thread(target=lambda: got.append(signal.sigwait([number])))
    worker = threading.Thread(target=burn, args=(0.2,))
    waiter.start()
    worker.start()
    time.sleep(0.05)
    os.kill(os.getpid(), number)
    waiter.join(10)
    worker.join()
    print(got)


def own_urgent_handler():
    own_trap_handler(signal.SIGURG)


def urgent_waits():
    blocked_waits(signal.SIGURG)


def urgent_again_and_again():
    blocked_again_and_again(signal.SIGURG)


def urgent_waits_for_a_thread():
    blocked_waits_for_a_thread(signal.SIGURG)


def urgent_does_nothing():
    print(signal.getsignal(signal.SIGURG))
    for _ in range(3):
        burn(0.02)
        os.kill(os.getpid(), signal.SIGURG)
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGURG)
    print("alive", signal.getsignal(signal.SIGURG))


def own_signals():
    """Handlers of its own for all that a profiler might use."""
    counts = {}

    def count(number, frame):
        counts[number] = counts.get(number, 0) + 1

    numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGPROF, signal.SIGTRAP, signal.SIGRTMIN,
               signal.SIGRTMIN + 21, signal.SIGRTMAX]
    for number in numbers:
        print(signal.signal(number, count))
    for _ in range(20):
        for number in numbers:
            os.kill(os.getpid(), number)
            burn(0.001)
    print(sorted(counts.items()))


def profiling_timer():
    ticks = []
    signal.signal(signal.SIGPROF, lambda number, frame: ticks.append(number))
    signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
    burn(0.5)
    signal.setitimer(signal.ITIMER_PROF, 0)
    # 25 of them, but the kernel is not exact: 10 to 31 where others want the CPUs, without us.
    print(5 <= len(ticks) <= 50)


def fault():
    faulthandler.enable()
    burn(0.1)
    sys.stdout.flush()
    faulthandler._sigsegv()


def dump_later():
    faulthandler.enable(sys.stdout)
    faulthandler.dump_traceback_later(0.2, file=sys.stdout)
    burn(0.01)
    time.sleep(0.4)
    faulthandler.cancel_dump_traceback_later()
    faulthandler.register(signal.SIGUSR1, file=sys.stdout)
    os.kill(os.getpid(), signal.SIGUSR1)
    faulthandler.dump_traceback(file=sys.stdout)


class stack_t(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


def alternate_stack():
    """One of the least size, on which a handler of C runs; what lies below it stays as it is."""
    size = 8192
    below = 65536
    memory = ctypes.create_string_buffer(b"\xa5" * (below + size), below + size)
    stack = stack_t(ctypes.addressof(memory) + below, 0, size)
    print(libc.sigaltstack(ctypes.byref(stack), None))
    burn(0.5)
    old = stack_t()
    print(libc.sigaltstack(None, ctypes.byref(old)), old.size, old.sp == stack.sp)
    print(memory.raw[:below] == b"\xa5" * below)
    off = stack_t(None, 2, 0)
    print(libc.sigaltstack(ctypes.byref(off), None))


def subprocesses():
    for close_fds in (True, False):
        for _ in range(30):
            burn(0.003)
            print(subprocess.run(["/bin/echo", "hello"], close_fds=close_fds,
                                 stdout=subprocess.PIPE, check=True).stdout)
    print(subprocess.run(["/bin/sh", "-c", "kill -TRAP $$"], check=False).returncode)
    print(os.waitstatus_to_exitcode(os.waitpid(
        os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], os.environ), 0)[1]))
    print(subprocess.run(["/bin/sh", "-c", "trap"], preexec_fn=lambda: None, check=True,
                         stdout=subprocess.PIPE).stdout)
    print(os.system("exit 3"))


def fork_workers():
    workers = []
    for index in range(4):
        child = os.fork()
        if child == 0:
            burn(0.2)
            os._exit(index)
        workers.append(child)
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in workers])


def fork_in_thread():
    def run():
        child = os.fork()
        if child == 0:
            burn(0.1)
            os._exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    other = threading.Thread(target=burn, args=(0.2,))
    other.start()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    other.join()


def pool_task(index):
    burn(0.05)
    return index


def multiprocessing_fork():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(pool_task, range(8)))


def multiprocessing_spawn():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(pool_task, range(6)))


def process_pool():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(pool_task, range(6))))


def thousand_threads():
    done = []
    for _ in range(100):
        threads = [threading.Thread(target=lambda: done.append(burn(0.0005))) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(len(done))


def shutdown():
    """Daemon threads run into the end of the interpreter."""
    def spin():
        while True:
            burn(0.01)

    for _ in range(4):
        threading.Thread(target=spin, daemon=True).start()
    burn(0.2)
    print("bye")


def close_all():
    os.closerange(3, 65536)
    burn(0.3)
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
    print(fds)
    errors = set()
    for fd in range(6, 2000):
        try:
            os.close(fd)
        except OSError as error:
            errors.add(error.errno)
    print([errno.errorcode[e] for e in errors])
    burn(0.3)


def close_behind():
    """By a system call that no wrapper of close() sees."""
    burn(0.2)
    print(libc.syscall(436, 3, 0x7fffffff, 0))
    thread = threading.Thread(target=burn, args=(0.3,))
    thread.start()
    thread.join()
    burn(0.3)


def no_eintr():
    """Blocked system calls of C stay blocked while other threads are busy, and the signals that
    interrupt them do so as ever."""
    stop = []

    def spin():
        while not stop:
            burn(0.01)

    threads = [threading.Thread(target=spin) for _ in range(2)]
    for thread in threads:
        thread.start()
    read_end, write_end = os.pipe()
    before = time.monotonic()
    poll = select.poll()
    poll.register(read_end, select.POLLIN)
    print(libc.usleep(200000), libc.poll(None, 0, 200))
    print(time.monotonic() - before > 0.35)
    stop.append(1)
    for thread in threads:
        thread.join()
    # A signal with a handler of the target's own, without SA_RESTART as Python has them.
    signal.signal(signal.SIGTRAP, lambda number, frame: None)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTRAP)).start()
    buffer = ctypes.create_string_buffer(1)
    print(libc.read(read_end, buffer, 1), errno.errorcode[ctypes.get_errno()])
    signal.siginterrupt(signal.SIGTRAP, False)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTRAP)).start()
    threading.Timer(0.2, os.write, (write_end, b"x")).start()
    print(libc.read(read_end, buffer, 1))


def execs():
    burn(0.1)
    os.execv(sys.executable, [sys.executable, "-c",
                              "import signal,time\nt=time.thread_time()+.2\n"
                              "while time.thread_time()<t: pass\n"
                              "print(signal.getsignal(signal.SIGTRAP))"])


def execs_native():
    burn(0.1)
    os.execv("/bin/sh", ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i"])


def many_execs():
    statuses = {}
    for index in range(150):
        child = os.fork()
        if child == 0:
            burn(0.0002 + index * 5e-6)
            if index % 3 == 0:
                os.execlp("true", "true")
            os.execve("/bin/true", ["true"], {})
        status = os.waitpid(child, 0)[1]
        statuses[status] = statuses.get(status, 0) + 1
    try:
        os.execv("/nowhere", ["nowhere"])
    except OSError as error:
        print(error)
    burn(0.05)
    print(statuses)


def three_threads():
    threads = [threading.Thread(target=burn, args=(0.3,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    burn(0.3)
    for thread in threads:
        thread.join()


def kernel_time():
    end = time.thread_time() + 0.6
    fd = os.open("/dev/zero", os.O_RDONLY)
    while time.thread_time() < end:
        os.read(fd, 1 << 20)
        burn(0.0003)


def strict():
    """seccomp's strict mode allows but read, write, _exit."""
    burn(0.1)
    print("before", flush=True)
    libc.prctl(22, 1, 0, 0, 0)
    burn_blindly(3000000)
    os.write(1, b"after\n")
    libc.syscall(60, 0)


def burn_blindly(count):
    total = 0
    for i in range(count):
        total += i
    return total


if __name__ == "__main__":
    globals()[sys.argv[1]]()
