# SPDX-License-Identifier: MIT
"""survival_programs.py NAME: a program that a profiler within it could break.

Each prints what does not depend on time, so that two runs can be compared.
"""
import asyncio
import collections
import concurrent.futures
import ctypes
import faulthandler
import gc
import json
import multiprocessing
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import weakref

libc = ctypes.CDLL(None, use_errno=True)
LONG = float(os.environ.get("SURVIVAL_SECONDS", "0.3"))
PROGRAMS = {}


def program(group):
    def add(function):
        PROGRAMS[function.__name__] = (group, function)
        return function
    return add


def until(seconds=LONG):
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        yield count
        count += 1


def burn(seconds=0.05):
    """CPU time of the calling thread."""
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(300):
            total += i * i
    return total


def in_threads(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_child(work):
    """The child's wait status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = work()
        sys.stdout.flush()
        os._exit(status or 0)
    return os.waitpid(child, 0)[1]


def lost_wakes(threads):
    """A read() that a signal is to interrupt; a second signal, late, rescues it."""
    read_end, _ = os.pipe()
    stop = threading.Event()

    def fail(number, frame):
        raise ZeroDivisionError

    signal.signal(signal.SIGALRM, fail)
    for _ in range(threads):
        threading.Thread(target=stop.wait, daemon=True).start()
    lost = 0
    for n in range(150):
        begun = time.monotonic()
        sum(range(n * 37 % 1000))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 3)
        try:
            os.read(read_end, 1)
        except ZeroDivisionError:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        lost += time.monotonic() - begun > 2.9
    stop.set()
    # One that comes after the interpreter has looked for signals and before it sleeps is lost without
    # a profiler, too; in that moment a tick may be handled, for as long as others have the CPU.
    print(lost if lost > 4 else "few")


@program("waits")
def interrupted():
    lost_wakes(0)


@program("waits")
def interrupted_beside_threads():
    lost_wakes(2)


@program("waits")
def stopped_and_continued():
    """Nothing of this interrupts a read()."""
    read_end, write_end = os.pipe()

    def child():
        libc.prctl(15, b"stopped", 0, 0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        burn(0.01)
        buffer = ctypes.create_string_buffer(1)
        print(libc.read(read_end, buffer, 1))

    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        child()
        sys.stdout.flush()
        os._exit(0)
    for _ in range(10):
        time.sleep(0.02)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.01)
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.05)
    os.write(write_end, b"x")
    print(os.waitpid(pid, 0)[1])


@program("waits")
def restarts():
    """Handlers with SA_RESTART do not interrupt what C waits for."""
    read_end, write_end = os.pipe()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.siginterrupt(signal.SIGALRM, False)
    for n in range(40):
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        threading.Timer(0.01, os.write, (write_end, b"x")).start()
        sum(range(n * 41 % 1000))
        if libc.read(read_end, ctypes.create_string_buffer(1), 1) != 1:
            print("interrupted")


@program("waits")
def waited_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGALRM])
    for _ in range(10):
        burn(0.002)
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        print(signal.sigwait([signal.SIGUSR1, signal.SIGALRM]),
              signal.sigtimedwait([signal.SIGUSR1], 0.01))


@program("waits")
def handlers_of_all_kinds():
    counts = collections.Counter()
    numbers = [signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTRAP, signal.SIGALRM,
               signal.SIGVTALRM, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1)]
    timers = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
    for number in numbers:
        signal.signal(number, lambda number, frame: counts.update([number]))
    for timer in timers:
        signal.setitimer(timer, 0.001, 0.001)
    for number in numbers * 3:
        os.kill(os.getpid(), number)
        burn(0.002)
    for timer in timers:
        signal.setitimer(timer, 0)
    print(sorted(counts) == sorted(numbers))


@program("waits")
def all_blocked_in_threads():
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))))
    in_threads(3, burn)
    print(len(signal.pthread_sigmask(signal.SIG_SETMASK, [])), signal.sigpending())


@program("waits")
def wakeup_descriptor():
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.signal(signal.SIGTRAP, lambda number, frame: None)
    for _ in range(30):
        burn(0.002)
        os.kill(os.getpid(), signal.SIGALRM)
    print(os.read(read_end, 1000))


@program("ends")
def fault():
    burn(0.1)
    ctypes.string_at(0)


@program("ends")
def aborted():
    burn(0.1)
    os.abort()


@program("ends")
def killed():
    burn(0.1)
    os.kill(os.getpid(), signal.SIGKILL)


@program("ends")
def control_c():
    burn(0.1)
    os.kill(os.getpid(), signal.SIGINT)
    burn(1)


@program("ends")
def left_by_a_thread():
    threading.Thread(target=lambda: (burn(), print("left", flush=True), os._exit(9))).start()
    time.sleep(10)


@program("ends")
def ends_under_daemons():
    source = ("import threading, atexit\n"
              "def spin():\n  while True: sum(range(300))\n"
              "for _ in range(3): threading.Thread(target=spin, daemon=True).start()\n"
              "class Late:\n  def __del__(self): [x for x in range(3000)]\n"
              "cycle = [Late() for _ in range(20)]; cycle.append(cycle)\n"
              "atexit.register(lambda: sum(range(10000)))\n")
    for end in ("", "raise SystemExit(3)", "import os; os._exit(4)"):
        for _ in range(3):
            print(subprocess.run([sys.executable, "-c", source + end], check=False).returncode)


@program("ends")
def starts():
    for flags in ([], ["-I"], ["-S"], ["-E", "-s"], ["-X", "dev"], ["-O"],
                  ["-X", "tracemalloc=5"], ["-X", "faulthandler"]):
        print(subprocess.run([sys.executable, *flags, "-c", "raise SystemExit(7)"],
                             check=False).returncode)


@program("ends")
def programs_of_all_kinds():
    """-c, -m, the standard input, a zipped application, a renamed copy, a link."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "module_of_ours.py")
        with open(name, "w", encoding="utf-8") as file:
            file.write("import sys; print(sys.argv[1:], __name__, sum(range(200000)))\n")
        zipped = os.path.join(folder, "zipped.pyz")
        subprocess.run([sys.executable, "-m", "zipapp", folder, "-m", "module_of_ours:print",
                        "-o", zipped], check=True)
        link = os.path.join(folder, "snake")
        os.symlink(sys.executable, link)
        for command in ([name], ["-m", "module_of_ours", "x"], [zipped], ["-"], [name, "y"]):
            with open(name, "rb") as text:
                print(subprocess.run([sys.executable, *command], cwd=folder, stdin=text,
                                     stdout=subprocess.PIPE, check=True).stdout)
        print(subprocess.run([link, name], stdout=subprocess.PIPE, check=True).stdout)


def descend(depth):
    return descend(depth - 1) + 1 if depth else 0


@program("stacks")
def small_stacks():
    threading.stack_size(32768)
    for _ in range(5):
        in_threads(4, burn)
    threading.stack_size(65536)
    in_threads(4, lambda: [descend(20) for _ in range(1000)])


@program("stacks")
def deep_recursion():
    sys.setrecursionlimit(100000)
    threading.stack_size(512 << 20)
    in_threads(1, lambda: [descend(50000) for _ in until()])


@program("stacks")
def recursion_errors():
    def down():
        return down()

    caught = 0
    for _ in until():
        try:
            down()
        except RecursionError:
            caught = 1
    print(caught)


@program("stacks")
def small_alternate_stack():
    class Stack(ctypes.Structure):
        _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

    memory = ctypes.create_string_buffer(6144)
    print(libc.sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, 4096)), None))
    burn(0.3)


