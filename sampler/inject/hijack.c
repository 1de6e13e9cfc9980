// SPDX-License-Identifier: MIT
#include "sampler/inject/hijack.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS       2000 // for a thread that has to get a CPU for it, on a busy machine
#define STEP_MS       5000
#define POLL_US       200
#define SPIN_NS       NS_PER_MS // a thread stops at once, mostly
#define CODE_BYTES    4096
#define SCRATCH_BYTES ((uint64_t)512 << 10)
#define RESTART_STATE (-516) // the kernel's own results: never seen but by a tracer
#define RESTART_FIRST RESTART_STATE
#define RESTART_LAST  (-512)
#define WAIT_S        5 // how long a thread waits for us when its call is over

// What is mapped for us: control, texts, what leads back, and the stack.
#define AT_TEXTS   0x100
#define TEXT_BYTES 0x1000
#define AT_STACK   SCRATCH_BYTES

struct control {
	uint64_t result;
	uint32_t done; // 1: the call is over; 2: and nobody came
	uint32_t reserved;
	struct {
		int64_t seconds, nanoseconds;
	} patience;
};

// rax: the function; rbx: struct control; r12: the context for rt_sigreturn. What it waits in must
// be no call that the kernel restarts with a state of its own, as futex(): that would take the
// place of the state of the call that the thread was in.
static const uint8_t code[] = {
	0xff, 0xd0,                               // call *%rax
	0x48, 0x89, 0x03,                         // mov %rax,(%rbx)
	0xc7, 0x43, 0x08, 0x01, 0x00, 0x00, 0x00, // movl $1,8(%rbx)
	0xb8, 0x0f, 0x01, 0x00, 0x00,             // mov $SYS_ppoll,%eax
	0x31, 0xff,                               // xor %edi,%edi
	0x31, 0xf6,                               // xor %esi,%esi
	0x48, 0x8d, 0x53, 0x10,                   // lea 16(%rbx),%rdx
	0x45, 0x31, 0xd2,                         // xor %r10d,%r10d
	0x41, 0xb8, 0x08, 0x00, 0x00, 0x00,       // mov $8,%r8d
	0x0f, 0x05,                               // syscall
	0xc7, 0x43, 0x08, 0x02, 0x00, 0x00, 0x00, // movl $2,8(%rbx)
	0x4c, 0x89, 0xe4,                         // mov %r12,%rsp
	0xb8, 0x0f, 0x00, 0x00, 0x00,             // mov $SYS_rt_sigreturn,%eax
	0x0f, 0x05,                               // syscall
	0x0f, 0x0b,                               // ud2
};
#define AT_ONE 0x80
static const uint8_t one[] = { 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3 }; // mov $1,%eax; ret

// The kernel's struct ucontext and what it finds in front of the vectors' second part.
struct signal_frame {
	uint64_t flags, link;
	stack_t stack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
	uint64_t eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2, vectors, reserved[8];
	uint64_t mask;
};
_Static_assert(sizeof(struct signal_frame) == 304, "struct ucontext");
#define FRAME_FLAGS    (1 | 2 | 4) // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
#define NO_STACK_FLAGS 0x5555 // none that there are: the kernel leaves the alternate stack alone
#define RED_ZONE       128
#define AT_SOFTWARE    464 // struct _fpx_sw_bytes
#define VECTOR_MAGIC1  0x46505853u
#define VECTOR_MAGIC2  0x46505845u

static void pause_us(unsigned us)
{
	struct timespec moment = { 0, us * 1000L };

	nanosleep(&moment, NULL);
}

// The next stop of the thread. -1: none within LIMIT_MS; 0: it has ended.
static int wait_for_stop(const struct hijack *h, unsigned limit_ms)
{
	uint64_t now_ns = clock_now_ns(), until_ns = now_ns + limit_ms * NS_PER_MS;
	uint64_t spin_ns = now_ns + SPIN_NS;
	int status;

	for (;;) {
		pid_t got = waitpid(h->tid, &status, __WALL | WNOHANG);
		if (got == h->tid)
			return WIFSTOPPED(status) ? status : 0;
		if (got < 0 && errno != EINTR)
			return 0;
		now_ns = clock_now_ns();
		if (now_ns >= until_ns)
			return -1;
		if (now_ns < spin_ns)
			sched_yield();
		else
			pause_us(POLL_US);
	}
}

