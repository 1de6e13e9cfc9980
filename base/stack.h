/* SPDX-License-Identifier: MIT */
/*
 * A complete stack: what the sampler hands on and the profile takes in.
 */
#pragma once

#include "base/device_bytes.h"
#include "base/metric.h"
#include "base/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The most frames that one stack holds; what lies above is cut and flagged. */
#define STACK_MAX_FRAMES 1024

/*
 * A frame's address is an interrupted instruction or a return address, and only
 * its kind tells which. frame_lookup_address() is the one place that steps back
 * into the call.
 */
enum frame_kind {
	FRAME_EXACT = 1,  /* interrupted here (leaf, or below a signal handler) */
	FRAME_RETURN = 2, /* will return to here */
	FRAME_MARK = 3,   /* stands for something that has no code: address is an enum mark */
	FRAME_OP = 4,     /* an op that its caller has begun: address is its id (base/op.h) */
	FRAME_PYTHON = 5, /* a Python function and its line: see frame_of_python() */
	/* An interpreter's own code, at work for the Python function above it: */
	FRAME_INTERPRETER_EXACT = 6,  /* as FRAME_EXACT */
	FRAME_INTERPRETER_RETURN = 7, /* as FRAME_RETURN */
	/* A C function that Python has called, known by Python's name of it; made by the profile:
	 */
	FRAME_CALLED_EXACT = 8,
	FRAME_CALLED_RETURN = 9,
	/* In chains of callers alone: */
	FRAME_MODULE = 10 /* a torch.nn.Module: see frame_of_module() */
};

enum mark {
	MARK_KERNEL = 1,    /* kernel time whose kernel frames could not be seen */
	MARK_TRUNCATED = 2, /* callers are missing above this point */
	MARK_UNKNOWN = 3,   /* time of the thread whose stack could not be read */
	MARK_SHORT = 4,     /* time of a thread before its first sample was due */
	MARK_GIL = 5,       /* a wait for the lock of Python's interpreter, on top of its stack */
	MARK_OURS = 6,      /* hooks and handlers of the agent's, on top of what they were in */
	MARK_FAULT = 7      /* as MARK_KERNEL, entered by no system call: by a page fault */
};

struct frame {
	uint64_t address; /* in the module's own address space, see enum module_kind */
	uint32_t module;  /* module id; 0 if the address lies in no known mapping */
	uint32_t kind;    /* enum frame_kind */
};

/* Where to look the frame's function and line up. */
static inline uint64_t frame_lookup_address(struct frame frame)
{
	// A call can be its function's last instruction, so the return address may
	// belong to the next function: look up the byte before it.
	bool returns = frame.kind == FRAME_RETURN || frame.kind == FRAME_INTERPRETER_RETURN ||
	               frame.kind == FRAME_CALLED_RETURN;
	return returns ? frame.address - 1 : frame.address;
}

/* Line LINE of the function CODE (base/code.h); both may be 0, unknown. */
static inline struct frame frame_of_python(uint32_t code, uint32_t line)
{
	uint64_t place = (uint64_t)code << 32 | line;

	return (struct frame){ .address = place, .kind = FRAME_PYTHON };
}

/* Module MODULE (base/code.h). */
static inline struct frame frame_of_module(uint32_t module)
{
	return (struct frame){ .address = module, .kind = FRAME_MODULE };
}

static inline uint32_t frame_python_code(struct frame frame)
{
	return (uint32_t)(frame.address >> 32);
}

static inline uint32_t frame_python_line(struct frame frame)
{
	return (uint32_t)frame.address;
}

enum stack_flags {
	STACK_TRUNCATED = 1 << 0, /* some callers are missing */
	STACK_JOINED = 1 << 1,    /* older frames were read from memory a little later */
	STACK_GUESSED =
		1 << 2, /* a frame pointer, or a frame without unwind rules, had to be guessed */
	STACK_SPINS =
		1 << 3, /* its leaf is in a loop that spins until another thread does something */
	STACK_FAULTS = 1 << 4 /* its leaf has entered the kernel, but has called nothing of it */
};

