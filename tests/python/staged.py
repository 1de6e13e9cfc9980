# SPDX-License-Identifier: MIT
"""Stages in every kind of Python frame there is; see stage.py."""
import asyncio
import atexit
import contextlib
import functools
import gc
import json
import operator
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import weakref
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stage  # noqa: E402

here = stage.here


def plain():
    def inner():
        here("plain")

    inner()


def recursion(depth, name):
    if depth == 0:
        return here(name)
    return recursion(depth - 1, name)


def mutual_a(depth):
    return mutual_b(depth - 1) if depth else here("mutual recursion")


def mutual_b(depth):
    return [mutual_a(depth - 1) if depth else here("mutual recursion") for _ in range(1)]


def generator(name):
    yield here(name)
    yield from delegate(name)
    yield here(name)


def delegate(name):
    yield (
        1 +
        here(name)
    )


def generators():
    for _ in generator("generator"):
        pass
    g = generator("generator by next")
    next(g)
    here("beside a suspended generator")
    list(g)
    with contextlib.suppress(ValueError):
        thrown = catching()
        next(thrown)
        thrown.throw(ValueError)


def catching():
    try:
        yield
    except ValueError:
        here("generator by throw")
        raise


async def leaf(name):
    return here(name)


async def middle(name):
    return await leaf(name)


async def numbers(name):
    for i in range(2):
        await asyncio.sleep(0)
        here(name)
        yield i


class AsyncContext:
    async def __aenter__(self):
        here("aenter")

    async def __aexit__(self, *_):
        await leaf("aexit")


async def coroutines():
    await middle("await")
    await asyncio.gather(middle("task"), middle("task"))
    async for _ in numbers("async generator"):
        pass
    [x async for x in numbers("async comprehension")]
    async with AsyncContext():
        pass


def comprehensions():
    [here("list comprehension") for _ in range(2)]
    {here("set comprehension") for _ in range(2)}
    {i: here("dict comprehension") for i in range(2)}
    sum(here("generator expression") for _ in range(2))
    [[here("nested comprehension") for _ in range(1)] for _ in range(2)]


def lambdas():
    (lambda: here("lambda"))()
    list(map(lambda _: (lambda: here("lambda in map"))(), [1, 2]))


def class_bodies():
    class Body:
        one = here("class body")

        class Nested:
            two = here("nested class body")


def executed():
    exec("here('exec')")
    eval("here('eval')")
    exec(compile("def f():\n    here('compiled')\n\nf()\n", "nowhere/made-up.py", "exec"),
         {"here": here})
    for i in range(8):  # one after the other in the same place
        text = "\n" * (i % 3) + "def z%d():\n%s    here('exec again')\nz%d()\n" % (
            i % 2, "    # \n" * (i % 4), i % 2)
        exec(compile(text, "<string>", "exec"), {"here": here})


def executed_alike():
    """Of one name, size and first line; only a line in the middle is another."""
    for i in range(24):
        before, after = "\n" * (i % 6), "\n" * (6 - i % 6)
        text = "def same():\n%s    here('exec alike', 5_000_000)\n%s    return 1\nsame()\n" % (
            before, after)
        exec(compile(text, "<string>", "exec"), {"here": here})


def odd_names():
    for name in ("latin-é.py", "κείμενο-日本.py", "emoji-😀.py", "low-\udc80.py"):
        with contextlib.suppress(UnicodeEncodeError):
            exec(compile("def méthode():\n    here('odd name')\nméthode()\n", name, "exec"),
                 {"here": here})
    long = "n" * 1500
    exec("def %s():\n    here('long name')\n%s()" % (long[:900], long[:900]), {"here": here})


def decorated():
    def with_wraps(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs)

        return wrapper

    @with_wraps
    @functools.lru_cache()
    @contextlib.contextmanager
    def manager():
        here("in a context manager's start")
        yield
        here("in a context manager's end")

    with manager():
        here("with")


class Operators:
    def __init__(self, name):
        self.name = name

    def __lt__(self, other):
        here("lt in " + self.name)
        return True

    def __eq__(self, other):
        here("eq in " + self.name)
        return True

    def __hash__(self):
        return 7

    def __getattr__(self, name):
        return here("getattr")

    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return here("getitem")

    def __len__(self):
        return here("len")

    def __call__(self, *_):
        return here("call")

    @property
    def prop(self):
        return here("property")

    def __enter__(self):
        here("enter")

    def __exit__(self, *_):
        here("exit")

    def __str__(self):
        return str(here("str"))

    def __add__(self, other):
        return here("add")


class Meta(type):
    def __new__(mcs, *args):
        here("metaclass")
        return super().__new__(mcs, *args)

    def __call__(cls, *args):
        return here("metaclass call")


class Base:
    def __init_subclass__(cls):
        here("init subclass")