static bool is_trap(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8);
}

// A signal that comes meanwhile is the thread's own.
static int interrupt(const struct hijack *h, unsigned limit_ms)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) < 0)
		return 0;
	while ((status = wait_for_stop(h, limit_ms)) > 0 && !is_trap(status)) {
		if (status >> 16) // the process is being stopped: as good
			return status;
		if (ptrace(PTRACE_CONT, h->tid, 0, (void *)(uintptr_t)WSTOPSIG(status)) < 0)
			return 0;
	}
	return status;
}

static bool get_vectors(struct hijack *h)
{
	struct iovec all = { h->vectors, sizeof(h->vectors) };

	if (ptrace(PTRACE_GETREGSET, h->tid, NT_X86_XSTATE, &all) < 0 ||
	    all.iov_len >= sizeof(h->vectors))
		return false;
	h->vector_bytes = all.iov_len;
	return true;
}

bool hijack_read(const struct hijack *h, uint64_t address, void *to, size_t size)
{
	return pread(h->memory, to, size, (off_t)address) == (ssize_t)size;
}

bool hijack_write(const struct hijack *h, uint64_t address, const void *from, size_t size)
{
	return pwrite(h->memory, from, size, (off_t)address) == (ssize_t)size;
}

int hijack_in_call(const struct hijack *h)
{
	int64_t number = (int64_t)h->registers.orig_rax, result = (int64_t)h->registers.rax;

	if (number < 0 || number > 4096)
		return -1;
	return (result <= RESTART_LAST && result >= RESTART_FIRST) || result == -EINTR ? (int)number
	                                                                               : -1;
}

// Signals that the thread is about to handle: for them a call ends early by right.
static bool has_signals(const struct hijack *h)
{
	char path[64], *line = NULL;
	size_t room = 0;
	uint64_t pending = 0, blocked = 0, value;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)h->pid, (int)h->tid);
	cleanup_fclose FILE *status = fopen(path, "re");
	while (status && getline(&line, &room, status) > 0) {
		if (sscanf(line, "SigPnd: %lx", &value) == 1 ||
		    sscanf(line, "ShdPnd: %lx", &value) == 1)
			pending |= value;
		else if (sscanf(line, "SigBlk: %lx", &value) == 1)
			blocked = value;
	}
	free(line);
	return pending & ~blocked;
}

// Calls that end early when their thread is stopped, though no signal has come, and of which
// nothing is done by then: they are made again.
static bool is_repeatable(int number)
{
	static const int calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,
		SYS_semtimedop, SYS_msgrcv,          SYS_msgsnd,       SYS_rt_sigtimedwait,
		SYS_recvfrom,   SYS_recvmsg,         SYS_accept,       SYS_accept4,
		SYS_read,       SYS_io_getevents,    SYS_futex,        SYS_poll,
		SYS_nanosleep,  SYS_clock_nanosleep,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == number)
			return true;
	return false;
}

static struct user_regs_struct as_before(const struct hijack *h)
{
	struct user_regs_struct registers = h->registers;

	bool fails = (int64_t)registers.rax == -EINTR && is_repeatable(hijack_in_call(h)) &&
	             !has_signals(h);
	if (!fails && !(h->replaced && (int64_t)registers.rax == RESTART_STATE))
		return registers;
	registers.rip -= 2; // the length of the instruction
	registers.rax = registers.orig_rax;
	registers.orig_rax = UINT64_MAX;
	return registers;
}

// At once: should we end from here on, it finds nothing changed.
static bool repeat_later(const struct hijack *h)
{
	struct user_regs_struct registers = as_before(h);

	return registers.rip == h->registers.rip ||
	       ptrace(PTRACE_SETREGS, h->tid, 0, &registers) == 0;
}

static void detach(struct hijack *h)
{
	ptrace(PTRACE_DETACH, h->tid, 0, 0);
	if (h->memory >= 0)
		close(h->memory);
	h->memory = -1;
}

