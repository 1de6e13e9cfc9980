/* SPDX-License-Identifier: MIT */
/*
 * The record stream: what writers in any process leave for the collector.
 *
 * Every record is a plain struct, size and type first, padded to 8 bytes.
 * Writers store facts; readers interpret, skip types they do not know by their
 * size, and can run again from a file. Times are CLOCK_MONOTONIC nanoseconds.
 * The same bytes travel in the agent's rings, in recorded fixtures and through
 * the fuzzer. Numbers and layouts are fixed: append, never change.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_SAMPLE = 1,
	RECORD_MAP = 2,
	RECORD_EXEC = 3,
	RECORD_FORK = 4,
	RECORD_EXIT = 5,
	RECORD_SWITCH = 6,
	RECORD_LOST = 7,
	RECORD_THREAD = 8, /* a thread has a name */
	RECORD_STRING = 9,
	RECORD_NOTE = 10,
	RECORD_UNMAP = 11,
	RECORD_OP_BEGIN = 12,
	RECORD_OP_END = 13,
	RECORD_OP_MARK = 14,  /* an instant with a name */
	RECORD_OP_NAME = 15,  /* what an op's name id means; before its first use */
	RECORD_OP_SITE = 16,  /* a copy of the stack where ops begin */
	RECORD_OP_COUNT = 17, /* ops of one name that left no BEGIN and END */
	RECORD_ALLOC = 18,    /* a sampled allocation */
	RECORD_FREE = 19,     /* a sampled allocation is freed */
	RECORD_MEMORY = 20,   /* what a process has allocated and freed, exactly */
	RECORD_PYTHON = 21,   /* the process has an interpreter, whose frames are in its samples */
	RECORD_PYTHON_CODE = 22,  /* a code object; before the first frame of it */
	RECORD_PYTHON_NAME = 23,  /* how Python calls a C function */
	RECORD_PYTHON_CALLS = 24, /* of a code object */
	RECORD_PYTHON_CHAIN = 25, /* Python frames that call ops; before the first such op */
	RECORD_TORCH_MODULE = 26, /* what such a frame runs */
	RECORD_PATCH = 27, /* a function of the program leads to the agent, or is left alone */
	RECORD_BIRTH = 28, /* a thread is about to make another one */
	RECORD_WAIT = 29,  /* a thread has waited for others, or ended their waits */
	RECORD_WAKING =
		30, /* a thread wakes another one: of the kernel's, in no ring of an agent */
	RECORD_PYTHON_AWAIT = 31, /* what tasks of asyncio did with their time, summed */
	RECORD_FOUND = 32,        /* a thread that was there already: in no ring */
	RECORD_RAN = 33,          /* how long a thread has run */
	/* What a GPU did: base/record_gpu.h. From 64 on, so that both can grow. */
	RECORD_GPU_KERNEL = 64,
	RECORD_GPU_COPY = 65,
	RECORD_GPU_SET = 66,
	RECORD_GPU_SYNC = 67,
	RECORD_GPU_MEMORY = 68,
	RECORD_GPU_POOL = 69,
	RECORD_GPU_GRAPH = 70,
	RECORD_GPU_JIT = 71,
	RECORD_GPU_OVERHEAD = 72,
	RECORD_GPU_LAUNCH = 73,
	RECORD_GPU_DEVICE = 74,
	RECORD_GPU_CONTEXT = 75,
	RECORD_GPU_STREAM = 76,
	RECORD_GPU_LOST = 77,
	RECORD_GPU_GAP = 78,
	RECORD_GPU_PC = 79,
	RECORD_GPU_PC_SUM = 80,
	RECORD_GPU_STALL = 81,
	RECORD_GPU_MANAGED = 82,
	RECORD_GPU_LAST = RECORD_GPU_MANAGED
};

struct record {
	uint32_t size; /* of the whole record in bytes, a multiple of 8 */
	uint16_t type; /* enum record_type */
	uint16_t flags;
	uint32_t pid;
	uint32_t tid;
	uint64_t time_ns;
};
_Static_assert(sizeof(struct record) == 24, "record header");