@program("stacks")
def threads_of_c():
    calls = []
    callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
        lambda _: calls.append(burn(0.002)) or 0)
    for _ in range(15):
        ids = (ctypes.c_ulong * 4)()
        for i in range(4):
            libc.pthread_create(ctypes.byref(ids, 8 * i), None, callback, None)
        for i in range(4):
            libc.pthread_join(ctypes.c_ulong(ids[i]), None)
    print(len(calls))


@program("stacks")
def coroutines():
    async def nested(depth):
        return await nested(depth - 1) + 1 if depth else await asyncio.sleep(0, 0)

    async def main():
        return sum(await asyncio.gather(*(nested(20) for _ in range(100))))

    def generate(depth):
        if depth:
            yield from generate(depth - 1)
        yield depth

    for _ in until():
        total = asyncio.run(main()), sum(generate(100))
    print(total)


@program("stacks")
def greenlets():
    try:
        import greenlet
    except ImportError:
        return

    def work():
        for _ in range(50):
            greenlet.getcurrent().parent.switch()
            sum(range(100))

    for _ in until():
        made = [greenlet.greenlet(work) for _ in range(50)]
        while any(not g.dead for g in made):
            for each in made:
                if not each.dead:
                    each.switch()


@program("hooks")
def tracers():
    counts = collections.Counter()

    def trace(frame, event, argument):
        counts[event] += 1
        return trace

    sys.settrace(trace)
    for _ in range(100):
        descend(20)
    sys.settrace(None)
    sys.setprofile(lambda frame, event, argument: counts.update(["profile " + event]))
    for _ in range(100):
        descend(20)
        len("a")
    sys.setprofile(None)
    print(sorted(counts.items()))