/* One sample, or one off-CPU interval. */
struct stack {
	uint32_t thread;      /* the number the sampler gave in struct thread_event */
	enum metric metric;   /* what the weight is */
	uint64_t time_ns;     /* on-CPU: when it was taken; off-CPU: when the interval began */
	uint64_t duration_ns; /* off-CPU: length of the interval; on-CPU: 0 */
	uint64_t
		weight_ns; /* time that this stack stands for; 0: none, it is a look at SUBNORMAL */
	uint32_t samples;  /* 1, or 0 where the weight is a remainder of another sample */
	uint32_t flags;    /* enum stack_flags */
	uint32_t count;    /* frames */
	const struct frame *frames; /* innermost first; borrowed, valid during the call */
	const uint64_t *regs; /* of the innermost, all DWARF_REGISTERS, as frames; NULL: unknown */
	const uint32_t *subnormal; /* vector registers, as in struct record_sample; NULL: unknown */
};

/* An op that has ended, or a mark: then it ends where it begins. */
struct op_event {
	uint32_t thread; /* number of the thread that began it */
	uint32_t op;     /* id, see base/op.h */
	uint32_t parent; /* id of the op right around it; 0: none */
	uint32_t flags;  /* enum op_flags, base/record.h */
	bool mark;
	bool within_itself; /* the same op is open around it */
	bool within_domain; /* one of the same domain is: op_domain() */
	uint64_t begin_ns, end_ns;
	uint64_t self_ns; /* exact: while no op was open within it */
	double weight;    /* it stands for so many; 0 or 1: for itself alone */
	uint32_t window;  /* which it was recorded in, where that is more than 1 */
	/* Of both times, a stall that has nothing to do with the op, as where its thread waited for
	   a CPU: it is not there in the others that this one stands for. */
	uint64_t stall_ns, self_stall_ns;
	/* Of its self time and that of the others that it stands for, what is that of ops within
	   them which were not recorded, by estimate. */
	double unseen_within;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t self_allocated_bytes, self_freed_bytes;
	struct op_device_bytes devices;
	struct frame caller; /* where it was begun; module 0 if unknown */
	uint32_t chain;      /* who calls it in Python, see codes_add_call(); 0: unknown */
	uint32_t forward; /* the same of what it is the derivative of; 0: unknown, or of nothing */
	uint16_t detail;  /* enum op_detail */
	uint16_t detail_count;
	const uint64_t *details; /* borrowed, valid during the call */
};

/* Ops that left no events of their own. */
struct op_count_event {
	uint32_t process; /* number */
	uint32_t op;
	struct op_counts counts; /* what has come since the last event of this op */
};

/* A sampled allocation, for the WEIGHT_BYTES that it stands for. */
struct alloc_event {
	uint32_t thread;
	uint64_t time_ns;
	uint64_t address, bytes, weight_bytes;
	bool untracked;             /* nobody will tell when it is freed */
	uint32_t flags;             /* enum stack_flags */
	uint32_t count;             /* frames */
	const struct frame *frames; /* innermost first; borrowed, valid during the call */
};

/* A sampled allocation has been freed. */
struct free_event {
	uint32_t process;
	uint64_t time_ns, address;
};

/* Python's name of the C function that begins at FILE_OFFSET of MODULE; "": it has none. */
struct python_name_event {
	uint32_t module;
	uint64_t file_offset;
	const char *name;
};

/* A function that Python calls: one of its own, or of C. */
struct python_function {
	uint32_t code;    /* its number (base/code.h); 0: it is one of C, or unknown */
	const char *name; /* of a C function, as cProfile has it; NULL: it is one of Python's */
};

/*
 * Calls of a function of a process that counts them: what has come since the last event, from
 * wherever or from one caller.
 */