/* Registers in DWARF's x86-64 order (System V psABI, figure 3.36). */
enum dwarf_register {
	DWARF_RAX,
	DWARF_RDX,
	DWARF_RCX,
	DWARF_RBX,
	DWARF_RSI,
	DWARF_RDI,
	DWARF_RBP,
	DWARF_RSP,
	DWARF_R8,
	DWARF_R9,
	DWARF_R10,
	DWARF_R11,
	DWARF_R12,
	DWARF_R13,
	DWARF_R14,
	DWARF_R15,
	DWARF_RIP,
	DWARF_REGISTERS
};

enum sample_kind {
	SAMPLE_ON_CPU = 1, /* a CPU-time tick */
	SAMPLE_SWITCH = 2, /* the thread is being switched out */
	SAMPLE_PROBE = 3,  /* read from outside while the thread was blocked */
	SAMPLE_LOOK = 4    /* no time: what registers held while others sample the thread */
};

enum sample_flags {
	SAMPLE_NO_USER = 1 << 0, /* regs and stack are not there (kernel thread, exec in flight) */
	SAMPLE_NO_RBP = 1 << 1,  /* regs holds RSP and RIP only (probes) */
	SAMPLE_KERNEL = 1 << 2,  /* the tick fell into the kernel, on behalf of what regs holds */
	SAMPLE_PYTHON = 1 << 3,  /* a struct python_chain is there */
	SAMPLE_VECTORS = 1 << 4  /* SUBNORMAL is known */
};

/* Followed by kernel_count u64 (kernel addresses, innermost first), then stack_bytes of user
   stack from regs[DWARF_RSP] up, then padding, then what SAMPLE_PYTHON says. */
struct record_sample {
	struct record head;
	uint64_t weight_ns;   /* CPU time since the thread's last sample */
	uint64_t cpu_time_ns; /* the thread's CPU clock, user and kernel; 0 if unknown */
	uint64_t regs[DWARF_REGISTERS];
	uint32_t kind; /* enum sample_kind */
	uint32_t kernel_count;
	uint32_t stack_bytes;
	int32_t syscall; /* probes: the system call it is blocked in, -1 if none or unknown */
	/* A bit each of xmm0 to xmm15 that held a subnormal double, and from bit 16 on those that
	   held a subnormal float; all 0 unless the thread has computed with such numbers. */
	uint32_t subnormal;
	/* By an agent: how often the thread has given up its CPU to wait, and one; 0: unknown. */
	uint32_t sleeps;
};
_Static_assert(sizeof(struct record_sample) == 24 + 16 + 17 * 8 + 24, "sample");

/* Followed by the path and its NUL. */
struct record_map {
	struct record head;
	uint64_t start;
	uint64_t length;
	uint64_t file_offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t protection; /* PROT_* */
	uint8_t build_id_size;
	uint8_t reserved[3];
	uint8_t build_id[32];
};
_Static_assert(sizeof(struct record_map) == 24 + 48 + 32, "map");

/* What was mapped here is gone. */
struct record_unmap {
	struct record head;
	uint64_t start;
	uint64_t length;
};
_Static_assert(sizeof(struct record_unmap) == 24 + 16, "unmap");

enum thread_flags {
	THREAD_GIVEN = 1 << 0 /* RECORD_THREAD: by the program, for profilers: above all others */
};

/* RECORD_EXEC and RECORD_THREAD: followed by the name and its NUL. */
struct record_name {
	struct record head;
};

/* RECORD_FORK: head names the child (pid != parent_pid: a process; else a thread). */
struct record_fork {
	struct record head;
	uint32_t parent_pid;
	uint32_t parent_tid;
};

/* RECORD_EXIT is a bare head: the thread head.tid of head.pid is gone. */

enum switch_flags {
	SWITCH_IN = 1 << 0,       /* else out */
	SWITCH_PREEMPTED = 1 << 1 /* out, but still runnable */
};

/* RECORD_SWITCH is a bare head with enum switch_flags. */

struct record_lost {
	struct record head;
	uint64_t count;
};

/* RECORD_NOTE: something its reader should tell the user; followed by text and NUL. */
struct record_note {
	struct record head;
	int32_t errnum;
	uint32_t code; /* enum note_code of the writer */
};

/*
 * An op is a named interval. Those of one thread nest, and end in the thread
 * where they began; a range (OP_RANGE) does not nest and may end anywhere in
 * its process. (head.pid, name, begin_ns) tells an op from all others, as no
 * two of a thread begin in one nanosecond.
 */