@program("hooks")
def monitoring():
    if not hasattr(sys, "monitoring"):
        return
    calls = [0]
    sys.monitoring.use_tool_id(2, "ours")
    sys.monitoring.register_callback(2, sys.monitoring.events.PY_START,
                                     lambda *_: calls.__setitem__(0, calls[0] + 1))
    sys.monitoring.set_events(2, sys.monitoring.events.PY_START)
    for _ in range(300):
        descend(20)
    sys.monitoring.set_events(2, 0)
    sys.monitoring.free_tool_id(2)
    print(calls)


@program("hooks")
def dumps_later():
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback_later(0.01, repeat=True, file=file)
        for _ in until():
            burn(0.001)
        faulthandler.cancel_dump_traceback_later()
        file.seek(0)
        text = file.read()
    print(text.count(b"Timeout") > 3, b"???" in text)


@program("hooks")
def code_that_comes_and_goes():
    for n in until():
        space = {}
        body = "".join("  x%d = a\n" % i for i in range(n % 200))
        exec(compile("def f(a):\n" + body + "  return a\nf(1)", "<%d>" % (n % 9), "exec"), space)
        code = space["f"].__code__.replace(co_name="renamed%d" % n, co_filename="y" * (n % 300))
        type("C%d" % n, (), {"m": types.FunctionType(code, {})})().m()
        if n % 100 == 0:
            gc.collect()


@program("hooks")
def collections_of_garbage():
    class Node:
        pass

    gc.set_threshold(10, 2, 2)
    for _ in until():
        nodes = [Node() for _ in range(100)]
        for node in nodes:
            node.others = nodes
            weakref.finalize(node, int)


@program("hooks")
def switches():
    sys.setswitchinterval(1e-6)
    in_threads(6, lambda: [sum(range(100)) for _ in until()])


@program("hooks")
def text():
    data = {"k%d" % i: [i, str(i), {"a": i / 7}] for i in range(300)}
    for _ in until():
        again = json.loads(json.dumps(data))
        re.sub(r"(\w+)\d", r"\1", json.dumps(again))
    print(again == data)


@program("children")
def forks():
    statuses = set()
    for n in range(60):
        statuses.add(in_child(lambda: burn(0.003) and n % 7))
    print(sorted(statuses))


