/* SPDX-License-Identifier: MIT */
/*
 * A record as the sampler looks at it: decoded, not copied.
 *
 * Every source (perf rings, the agent's rings, recorded files) turns its own
 * bytes into events; everything behind this header knows events only. Pointers
 * lead into the source's buffer and are valid until the next event is asked for.
 */
#pragma once

#include "base/device_bytes.h"
#include "base/gpu_pc_event.h"
#include "base/record.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct event_sample {
	enum sample_kind kind;
	uint64_t weight_ns;   /* user-visible CPU time that this sample stands for */
	uint64_t cpu_time_ns; /* the thread's CPU clock (user and kernel); 0 if unknown */
	bool in_kernel;       /* taken in the kernel, of which no chain tells: MARK_KERNEL on top */
	bool by_fault;        /* IN_KERNEL, by no system call: by a page fault, or an interrupt */
	bool has_user;        /* regs and stack are there */
	bool has_rbp;         /* false: only RSP, RIP and RDI are known (probes) */
	uint64_t regs[DWARF_REGISTERS];
	bool has_vectors;     /* SUBNORMAL is known */
	uint32_t subnormal;   /* as in struct record_sample */
	const uint8_t *stack; /* memory from regs[DWARF_RSP] up; may be unaligned */
	uint32_t stack_bytes;
	const uint64_t *kernel; /* kernel addresses, innermost first; may be unaligned */
	uint32_t kernel_count;
	int32_t syscall; /* probes: the system call it is blocked in; -1: none or unknown */
	bool by_agent;   /* taken by the process itself */
	const struct python_chain *python; /* its Python frames; NULL: none are reported */
};

struct event_map {
	uint64_t start, length, file_offset;
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint32_t protection;
	const uint8_t *build_id;
	uint8_t build_id_size;
	const char *path;
};

/* RECORD_OP_BEGIN, RECORD_OP_MARK; see base/record.h. OP is an id of base/op.h. */
struct event_op {
	uint32_t op;
	uint32_t domain; /* domain_id of the op, base/op.h */
	bool call;       /* it is a call of a function: it ends with a frame */
	bool told;       /* and who reports it knows when that has been left */
	bool forwards;   /* it may be begun anew by itself, for the same call */
	bool python;     /* it is a call of a function of Python's, by the last of CHAIN */
	uint32_t flags;
	uint64_t stack, caller;
	uint32_t chain, forward; /* of a RECORD_PYTHON_CHAIN, who calls it, and what it is the
	                            derivative of; 0: nobody that is known */
	double weight;           /* it stands for so many: OP_DETAIL_WEIGHT; 1: for itself */
	uint32_t window;         /* which it was recorded in; 0: all are */
	bool waits;              /* it is a call of CUDA's that may wait for the GPU */
	uint32_t correlation;    /* of a CUDA call: base/record_gpu.h; 0: it is none */
	uint16_t detail, detail_count;
	const uint64_t *details;
};

struct event_op_end {
	uint32_t op;
	uint32_t flags;
	uint32_t begin_tid;
	uint64_t begin_ns, self_ns;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t self_allocated_bytes, self_freed_bytes;
	struct op_device_bytes devices;
};

struct event_op_site {
	uint32_t op;
	bool cuda; /* OP is a call of CUDA's */
	uint64_t stack, caller;
	struct event_sample at;
};

/* What has come since the last event of this op. */
struct event_op_count {
	uint32_t op;
	struct op_counts counts;
};

struct event_alloc {
	uint64_t address, bytes, weight_bytes;
	bool untracked; /* its free will not be reported */
	struct event_sample at;
};

struct event_memory {
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
	uint64_t allocations_variance, bytes_variance; /* see struct record_memory */
};

/* See struct record_patch. */
struct event_patch {
	uint64_t function, start, slots, slots_size;
	uint32_t size, row_count;
	uint32_t pattern;
	enum patch_reason reason;
	const struct patch_row *rows;
	const char *name;
};