enum op_flags {
	OP_RANGE = 1 << 0,
	OP_UNORDERED = 1 << 1, /* END: ops that began later are still open */
	OP_LEFT_OPEN = 1 << 2, /* END: made up at the end of the thread or the process */
	OP_RETURNED = 1 << 3,  /* END: the call that the op is has returned, here and now */
	OP_ON_DEVICES = 1 << 4 /* END: a struct op_device_bytes is behind it */
};

/* What the numbers behind a BEGIN or a MARK are. Stored in profile files: append only. */
#define OP_WEIGHT_ONE (UINT32_C(1) << 16)
/* A call of an op that takes so much, and so many times its op's mean, was held up, which says
   nothing of the others that it stands for. */
#define OP_STALL_NS      UINT64_C(50000)
#define OP_WINDOW_OF_ONE UINT32_MAX /* each by itself, whatever the others are */
#define OP_SCOUT_OPS     64  /* one op in so many, at random, is noticed where none is recorded, */
#define OP_WINDOW_OPS    512 /* and so many are recorded in a row: tracer/agent/torch/torch_thin.h */

enum op_detail {
	OP_DETAIL_NONE = 0,
	OP_DETAIL_SHAPE = 1,    /* what the op was done on: m, n, k; dimensions */
	OP_DETAIL_UNSIGNED = 2, /* a number of the program's own */
	OP_DETAIL_SIGNED = 3,
	OP_DETAIL_DOUBLE = 4,      /* its bits */
	OP_DETAIL_TENSORS = 5,     /* base/tensors.h */
	OP_DETAIL_CORRELATION = 7, /* of a CUDA call, and of all that it has the GPU do */
	OP_DETAIL_MESSAGE = 8,     /* base/message.h */
	/* With another; never in a file: */
	OP_DETAIL_CALLED = 1 << 8, /* after a word of RECORD_PYTHON_CHAINs */
	OP_DETAIL_PYTHON = 1 << 9, /* a function of Python's, which the last of those has called */
	/*
	 * After a word, before that of OP_DETAIL_CALLED: not all ops of its kind are recorded, and
	 * this one stands for so many, in units of 1 / OP_WEIGHT_ONE; above it the number of the
	 * group of ops that were recorded in a row, or OP_WINDOW_OF_ONE.
	 */
	OP_DETAIL_WEIGHT = 1 << 10
};

/*
 * RECORD_OP_BEGIN and RECORD_OP_MARK, at head.time_ns. Followed by detail_count u64.
 *
 *	owner           the function that the op belongs to: its frame holds STACK, or is
 *	  (wrappers)    the first one above it
 *	  hook          ours: STACK is its CFA, CALLER its return address
 */
struct record_op_begin {
	struct record head;
	uint64_t stack;
	uint64_t caller;
	uint32_t name;
	uint16_t detail; /* enum op_detail */
	uint16_t detail_count;
};
_Static_assert(sizeof(struct record_op_begin) == 24 + 24, "op begin");

/*
 * head.time_ns is the end; head.tid the thread that ended it. Self: while no op that nests in it
 * was open, whether that one has left a BEGIN or not. A range has no self.
 */
struct record_op_end {
	struct record head;
	uint64_t begin_ns;
	uint64_t self_ns;
	uint64_t allocated_bytes, freed_bytes; /* by its thread while it was open */
	uint64_t self_allocated_bytes, self_freed_bytes;
	uint32_t name;
	uint32_t begin_tid; /* the thread that began it */
};
_Static_assert(sizeof(struct record_op_end) == 24 + 56, "op end");

/* Followed by the name and its NUL. Names of different DOMAINs are different. */
struct record_op_name {
	struct record head;
	uint32_t name;
	uint32_t domain;   /* a name's id that came before; 0: none */
	uint32_t category; /* the same */
	uint8_t provider;  /* enum op_provider, base/op.h */
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct record_op_name) == 24 + 16, "op name");

/* The stack at the first begin whose hook returned to CALLER. Followed by stack_bytes. */
struct record_op_site {
	struct record head;
	uint64_t stack, caller; /* as in struct record_op_begin */
	uint64_t regs[DWARF_REGISTERS];
	uint32_t stack_bytes;
	uint32_t name;
};
_Static_assert(sizeof(struct record_op_site) == 24 + 16 + 17 * 8 + 8, "op site");

