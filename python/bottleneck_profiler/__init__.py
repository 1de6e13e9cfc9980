# SPDX-License-Identifier: MIT
"""A program's own words to bottleneck(1): ranges, steps, and what is recorded.

    import bottleneck_profiler as bn

    with bn.range("load"):          # an op in the report, under its name
        ...

    @bn.range("forward")            # the same of each call; the name may be left out
    def forward(x): ...

    async with bn.range("fetch"):   # while a task waits others run: a range of the process
        ...
    number = bn.range_start("request")
    bn.range_end(number)            # in whatever thread or task

    for batch in loader:
        bn.mark_step()              # a step ends, and the next one begins
        ...
    bn.stop()                       # ends the last step; recording pauses, for the whole run
    bn.start()                      # recording goes on

Where the program does not run under bottleneck all of them do nothing. In a notebook
"%load_ext bottleneck_profiler" adds the magic %%bottleneck, which profiles a cell.
"""
import atexit
import contextvars
import functools
import os

__all__ = ["range", "range_start", "range_end", "start", "stop", "mark_step", "is_profiled"]
__version__ = "0.2.0"


# Flags of code: coroutines, and generators, also asynchronous ones.
_COROUTINE = 0x80
_GENERATES = 0x20 | 0x200


def _find():
    """The agent's functions, or None. They are called with the GIL held, as C code is."""
    try:
        import ctypes

        agent = ctypes.PyDLL(None)
        found = [getattr(agent, "bottleneck_agent_" + name)
                 for name in ("python_range_begin", "range_end", "python_mark_step", "python_start",
                              "python_stop", "python_range_start", "range_end_id")]
    except (ImportError, OSError, AttributeError):
        return None
    for function in found:
        function.restype = None
    found[0].argtypes = found[5].argtypes = [ctypes.c_char_p]
    found[5].restype = ctypes.c_uint64
    found[6].argtypes = [ctypes.c_uint64]
    return found


_agent = _find()
_begin, _end, _mark_step, _start, _stop, _range_start, _range_end = _agent or [None] * 7

# Numbers of the ranges that a task has entered with "async with", the innermost last.
_entered = contextvars.ContextVar("bottleneck_profiler_ranges", default=())


def is_profiled():
    """Whether the program runs under bottleneck, with ops."""
    return _agent is not None


def _encode(name):
    return str(name).encode("utf-8", "surrogateescape").split(b"\0")[0]


class range:  # pylint: disable=redefined-builtin
    """A named range of the calling thread: a context manager, and a decorator of functions.

    Ranges of a thread nest. One object may be entered again before it is left. A range must be left
    in the thread that has entered it, and other code of the thread runs while a coroutine waits: there
    "with" is right around what does not wait, and "async with" around what does. That, and a decorated
    coroutine, is a range of the process, as of range_start(). Generators cannot be decorated.
    """

    __slots__ = ("name", "_text")

    def __init__(self, name=None):
        function = name if callable(name) else None
        if function is not None:
            raise TypeError("bottleneck_profiler.range is called with a name, or with none: "
                            "@range() or @range(\"name\")")
        self.name = name
        self._text = None if name is None else _encode(name)

    if _agent:
        def __enter__(self):
            _begin(self._text)
            return self

        def __exit__(self, *unused):
            _end()

        async def __aenter__(self):
            _entered.set(_entered.get() + (_range_start(self._text),))
            return self

        async def __aexit__(self, *unused):
            *others, number = _entered.get()
            _entered.set(tuple(others))
            _range_end(number)
    else:
        def __enter__(self):
            return self

        def __exit__(self, *unused):
            pass

        async def __aenter__(self):
            return self

        async def __aexit__(self, *unused):
            pass

    def __call__(self, function):
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATES:
            raise TypeError(f"bottleneck_profiler.range cannot decorate {function.__qualname__}(): other "
                            "code of its thread runs while it waits")
        if not _agent:
            return function
        text = self._text
        if text is None:
            text = _encode(function.__qualname__)
        if code is not None and code.co_flags & _COROUTINE:
            return _decorate_coroutine(function, text)

        @functools.wraps(function)
        def within_range(*args, **kwargs):
            _begin(text)
            try:
                return function(*args, **kwargs)
            finally:
                _end()

        return within_range


def _decorate_coroutine(function, text):
    @functools.wraps(function)
    async def within_range(*args, **kwargs):
        number = _range_start(text)
        try:
            return await function(*args, **kwargs)
        finally:
            _range_end(number)

    return within_range


def range_start(name=None):
    """A range begins, which any thread or task ends. Returns its number, which range_end() needs."""
    return _range_start(None if name is None else _encode(name)) if _agent else 0


def range_end(number):
    """The range of that number ends, wherever it was started; one that has ended is ignored."""
    if _agent:
        _range_end(number)


def mark_step():
    """A step of the program ends, and the next one begins: for loops, from one thread."""
    if _agent:
        _mark_step()


def start():
    """Recording goes on, for the whole run: all its threads and processes."""
    if _agent:
        _start()


def stop():
    """Recording pauses, for the whole run, and the last step ends. The program runs on."""
    if _agent:
        _stop()


def _measure_empty():
    """What a range costs from Python: at the end of a program that "bottleneck bench --range" runs."""
    for number in (*"0123456789",) * 40:
        with range("bottleneck: empty, in Python"):
            pass
        sum(map(int, number * 50))  # a range among others is not as warm as a row of them


if _agent and "BOTTLENECK_EMPTY_RANGES" in os.environ:
    atexit.register(_measure_empty)


def load_ipython_extension(shell):
    from bottleneck_profiler import notebook

    notebook.load(shell)


def unload_ipython_extension(shell):
    from bottleneck_profiler import notebook

    notebook.unload(shell)