struct python_calls_event {
	struct python_function function, caller;
	bool has_caller;
	uint64_t calls;
	uint64_t recursive; /* of these: see struct record_python_calls */
	bool first;         /* of the process */
	bool last;          /* none is missing; CALLS is 0 */
};

/* A function that --trace asks for was found: it is traced, or not. */
struct patch_event {
	uint32_t pattern; /* number of the option */
	uint32_t reason;  /* enum patch_reason, base/record.h */
	uint64_t count;   /* functions: 1, but for PATCH_MANY */
	const char *name; /* "" for PATCH_MANY */
};

/* All allocations of a process. The variances are of what is estimated, as in struct record_memory;
   0: all is exact. */
struct memory_event {
	uint32_t process;
	uint64_t time_ns;
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
	uint64_t allocations_variance, bytes_variance;
};

/* A process has begun, or has become another program by exec. */
struct process_event {
	uint32_t process; /* number, given in order from 1; an exec keeps it */
	uint32_t parent;  /* number of its parent, 0 if that is not ours */
	uint32_t pid;
	uint64_t time_ns;
	bool exec;           /* the same process, another program */
	const char *command; /* the program's name; never NULL */
	const char *title;   /* with what tells it from others: see sampler/proc/proc_title.h; NULL:
	                        nothing   does */
};

/* A thread has begun, or has got another name. */
struct thread_event {
	uint32_t thread;  /* number, given in order from 1 */
	uint32_t process; /* number */
	uint32_t tid;
	uint64_t time_ns;
	const char *name; /* never NULL, may be "" */
};

/* What a thread is about at a moment. */
enum thread_state {
	THREAD_GONE = 0, /* it has ended */
	THREAD_RUNS,
	THREAD_READY, /* it wants a CPU, and has none */
	THREAD_BLOCKED
};

/* Who has woken a thread, as far as the kernel tells. */
enum woken_by {
	WOKEN_BY_THREAD,
	WOKEN_BY_INTERRUPT,   /* a timer or a device, whoever was on the CPU */
	WOKEN_AFTER_INTERRUPT /* the same, or a packet that the thread on the CPU has just sent to
	                         this machine itself */
};

/* A thread was in STATE, and is in NEXT from TO_NS on. */
struct span_event {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	enum thread_state state, next;
	enum metric cause; /* of THREAD_BLOCKED: METRIC_OFF_OTHER if it is not known by then */
	uint64_t woken_ns; /* of THREAD_BLOCKED: when it was woken, by the kernel's word; 0: unknown
	                    */
	uint32_t waker; /* the thread that was on the CPU then; 0: not known, or none of the run */
	enum woken_by woken_by;
	/* Nobody reports its thread's switches: what it did since its last span or sample may
	   become known later, and was not the same all the time. */
	bool estimated;
};

/* What a thread waits for at TIME_NS, or from then on, is done at the other end of a pipe or
   socket: by these processes. */
struct peers_event {
	uint32_t thread;
	uint64_t time_ns;
	uint64_t inode;
	uint64_t descriptors; /* tells sets of them apart, whoever is at their other ends; 0: it is
	                         not known */
	bool outside;         /* it waits for others, outside of the run, too */
	uint32_t count;
	const uint32_t *processes; /* numbers; borrowed, valid during the call */
};

/* THREAD was about to send a signal to TO, or to any thread of PROCESS that lets it in. */
struct signal_event {
	uint32_t thread, process;
	uint32_t to; /* 0: any */
	uint64_t time_ns;
};

/* The exact times of a thread, from the scheduler's own records. */
struct thread_end {
	uint32_t thread;
	uint64_t time_ns; /* when it ended, or when we stopped looking */
	bool exact;       /* false: on[]/off[] are estimates from samples */
	uint64_t ns[METRIC_COUNT];
	uint64_t gil_held_ns, gil_waited_ns; /* Python's lock: estimates from samples and looks */
};