/* Ops of one name that left no BEGIN and END: how many, and how long they took together. */
struct op_counts {
	uint64_t calls;
	uint64_t timeless; /* of them, those whose time is not known: too many were open */
	uint64_t marks;    /* are no calls */
	uint64_t total_ns; /* without those within themselves, */
	uint64_t sum_ns;   /* with them */
	uint64_t self_ns;
};

/* All since the process began; later ones replace earlier ones. */
struct record_op_count {
	struct record head;
	struct op_counts counts;
	uint32_t name;
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_op_count) == 24 + 56, "op count");

enum alloc_flags {
	ALLOC_UNTRACKED = 1 << 0, /* its free will not be reported */
	ALLOC_PYTHON = 1 << 1     /* a struct python_chain is there */
};

/*
 * Allocations are sampled by bytes: each byte with the same chance. BYTES is what the allocator
 * made of the request (malloc_usable_size()), WEIGHT_BYTES what this one stands for. What was
 * alive at ADDRESS is no more. Followed by stack_bytes of stack from regs[DWARF_RSP] up, padding,
 * and what ALLOC_PYTHON says.
 */
struct record_alloc {
	struct record head; /* flags: enum alloc_flags */
	uint64_t address, bytes, weight_bytes;
	uint64_t regs[DWARF_REGISTERS];
	uint32_t stack_bytes;
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_alloc) == 24 + 24 + 17 * 8 + 8, "alloc");

struct record_free {
	struct record head;
	uint64_t address; /* of a sampled allocation */
};
_Static_assert(sizeof(struct record_free) == 24 + 8, "free");

/*
 * What has come since the thread's last one: the sum over all records of a process is exact, also
 * for threads that wrote none, or where there are variances an estimate without bias. LIVE and PEAK
 * are the process's at this time, with what a forked child has got from its parent; off by some
 * 0.2 % of the peak, or 64 KB a thread.
 */
struct record_memory {
	struct record head;
	uint64_t allocations, frees;
	uint64_t allocated_bytes, freed_bytes; /* as malloc_usable_size() counts */
	uint64_t live_bytes, peak_bytes;
	uint64_t allocations_variance;
	uint64_t bytes_variance; /* of allocated bytes: in square KB */
};
_Static_assert(sizeof(struct record_memory) == 24 + 64, "memory");

enum python_flags {
	PYTHON_SAMPLES = 1 << 0, /* from now on the agent samples the process, and nobody else */
	PYTHON_COUNTS = 1 << 1   /* it counts calls */
};

/* The next thread that this one makes begins in the function at START; 0: it was not made. */
struct record_birth {
	struct record head;
	uint64_t start;
};
_Static_assert(sizeof(struct record_birth) == 24 + 8, "birth");

/* What a thread has waited for. Stored in profile files: append only. */
enum held_kind {
	HELD_MUTEX = 1,
	HELD_RWLOCK,
	HELD_CONDITION,
	HELD_SEMAPHORE,
	HELD_BARRIER,
	HELD_JOIN,
	HELD_SPIN, /* which it does on its CPU */
	HELD_ONCE,
	HELD_SIGNAL, /* HELD_POSTED alone: the agent does not know who waits for one */
	HELD_FILE,   /* a call that returns once a disk has written: ADDRESS is the function */
	HELD_CHILD   /* a call that returns once a child has ended: likewise */
};

enum held_flags {
	HELD_TIMED_OUT = 1 << 0,
	HELD_INTERRUPTED = 1 << 1, /* by a handler: the wait has ended for nothing */
	HELD_CUT = 1 << 2,    /* more has happened than is kept: of the beginning much is unknown */
	HELD_SHARED = 1 << 3, /* other processes may hold it, and end waits for it */
	HELD_POSTED = 1 << 4, /* it was no wait: a shared one was let go of, for others that wait */
	HELD_TO_THREAD = 1 << 5, /* HELD_SIGNAL: it is for that thread, not for any of a process */
	HELD_TO_PIDFD = 1 << 6,  /* HELD_SIGNAL: for the process that descriptor ADDRESS leads to */
	HELD_BEGUN = 1 << 7      /* HELD_FILE, HELD_CHILD: the call begins; when it returns there is
	                            a record without */
};

enum held_how {
	HELD_BY_OWNER = 1, /* TID held it from the last such part on, or from the beginning */
	HELD_BY_WAKER = 2, /* TID signalled, posted, arrived or unlocked, at UNTIL_NS */
	HELD_BY_NOBODY = 3 /* it was free: the thread was woken, or about to be, and got no CPU */
};

