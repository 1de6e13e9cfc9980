/* SPDX-License-Identifier: MIT */
/*
 * The Python of one process: its code objects, and where their frames stand in
 * native stacks.
 *
 * The agent tells a sample's Python frames, innermost first, and for the
 * outermost frame of each call of the interpreter an ANCHOR: the address of
 * something that this call has on the stack. The native frame that holds it is
 * that call, in whose place the Python frames go:
 *
 *	native                          Python                 together
 *	array_sort
 *	_PyEval_EvalFrameDefault ◄──── inner                   array_sort
 *	                         └──── outer (anchor)    →     inner, outer
 *	_PyEval_Vector, partial_call                           partial_call  (not the interpreter's)
 *	_PyEval_EvalFrameDefault ◄──── <module> (anchor)       <module>
 *	main
 *
 * Between them the interpreter's own frames are left out: they only lead from
 * one Python function to the next. Below them they are marked (FRAME_INTERPRETER_*). Up to CPython
 * 3.10 there are no anchors: each Python function has one call of the interpreter, known by its
 * address.
 *
 * One thread at a time.
 */
#pragma once

#include "base/code.h"
#include "base/stack.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space;
struct modules;
struct python_line_memory;
struct python_object;
struct python_remote;

/* Numbers of code objects that the collector has read itself have this bit. */
#define PYTHON_READ (UINT32_C(1) << 31)

struct python_objects {
	struct python_object *objects; /* [number] */
	uint32_t count;
	size_t capacity;
};

/* What its numbers mean to the registry; 0: not told. */
struct python_numbers {
	uint32_t *ids; /* [number] */
	uint32_t count;
	size_t capacity;
};

/* Zeroed when there is no interpreter. */
/* Up to 3.10 a function of Python calls another one by so many functions of the interpreter at
   most: by how many depends on what its compiler has put into others. */
#define PYTHON_PLAIN_CALL 3

struct python {
	bool counts;  /* its calls are counted */
	bool samples; /* its agent samples the process, and nobody else */
	bool in_file; /* its program is in a file: see sampler/python/python_command.h */
	uint32_t version;
	uint64_t eval_start, eval_end;
	uint64_t runtime, code_type;
	struct python_types types;
	struct python_objects told, read;      /* by the agent; from outside */
	struct python_numbers chains, modules; /* [number]: calls, modules of the registry */
	struct python_line_memory *lines;
	/* How often so many functions of the interpreter stood between two of Python's. */
	uint64_t calls[PYTHON_PLAIN_CALL + 1];
	uint64_t gil_ns;              /* when it was last looked who holds the GIL */
	struct python_remote *remote; /* python_remote.h; owned; NULL: not looked at yet */
};

void python_fini(struct python *p); /* all is forgotten */

void python_begin(struct python *p, const struct event_python *event);

/* PARENT has forked CHILD: its interpreter is where it was; who samples it, it will tell. */
void python_fork(const struct python *parent, struct python *child);

/* False if there is no memory. */
bool python_add_code(struct python *p, struct codes *codes, const struct event_python_code *event);

/* One that was read from outside: its number, 0 if there is no memory. */
uint32_t python_add_read(struct python *p, struct codes *codes,
                         const struct event_python_code *event);

/* Which function of the registry has NUMBER; 0: it was not told. */
uint32_t python_code_of(const struct python *p, uint32_t number);

/* A chain of callers: false if there is no memory. What was reported first counts. */
bool python_add_chain(struct python *p, struct codes *codes,
                      const struct event_python_chain *event);

/* A torch.nn.Module has a name, or a better one. False if there is no memory. */
bool python_name_module(struct python *p, struct codes *codes,
                        const struct event_torch_module *event);

/* Which call of the registry chain NUMBER ends with; 0: it was not told. */
uint32_t python_chain_of(const struct python *p, uint32_t number);

/* The function and the line of FRAME (base/stack.h); function 0: it is not known. */
struct frame python_frame_at(struct python *p, const struct python_frame *frame);

/* Native frames with their stack pointers, as the unwinder has them, innermost first. */
struct python_native {
	struct address_space *space;
	const struct modules *modules; /* NULL: what code the process has made is not known */
	const struct frame *frames;
	const uint64_t *sps;
	size_t count;
	bool earlier; /* the thread has gone on since, before its Python frames were read */
};

struct python_stack {
	struct frame frames[STACK_MAX_FRAMES];
	uint64_t sps[STACK_MAX_FRAMES]; /* of a Python frame: of the interpreter's */
	size_t count;
	bool whole; /* although the native stack may be cut */
};

/* NATIVE with the frames of CHAIN at their places. */
void python_place(struct python *p, const struct python_chain *chain,
                  const struct python_native *native, struct python_stack *out);
