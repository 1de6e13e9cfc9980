/* SPDX-License-Identifier: MIT */
/*
 * Where CPython keeps what a profiler reads: byte offsets within its structs.
 *
 * Up to 3.12 the numbers are tables of ours, one for each minor version; from
 * 3.13 on the interpreter tells them itself at the start of _PyRuntime, in a
 * struct whose own layout is another in each minor version. x86-64. The agent
 * reads with them in the process, the collector from outside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_LAYOUT_COOKIE  "xdebugpy"
#define PYTHON_LAYOUT_BYTES   888 /* the largest that is read of _PyRuntime */
#define PYTHON_VERSION(minor) (0x0300u | (minor))

/* Offsets in bytes; -1: there is no such thing in this version. */
struct python_layout {
	uint32_t version;   /* PYTHON_VERSION(11) */
	bool free_threaded; /* no GIL */

	/* _PyRuntime */
	int32_t runtime_interpreters; /* the first interpreter; NULL before Py_Initialize() */
	int32_t runtime_finalizing;   /* the thread state that ends the runtime */
	int32_t runtime_current;      /* the thread state that holds the GIL; up to 3.11 */
	int32_t runtime_gil;          /* the GIL's state; up to 3.11 */

	/* PyInterpreterState */
	int32_t interpreter_next, interpreter_threads;
	int32_t interpreter_gil; /* a pointer to the GIL's state; 3.12 and later */
	int32_t gil_locked;      /* an int */
	int32_t gil_holder;      /* the thread state that took it last */
	int32_t gil_bytes;       /* with the condition variables that threads wait on for it */

	/* PyThreadState */
	int32_t thread_next, thread_interpreter;
	int32_t thread_frame;   /* a frame; where there are cframes (3.11, 3.12) one of them */
	int32_t thread_pthread; /* its pthread_t */
	int32_t thread_tid;     /* the kernel's number; 3.11 and later */
	int32_t thread_chunk;   /* the newest chunk of its frames' stack; 3.11 and later */
	int32_t thread_top;     /* where the frames in it end */
	int32_t thread_status;  /* flags: PYTHON_THREAD_…; 3.12 and later */
	int32_t thread_bytes;

	/* _PyCFrame, on the machine's stack */
	int32_t cframe_current, cframe_previous;

	/* _PyInterpreterFrame; up to 3.10 PyFrameObject */
	int32_t frame_code, frame_previous;
	int32_t frame_instruction; /* a pointer; up to 3.10 f_lasti */
	int32_t frame_locals;      /* the function's variables, arguments first */
	int32_t frame_operands; /* a pointer to its operands; up to 3.10: they follow the variables
	                         */
	int32_t frame_owner;
	int32_t frame_entry; /* 3.11: nonzero in the outermost frame of a call of the interpreter */
	int32_t frame_tlbc;  /* which copy of the bytecode its thread runs; free-threaded 3.14+ */
	int32_t frame_bytes;

	/* PyCodeObject */
	int32_t code_size; /* ob_size */
	int32_t code_file, code_name, code_lines, code_first_line;
	int32_t code_version;  /* a number that no other has, 32 bits; 3.12 and later */
	int32_t code_operands; /* how many operands there may be at a time, 32 bits */
	int32_t code_locals;   /* how many variables, 32 bits; 3.11 and later */
	int32_t code_start;    /* of the bytecode; 3.11 and later */
	int32_t code_tlbc;
	int32_t code_bytes; /* all of the above but the bytecode */

	int32_t object_type;

	/* PyASCIIObject and PyCompactUnicodeObject, PyBytesObject */
	int32_t text_length, text_state, text_ascii, text_compact;
	int32_t text_kind_bit; /* of the state: 3 bits of kind, then compact, then ascii */
	int32_t bytes_size, bytes_data;
};

/* Of references on a frame's stack, from 3.14 on. */
#define PYTHON_TAG_BITS UINT64_C(7)

/* Of a thread's status: it runs Python, and holds the GIL if there is one. */
#define PYTHON_THREAD_ACTIVE (1u << 4)
/* It is the one of its thread that PyGILState_GetThisThreadState() returns. */
#define PYTHON_THREAD_BOUND (1u << 3)

/* Owners of frames from 3.12 on: this and above are no Python function, but end a call. */
#define PYTHON_OWNER_GENERATOR 1
#define PYTHON_OWNER_SHIM      3
#define PYTHON_OWNER_MAX       4

/* A chunk of frames: the one before it, its size in bytes with these three words, then frames. */
#define PYTHON_CHUNK_PREVIOUS 0
#define PYTHON_CHUNK_SIZE     8
#define PYTHON_CHUNK_FRAMES   24

/* False: there is no table for VERSION (3.8 to 3.12). */
bool python_layout_of(uint32_t version, struct python_layout *out);

/* The version that _PyRuntime tells in its first 24 BYTES; 0: it tells none (before 3.13). */
uint32_t python_layout_version(const uint8_t *bytes);

/*
 * From the first SIZE bytes of _PyRuntime. False: a version that is not known (3.13 to 3.15), or
 * numbers that cannot be.
 */
bool python_layout_read(const uint8_t *bytes, size_t size, struct python_layout *out);