/* A part of a wait, which goes on for its owner up to UNTIL_NS. */
struct wait_part {
	uint64_t until_ns;
	uint32_t tid; /* of the same process, mostly; 0: unknown */
	uint32_t how; /* enum held_how */
};
_Static_assert(sizeof(struct wait_part) == 16, "wait part");

/*
 * A wait of head.tid that has ended at head.time_ns. Followed by COUNT struct wait_part in the
 * order of time. Owners are recorded for mutexes, rwlocks that are held by a writer, spinlocks, of
 * who runs a function once, and of joins: that is the thread which is joined. Wakers are recorded
 * for the rest, at most the last 16: the last of them has ended the wait, as a rule. Where the
 * owner has changed very often, the first parts are sums: one for each owner, in no order. A signal
 * that is about to be sent has its receiver in one part, unless HELD_TO_PIDFD. Of HELD_FILE and
 * HELD_CHILD there are two records, as the switches between them are explained in the order of
 * time.
 */
struct record_wait {
	struct record head; /* flags: enum held_flags */
	uint64_t begin_ns;
	uint64_t address; /* of the lock and so on; of a join: what pthread_self() is in there */
	uint64_t made_at; /* instruction behind the call that initialized it; 0: not known; of
	                     HELD_FILE and HELD_CHILD: behind the call itself */
	uint32_t kind;    /* enum held_kind */
	uint32_t count;
};
_Static_assert(sizeof(struct record_wait) == 24 + 32, "wait");

/* By head.time_ns head.tid had run for so long, as it ended a wait of its own or of others. */
struct record_ran {
	struct record head;
	uint64_t cpu_time_ns; /* the thread's CPU clock, user and kernel */
	uint32_t sleeps;      /* as in struct record_sample */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_ran) == 24 + 16, "ran");

/*
 * An interpreter was found, by the process's own agent. Each call of EVAL runs Python functions:
 * one of them up to CPython 3.10, since then also what that one calls in Python.
 */
struct record_python {
	struct record head;
	uint64_t eval_start, eval_end; /* _PyEval_EvalFrameDefault; 0 if unknown */
	uint32_t version;              /* 0x030b: 3.11 */
	uint32_t reserved;
	uint64_t runtime;   /* _PyRuntime: base/python_layout.h */
	uint64_t code_type; /* PyCode_Type */
};
_Static_assert(sizeof(struct record_python) == 24 + 40, "python");

/*
 * Followed by the file's name, the function's qualified name and the line table (co_linetable, up
 * to 3.9 co_lnotab), none with a NUL. Names are UTF-8.
 */
struct record_python_code {
	struct record head;
	uint32_t code; /* its number in this process's program */
	uint32_t first_line;
	uint32_t version; /* whose table it is: as in struct record_python */
	uint32_t file_bytes, name_bytes, table_bytes;
};
_Static_assert(sizeof(struct record_python_code) == 24 + 24, "python code");

/*
 * The C function that begins at ADDRESS. Followed by its name as cProfile has it, and a NUL; "": it
 * has several, and so none.
 */
struct record_python_name {
	struct record head;
	uint64_t address;
};
_Static_assert(sizeof(struct record_python_name) == 24 + 8, "python name");

/*
 * Calls of a function since the last such record: all of them, or those from one caller. A function
 * is a code object (struct record_python_code), or, where that is 0, a C function: its name as
 * cProfile has it follows, with a NUL, first that of the function, then that of the caller. Neither
 * code nor name: that was all, none is missing.
 */
struct record_python_calls {
	struct record head;
	uint64_t calls;
	uint64_t recursive; /* of these, made while one of the same kind was open in the thread */
	uint32_t code, caller;
	uint16_t name_bytes, caller_bytes; /* with the NUL; 0: none follows */
	uint32_t has_caller;               /* 0: from wherever */
};
_Static_assert(sizeof(struct record_python_calls) == 24 + 32, "python calls");

/*
 * What tasks have done of a kind since the last such record: how often, and how long together.
 * Followed by PLACE_COUNT places, each of them its line (a u32, 0: unknown), its function and its
 * file, both with a NUL and unaligned. The first one is the tasks' coroutine.
 */
struct record_python_await {
	struct record head;
	uint64_t count, ns;
	uint64_t longest_ns; /* of all so far */
	uint32_t kind;       /* enum await_kind */
	uint32_t place_count;
};
_Static_assert(sizeof(struct record_python_await) == 24 + 32, "python await");