void hijack_release(struct hijack *h)
{
	struct user_regs_struct registers = as_before(h);

	if (h->memory >= 0 && registers.rip != h->registers.rip)
		ptrace(PTRACE_SETREGS, h->tid, 0, &registers);
	detach(h);
}

enum hijack_stopped hijack_stop(struct hijack *h, pid_t pid, pid_t tid)
{
	char path[64];

	*h = (struct hijack){ .pid = pid, .tid = tid, .memory = -1 };
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return errno == ESRCH ? HIJACK_GONE : HIJACK_REFUSED;
	int status = interrupt(h, STOP_MS);
	if (status <= 0)
		return status < 0 ? HIJACK_PENDING : HIJACK_GONE;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", (int)pid, (int)tid);
	h->memory = open(path, O_RDWR | O_CLOEXEC);
	if (h->memory >= 0 && ptrace(PTRACE_GETREGS, tid, 0, &h->registers) == 0 &&
	    repeat_later(h) && ptrace(PTRACE_GETSIGMASK, tid, sizeof(h->mask), &h->mask) == 0 &&
	    get_vectors(h))
		return HIJACK_STOPPED;
	int error = errno;
	hijack_release(h);
	errno = error;
	return HIJACK_REFUSED;
}

// Not those that an instruction raises.
static bool block_signals(const struct hijack *h)
{
	const uint64_t raised = 1u << (SIGSEGV - 1) | 1u << (SIGBUS - 1) | 1u << (SIGILL - 1) |
	                        1u << (SIGFPE - 1) | 1u << (SIGTRAP - 1) |
	                        UINT64_C(1) << (SIGSYS - 1);
	uint64_t blocked = ~raised;

	return ptrace(PTRACE_SETSIGMASK, h->tid, sizeof(blocked), &blocked) == 0;
}

// Whether the next stop of the thread, which goes on, is at a system call.
static bool go_to_call(const struct hijack *h)
{
	if (ptrace(PTRACE_SYSCALL, h->tid, 0, 0) < 0)
		return false;
	int status = wait_for_stop(h, STEP_MS);
	return status > 0 && status >> 8 == (SIGTRAP | 0x80);
}

// One system call, as a handler of a signal would make it: from libc's syscall(), which returns to
// what leads back. A single step would end the process by SIGTRAP if nobody waited for it. False
// also if the thread has come to nothing sensible.
static bool make_call(struct hijack *h, long number, const uint64_t arguments[6], int64_t *result)
{
	struct user_regs_struct registers = h->registers;

	registers.rax = (uint64_t)number;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	registers.rip = h->system_call;
	registers.rsp = h->frame - sizeof(uint64_t);
	registers.eflags &= ~UINT64_C(0x500);
	registers.orig_rax = UINT64_MAX;
	// In this order, or the signals would stay blocked if we ended in between.
	if (ptrace(PTRACE_SETREGS, h->tid, 0, &registers) < 0 || !block_signals(h) ||
	    !go_to_call(h) || !go_to_call(h) || ptrace(PTRACE_GETREGS, h->tid, 0, &registers) < 0 ||
	    registers.rip != h->system_call + 2)
		return false;
	*result = (int64_t)registers.rax;
	// To where the kernel decides whether a call is restarted.
	return ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) == 0 &&
	       ptrace(PTRACE_CONT, h->tid, 0, 0) == 0 && is_trap(wait_for_stop(h, STEP_MS));
}

static uint64_t map_memory(struct hijack *h, uint64_t size, int protection)
{
	const uint64_t arguments[6] = {
		0, size, (uint64_t)protection, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0
	};
	int64_t result;

	return make_call(h, SYS_mmap, arguments, &result) && result > 0 ? (uint64_t)result : 0;
}

static void unmap_memory(struct hijack *h, uint64_t *start, uint64_t size)
{
	const uint64_t arguments[6] = { *start, size };
	int64_t result;

	if (*start)
		make_call(h, SYS_munmap, arguments, &result);
	*start = 0;
}