class Dying:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        here(self.name)


def die():
    Dying("del")
    d = Dying("del at return")  # noqa: F841


def collected():
    a, b = Dying("del by the collector"), []
    a.me = b
    b.append(a)
    del a, b
    gc.collect()
    weakref.ref(collected_object := Operators("weak"), lambda _: here("weakref callback"))
    del collected_object


def called_from_c():
    sorted([3, 1], key=lambda _: here("key"))
    sorted([Operators("sorted"), Operators("sorted")])
    [Operators("list"), Operators("list")].sort()
    Operators("index") in [Operators("index")]
    {Operators("dict"): 1}[Operators("dict")]
    list(map(here, ["map"] * 2))
    list(filter(lambda _: here("filter"), [1]))
    functools.partial(here, "partial")()
    functools.reduce(lambda a, b: here("reduce"), [1, 2, 3])
    operator.methodcaller("__call__")(Operators("x"))
    operator.attrgetter("missing")(Operators("x"))
    re.sub("a", lambda _: str(here("re.sub")), "aa")
    json.loads('{"a": {"b": 1}}', object_hook=lambda _: here("object_hook"))
    json.dumps(Operators("x"), default=lambda _: here("json default"))
    list(Operators("x"))
    len(Operators("x"))
    str(Operators("x"))
    "%s" % Operators("x")
    Operators("x") + 1
    Operators("x").prop
    Operators("x")()
    max([1, 2], key=lambda _: here("max"))
    with Operators("x"):
        pass
    Meta("Made", (), {})()
    type("Sub", (Base,), {})
    next(iter(lambda: here("iter"), None))
    zlib_line()


def zlib_line():
    """C code that gives up the GIL."""
    data = random.Random(1).getrandbits(8 << 19).to_bytes(1 << 19, "little")
    clock = time.monotonic_ns
    line = sys._getframe().f_lineno + 1
    first = clock(); zlib.compress(data, 9); last = clock()
    stage.write("without the GIL", sys._getframe(), line, first, last)


def imported():
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "staged_package"))
        for name, text in (("__init__", "from . import inner\n"),
                           ("inner", "import stage\n\nstage.here('import')\n")):
            with open(os.path.join(directory, "staged_package", name + ".py"), "w") as out:
                out.write(text)
        sys.path.insert(0, directory)
        import staged_package  # noqa: F401
        sys.path.pop(0)


def handled():
    signal.signal(signal.SIGUSR1, lambda *_: here("signal handler"))
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(100):
        pass


def traced():
    def tracer(frame, event, argument):
        if frame.f_code.co_name == "watched":
            sys.settrace(None)
            here("trace function")

    def watched():
        return 1

    sys.settrace(tracer)
    watched()
    sys.settrace(None)


def excepted():
    try:
        raise ValueError
    except ValueError:
        here("except")
    finally:
        here("finally")


def many_lines():
    return (
        1,
        here("in a tuple"),
        len([
            here("deep in a tuple"),
        ]),
    )


def threads():
    started = [threading.Thread(target=plain), threading.Thread(target=zlib_line),
               threading.Thread(target=recursion, args=(20, "recursion in a thread")),
               threading.Thread(target=lambda: asyncio.run(coroutines()))]
    for t in started:
        t.start()
    here("beside threads")
    for t in started:
        t.join()


def forked():
    child = os.fork()
    if child == 0:
        plain()
        mutual_a(5)
        exec("here('exec in a child')", {"here": here})
        os._exit(0)
    os.waitpid(child, 0)


SUBINTERPRETER = """
import sys
sys.path.insert(0, %r)
import stage

def inside(depth):
    return stage.here('subinterpreter') if depth == 0 else inside(depth - 1)

inside(5)
list(map(inside, [1, 2]))
"""


def subinterpreters():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        try:
            import _interpreters as interpreters
        except ImportError:
            return
    text = SUBINTERPRETER % os.path.dirname(os.path.abspath(__file__))
    made = interpreters.create()
    interpreters.run_string(made, text)
    t = threading.Thread(target=interpreters.run_string, args=(made, text))
    t.start()
    t.join()
    interpreters.destroy(made)


def everything():
    plain()
    recursion(60, "recursion")
    sys.setrecursionlimit(3000)
    recursion(700, "deep recursion")
    mutual_a(12)
    generators()
    asyncio.run(coroutines())
    comprehensions()
    lambdas()
    class_bodies()
    executed()
    executed_alike()
    odd_names()
    decorated()
    die()
    collected()
    called_from_c()
    imported()
    handled()
    traced()
    excepted()
    many_lines()
    threads()
    forked()
    subinterpreters()


if __name__ == "__main__":
    atexit.register(here, "atexit")
    everything()
    at_end = Dying("del at the end")