/* See struct record_wait. */
struct event_wait {
	uint32_t kind, flags;
	uint64_t begin_ns, address, made_at;
	uint32_t count;
	const struct wait_part *parts;
};

/* Who is named by the event wakes thread TID, of any process, or an interrupt does that hits it. */
struct event_waking {
	uint32_t tid;
	enum woken_by by;
};

/* Where the types of an interpreter's C functions are; 0: unknown, or not there. */
struct python_types {
	uint64_t function, c_method;   /* PyCFunction_Type, PyCMethod_Type */
	uint64_t method, class_method; /* PyMethodDescr_Type, PyClassMethodDescr_Type */
	uint64_t module, type;         /* PyModule_Type, PyType_Type */
	uint64_t code_start, code_end; /* the interpreter's own code */
};

struct event_python {
	bool samples; /* from now on its agent samples the process */
	bool counts;  /* and counts calls */
	uint64_t eval_start, eval_end;
	uint32_t version;
	uint64_t runtime, code_type; /* where these are; 0 if unknown */
	struct python_types types;
};

struct event_python_code {
	uint32_t code; /* its number in the process's program */
	uint32_t version, first_line;
	uint32_t file_bytes, name_bytes, table_bytes;
	const char *file, *name; /* without NUL */
	const uint8_t *table;
};

struct event_python_name {
	uint64_t address; /* of a C function */
	const char *name; /* "": it has none */
};

struct event_python_calls {
	uint32_t code, caller;          /* as in struct event_python_code */
	const char *name, *caller_name; /* of C functions; NULL: no such */
	bool has_caller, all;           /* ALL: that was all */
	uint64_t calls, recursive;
};

/* See struct record_python_await. */
struct event_python_await {
	uint32_t kind, place_count;
	uint64_t count, ns, longest_ns;
	const void *places; /* await_read_places() */
	size_t place_bytes;
};

struct event_python_chain {
	uint32_t number; /* in the process's program */
	uint32_t module_count;
	const struct python_chain *chain;
	const struct torch_call *modules;
};

struct event_torch_module {
	uint32_t number; /* in the process's program */
	const char *name;
};

/* RECORD_GPU_…; OP as in struct gpu_event. */
struct event_gpu {
	uint32_t op;
	const struct record *record;
};

struct event {
	enum record_type type;
	bool given; /* RECORD_THREAD: the program has named the thread itself, for profilers */
	uint32_t pid, tid;
	uint64_t time_ns;
	union {
		struct event_sample sample;
		struct event_map map; /* RECORD_UNMAP: start and length */
		struct {
			uint32_t parent_pid, parent_tid;
		} fork;
		struct {
			uint32_t parent_pid; /* of the process; 0: none that is followed */
			bool blocked;
		} found;          /* RECORD_FOUND; a process's first thread first */
		const char *name; /* RECORD_EXEC, RECORD_THREAD: the new comm */
		struct {
			bool in, preempted;
			enum metric cause; /* of a wait that its thread has reported; METRIC_ON_CPU:
			                      of none */
		} sched;                   /* RECORD_SWITCH */
		uint64_t lost;
		uint64_t birth; /* RECORD_BIRTH: where the next thread begins; 0: there is none */
		struct event_op op;
		struct event_op_end op_end;
		struct event_op_site op_site;
		struct event_op_count op_count;
		struct event_alloc alloc;
		uint64_t freed; /* RECORD_FREE: address */
		struct event_memory memory;
		struct event_patch patch;
		struct event_wait wait;
		struct event_waking waking;
		struct event_python python;
		struct event_python_code python_code;
		struct event_python_name python_name;
		struct event_python_calls python_calls;
		struct event_python_await python_await;
		struct event_python_chain python_chain;
		struct event_torch_module torch_module;
		struct event_gpu gpu;
		struct gpu_pc_event gpu_pc;
		struct gpu_pc_sum_event gpu_pc_sum;
	};
};