// What rt_sigreturn() puts back if we do not, on the thread's own stack, where the kernel has it
// for a handler: below what functions use without saying so.
static bool write_frame(struct hijack *h, uint64_t return_code)
{
	const struct user_regs_struct *r = &h->registers;
	const uint32_t end = VECTOR_MAGIC2;
	uint64_t at_vectors = (r->rsp - RED_ZONE - h->vector_bytes - sizeof(end)) & ~UINT64_C(63);
	struct signal_frame frame;
	struct {
		uint32_t magic1, extended_bytes;
		uint64_t features;
		uint32_t bytes;
	} software;
	uint8_t vectors[HIJACK_XSTATE + 4];

	h->frame = (at_vectors - sizeof(frame)) & ~UINT64_C(15);
	frame = (struct signal_frame){
		.flags = FRAME_FLAGS,
		.stack.ss_flags = NO_STACK_FLAGS,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.rdi = r->rdi,
		.rsi = r->rsi,
		.rbp = r->rbp,
		.rbx = r->rbx,
		.rdx = r->rdx,
		.rax = r->rax,
		.rcx = r->rcx,
		.rsp = r->rsp,
		.rip = r->rip,
		.eflags = r->eflags,
		.cs = (uint16_t)r->cs,
		.ss = (uint16_t)r->ss,
		.vectors = at_vectors,
		.mask = h->mask,
	};
	int call = hijack_in_call(h);
	if (call >= 0 && ((int64_t)r->rax != -EINTR || is_repeatable(call))) {
		frame.rip -= 2;
		frame.rax = r->orig_rax;
	}
	memcpy(vectors, h->vectors, h->vector_bytes);
	memcpy(&software.features, h->vectors + AT_SOFTWARE, sizeof(software.features));
	software.magic1 = VECTOR_MAGIC1;
	software.bytes = (uint32_t)h->vector_bytes;
	software.extended_bytes = software.bytes + (uint32_t)sizeof(end);
	memset(vectors + AT_SOFTWARE, 0, 48);
	memcpy(vectors + AT_SOFTWARE, &software.magic1, 4);
	memcpy(vectors + AT_SOFTWARE + 4, &software.extended_bytes, 4);
	memcpy(vectors + AT_SOFTWARE + 8, &software.features, 8);
	memcpy(vectors + AT_SOFTWARE + 16, &software.bytes, 4);
	memcpy(vectors + h->vector_bytes, &end, sizeof(end));
	return hijack_write(h, at_vectors, vectors, h->vector_bytes + sizeof(end)) &&
	       hijack_write(h, h->frame, &frame, sizeof(frame)) &&
	       hijack_write(h, h->frame - sizeof(return_code), &return_code, sizeof(return_code));
}

static void put_back(struct hijack *h)
{
	struct iovec all = { h->vectors, h->vector_bytes };
	struct user_regs_struct registers = as_before(h);

	ptrace(PTRACE_SETREGSET, h->tid, NT_X86_XSTATE, &all);
	ptrace(PTRACE_SETSIGMASK, h->tid, sizeof(h->mask), &h->mask);
	ptrace(PTRACE_SETREGS, h->tid, 0, &registers);
}

int hijack_start(struct hijack *h, uint64_t system_call, uint64_t return_code, struct error *err)
{
	int64_t result;

	h->system_call = system_call;
	if (ptrace(PTRACE_SETOPTIONS, h->tid, 0, PTRACE_O_TRACESYSGOOD) == 0 &&
	    write_frame(h, return_code)) {
		h->code = map_memory(h, CODE_BYTES, PROT_READ | PROT_WRITE);
		h->data = map_memory(h, SCRATCH_BYTES, PROT_READ | PROT_WRITE);
		const uint64_t executable[6] = { h->code, CODE_BYTES, PROT_READ | PROT_EXEC };
		if (h->code && h->data && hijack_write(h, h->code, code, sizeof(code)) &&
		    hijack_write(h, h->code + AT_ONE, one, sizeof(one)) &&
		    make_call(h, SYS_mprotect, executable, &result) && result == 0)
			return 0;
		unmap_memory(h, &h->data, SCRATCH_BYTES);
		unmap_memory(h, &h->code, CODE_BYTES);
		put_back(h);
	}
	return error_set(err, 0, "could not get memory in process %d for the call of dlopen()",
	                 (int)h->pid);
}

