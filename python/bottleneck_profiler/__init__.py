# SPDX-License-Identifier: MIT
"""A program's own words to bottleneck(1): ranges, steps, and what is recorded.

    import bottleneck_profiler as bn

    with bn.range("load"):          # an op in the report, under its name
        ...

    @bn.range("forward")            # the same of each call; the name may be left out
    def forward(x): ...

    for batch in loader:
        bn.mark_step()              # a step ends, and the next one begins
        ...
    bn.stop()                       # ends the last step; recording pauses, for the whole run
    bn.start()                      # recording goes on

Where the program does not run under bottleneck all of them do nothing. In a notebook
"%load_ext bottleneck_profiler" adds the magic %%bottleneck, which profiles a cell.
"""
import functools

__all__ = ["range", "start", "stop", "mark_step", "is_profiled"]
__version__ = "0.2.0"


# Flags of code: generators, coroutines, asynchronous generators.
_WAITS = 0x20 | 0x80 | 0x200


def _find():
    """The agent's functions, or None. They are called with the GIL held, as C code is."""
    try:
        import ctypes

        agent = ctypes.PyDLL(None)
        found = [getattr(agent, "bottleneck_agent_" + name)
                 for name in ("python_range_begin", "range_end", "python_mark_step", "python_start",
                              "python_stop")]
    except (ImportError, OSError, AttributeError):
        return None
    found[0].argtypes = [ctypes.c_char_p]
    for function in found:
        function.restype = None
    return found


_agent = _find()
_begin, _end, _mark_step, _start, _stop = _agent or [None] * 5


def is_profiled():
    """Whether the program runs under bottleneck, with ops."""
    return _agent is not None


def _encode(name):
    return str(name).encode("utf-8", "surrogateescape").split(b"\0")[0]


class range:  # pylint: disable=redefined-builtin
    """A named range of the calling thread: a context manager, and a decorator of functions.

    Ranges of a thread nest. One object may be entered again before it is left. A range must be left
    in the thread that has entered it, so coroutines and generators cannot be decorated: other code of
    the thread runs while they wait. Within them, "with" is right around what does not wait.
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
    else:
        def __enter__(self):
            return self

        def __exit__(self, *unused):
            pass

    def __call__(self, function):
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _WAITS:
            raise TypeError(f"bottleneck_profiler.range cannot decorate {function.__qualname__}(): other "
                            "code of its thread runs while it waits")
        if not _agent:
            return function
        text = self._text
        if text is None:
            text = _encode(function.__qualname__)

        @functools.wraps(function)
        def within_range(*args, **kwargs):
            _begin(text)
            try:
                return function(*args, **kwargs)
            finally:
                _end()

        return within_range


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


def load_ipython_extension(shell):
    from bottleneck_profiler import notebook

    notebook.load(shell)


def unload_ipython_extension(shell):
    from bottleneck_profiler import notebook

    notebook.unload(shell)