@program("children")
def forks_among_threads():
    stop = []

    def spin():
        while not stop:
            burn(0.005)

    threads = [threading.Thread(target=spin) for _ in range(3)]
    for thread in threads:
        thread.start()
    statuses = {in_child(lambda: in_child(lambda: burn(0.005) and 4) >> 8) for _ in range(8)}
    stop.append(1)
    for thread in threads:
        thread.join()
    print(statuses)


@program("children")
def tree_of_forks(depth=3):
    def grow(left):
        burn(0.002)
        return sum(in_child(lambda: grow(left - 1)) >> 8 for _ in range(3)) + 1 if left else 1

    print(grow(depth))


def square(number):
    burn(0.002)
    return number * number


@program("pools")
def pools():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(sum(pool.map(square, range(20))))


@program("pools")
def executors():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(square, range(50))))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(square, range(20))))


@program("pools")
def terminated_worker():
    worker = multiprocessing.get_context("fork").Process(target=burn, args=(10,))
    worker.start()
    time.sleep(0.1)
    worker.terminate()
    worker.join()
    print(worker.exitcode)


@program("children")
def chain_of_execs():
    left = int(os.environ.get("LEFT", "8"))
    burn(0.01)
    if not left:
        print("end")
        return
    os.environ["LEFT"] = str(left - 1)
    again = [sys.executable, "-B", __file__, "chain_of_execs"]
    if left % 3 == 0:
        os.execv(sys.executable, again)
    elif left % 3 == 1:
        os.execvp("env", ["env", *again])
    threading.Thread(target=os.execv, args=(sys.executable, again)).start()
    time.sleep(10)


@program("children")
def daemon():
    read_end, write_end = os.pipe()

    def second():
        os.chdir("/")
        for fd in (0, 1, 2):
            os.close(fd)
        for _ in range(3):
            os.open("/dev/null", os.O_RDWR)
        burn(0.1)
        os.write(write_end, b"daemon")
        return 0

    in_child(lambda: os.setsid() or in_child(second))
    print(os.read(read_end, 100))


@program("children")
def terminal():
    pid, fd = pty.fork()
    if pid == 0:
        burn(0.05)
        print("in a terminal", os.isatty(0), flush=True)
        os._exit(0)
    said = b""
    while select.select([fd], [], [], 10)[0]:
        try:
            more = os.read(fd, 1000)
        except OSError:
            break
        if not more:
            break
        said += more
    print(said, os.waitpid(pid, 0)[1])


@program("limits")
def descriptors():
    """No descriptor but the program's own is open, or is closed, or comes in the way."""
    print([fd for fd in range(4096) if is_open(fd)])
    os.closerange(3, 70000)
    burn(0.1)
    print(os.dup2(0, 900), os.dup2(0, 901))
    burn(0.1)
    os.close(900)
    os.close(901)
    print(os.dup2(0, 900))
    burn(0.1)
    print(in_child(lambda: burn() and int(not is_open(900))))


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@program("limits")
def few_resources():
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    print(in_child(lambda: burn() and len([os.open("/dev/null", 0) for _ in range(14)])))
    subprocess.run([sys.executable, "-c", "print(sum(range(100000)))"], check=True)
    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
    try:
        bytearray(1 << 30)
    except MemoryError:
        print("no memory")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    burn(0.05)
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            print(file.write(b"x" * 10000), file.write(b"x"))
    except OSError as error:
        print(error)
    signal.signal(signal.SIGXCPU, lambda number, frame: (print("over", flush=True), os._exit(5)))
    resource.setrlimit(resource.RLIMIT_CPU, (1, 5))
    burn(10)


@program("limits")
def undumpable():
    libc.prctl(4, 0, 0, 0, 0)
    burn(0.1)
    print(in_child(lambda: burn() and 0))


@program("limits")
def another_user():
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    burn(0.1)
    in_threads(2, burn)
    # Whoever has been joined may be about to end, and fork() of 3.12 and later warns of threads.
    while len(os.listdir("/proc/self/task")) > 1:
        time.sleep(0.001)
    print(in_child(lambda: burn() and 0))


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]][1]()