size_t hijack_frame_bytes(const struct hijack *h)
{
	return RED_ZONE + h->vector_bytes + sizeof(struct signal_frame) + 256;
}

uint64_t hijack_put(struct hijack *h, unsigned at, const char *text)
{
	uint64_t place = h->data + AT_TEXTS + (uint64_t)at * TEXT_BYTES;
	size_t size = strlen(text) + 1;

	return at < 4 && size <= TEXT_BYTES && hijack_write(h, place, text, size) ? place : 0;
}

uint64_t hijack_one(const struct hijack *h)
{
	return h->code + AT_ONE;
}

static bool is_done(const struct hijack *h, struct control *control)
{
	return hijack_read(h, h->data, control, sizeof(*control)) && control->done;
}

enum hijack_called hijack_call(struct hijack *h, uint64_t function, const uint64_t arguments[3],
                               unsigned timeout_ms, uint64_t *result)
{
	struct control control = { .patience = { .seconds = WAIT_S } };
	struct user_regs_struct registers = h->registers;
	uint64_t until_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
	int status;

	registers.rax = function;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.rbx = h->data;
	registers.r12 = h->frame;
	registers.rsp = h->data + AT_STACK - 64;
	registers.rip = h->code;
	registers.eflags &= ~UINT64_C(0x500); // direction, single steps
	registers.orig_rax = UINT64_MAX;
	if (!hijack_write(h, h->data, &control, sizeof(control)) ||
	    ptrace(PTRACE_SETREGS, h->tid, 0, &registers) < 0 ||
	    ptrace(PTRACE_CONT, h->tid, 0, 0) < 0)
		return HIJACK_CRASHED;
	while (!is_done(h, &control) && clock_now_ns() < until_ns) {
		status = wait_for_stop(h, 0);
		if (status == 0 || (status > 0 && !(status >> 16)))
			return HIJACK_CRASHED;
		if (status > 0) // the process is being stopped: not before it leads back
			ptrace(PTRACE_CONT, h->tid, 0, 0);
		pause_us(POLL_US);
	}
	status = interrupt(h, STEP_MS);
	if (status < 0)
		h->lost = true;
	if (!is_done(h, &control)) {
		if (ptrace(PTRACE_GETREGS, h->tid, 0, &registers) == 0)
			h->replaced |= (int64_t)registers.rax == RESTART_STATE;
		return HIJACK_STUCK;
	}
	*result = control.result;
	return HIJACK_RETURNED;
}

bool hijack_waits(const struct hijack *h)
{
	struct user_regs_struct registers;

	return !h->lost && ptrace(PTRACE_GETREGS, h->tid, 0, &registers) == 0 &&
	       registers.orig_rax == SYS_futex;
}

void hijack_leave(struct hijack *h)
{
	h->lost = true;
	detach(h);
}

// It may have led back by itself, if we came too late.
static bool is_ours(const struct hijack *h)
{
	struct user_regs_struct registers;

	return ptrace(PTRACE_GETREGS, h->tid, 0, &registers) == 0 &&
	       ((registers.rip >= h->code && registers.rip < h->code + CODE_BYTES) ||
	        (registers.rsp >= h->data && registers.rsp < h->data + SCRATCH_BYTES));
}

static bool take_state(struct hijack *h)
{
	return ptrace(PTRACE_GETREGS, h->tid, 0, &h->registers) == 0 &&
	       ptrace(PTRACE_GETSIGMASK, h->tid, sizeof(h->mask), &h->mask) == 0 && get_vectors(h);
}

void hijack_end(struct hijack *h)
{
	uint64_t return_code;

	if (!h->lost && !is_ours(h))
		h->lost = !hijack_read(h, h->frame - sizeof(return_code), &return_code,
		                       sizeof(return_code)) ||
		          !take_state(h) || !write_frame(h, return_code);
	if (!h->lost) {
		unmap_memory(h, &h->data, SCRATCH_BYTES);
		unmap_memory(h, &h->code, CODE_BYTES);
		put_back(h);
	}
	detach(h);
}