/* Why a function that --trace asks for is left alone. */
enum patch_reason {
	PATCH_DONE = 0,
	PATCH_SHORT,     /* shorter than a jump, and no padding behind it */
	PATCH_LOOPS,     /* something jumps into what the jump would take the place of */
	PATCH_UNKNOWN,   /* holds what is no known instruction */
	PATCH_UNMOVABLE, /* begins with what cannot be done elsewhere */
	PATCH_SPECIAL,   /* returns twice, or looks at where it was called from */
	PATCH_CHANGED,   /* is not in memory as in its file */
	PATCH_FAR,       /* no memory could be had near it */
	PATCH_LOCKED,    /* its code may not be changed */
	PATCH_BUSY,      /* threads may be running it */
	PATCH_SHADOWED,  /* begins with a call, and there are shadow stacks */
	PATCH_MANY,      /* there are too many */
	PATCH_PYTHON,    /* traced, though nothing is patched: it is one of Python's */
	PATCH_REASONS
};

/*
 * From AT on, the code at START of struct record_patch does what the function does from OFFSET on,
 * with PUSHED bytes more on the stack.
 */
struct patch_row {
	uint16_t at, offset, pushed, reserved;
};

/*
 * The function at FUNCTION begins with a jump to START, where SIZE bytes do what the jump has taken
 * the place of. A call of it returns to one of the agent's return slots, where STACK of its op's
 * BEGIN lies behind the return address and CALLER is the true one. Followed by its rows in order,
 * the function's name and a NUL.
 */
struct record_patch {
	struct record head;
	uint64_t function, start;   /* START 0: it was left alone */
	uint64_t slots, slots_size; /* the return slots of the process */
	uint32_t size;
	uint16_t row_count;
	uint8_t pattern; /* which of those that --trace has given, from 0 */
	uint8_t reason;  /* enum patch_reason */
};
_Static_assert(sizeof(struct record_patch) == 24 + 40, "patch");

enum python_chain_flags {
	PYTHON_CUT = 1 << 0, /* outer frames are missing */
	PYTHON_GIL = 1 << 1  /* the thread held the GIL */
};

/*
 * The Python frames of a sample, innermost first. An ANCHOR is the address of something that the
 * frame's call of EVAL has on the machine's stack; the frame is the outermost of that call. 0: the
 * frame was called by the next one within the same call of EVAL, or (up to 3.10) nothing is known.
 */
struct python_frame {
	uint32_t code;
	int32_t instruction; /* offset in bytes into the code; negative: at its start */
	uint64_t anchor;
};
_Static_assert(sizeof(struct python_frame) == 16, "python frame");

struct python_chain {
	uint32_t count;
	uint32_t flags; /* enum python_chain_flags */
	struct python_frame frames[];
};
_Static_assert(sizeof(struct python_chain) == 8, "python chain");

#define PYTHON_FRAMES_MAX 512 /* in a sample; outer ones are cut */

/* 0 where there is none. */
static inline size_t python_bytes(const struct python_chain *chain)
{
	return chain ? sizeof(*chain) + chain->count * sizeof(struct python_frame) : 0;
}

/*
 * The frames of one chain; anchors are of no meaning. Ops say by its NUMBER who calls them: the
 * first word of OP_DETAIL_CALLED has below it, 0: nobody in Python, and above it that of
 * whom called the op which this one, of a backward pass, is the derivative of; 0: unknown, or none.
 */
struct record_python_chain {
	struct record head;
	uint32_t number; /* in this process's program */
	uint32_t module_count;
	/* struct python_chain, then module_count of struct torch_call */
};
_Static_assert(sizeof(struct record_python_chain) == 24 + 8, "python chain record");

struct torch_call {
	uint32_t frame;  /* index in the chain: a call of a torch.nn.Module */
	uint32_t module; /* its number */
};
_Static_assert(sizeof(struct torch_call) == 8, "torch call");

/* Followed by what the module is called, and a NUL: its class, or later its way in the model. */
struct record_torch_module {
	struct record head;
	uint32_t number; /* in this process's program */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_torch_module) == 24 + 8, "torch module");

/* Rounds a record's size up to its alignment. */
static inline size_t record_align(size_t size)
{
	return (size + 7) & ~(size_t)7;
}
