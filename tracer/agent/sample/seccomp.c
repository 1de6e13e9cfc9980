// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define ARGS offsetof(struct seccomp_data, args)

_Static_assert(sizeof(struct seccomp_data) == 64, "as the kernel's");

struct machine {
	const struct seccomp_call *call;
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	size_t at; // the next instruction
};

static bool load_argument(const struct seccomp_call *call, uint32_t offset, uint32_t *value)
{
	uint32_t index = (offset - (uint32_t)ARGS) / 8;

	if (!(call->known & 1u << index))
		return false;
	*value = (uint32_t)(call->args[index] >> (offset % 8 ? 32 : 0));
	return true;
}

// From struct seccomp_data.
static bool load_data(const struct seccomp_call *call, uint32_t offset, uint32_t *value)
{
	if (offset % 4 || offset >= sizeof(struct seccomp_data))
		return false;
	if (offset >= ARGS)
		return load_argument(call, offset, value);
	if (offset == offsetof(struct seccomp_data, nr))
		*value = (uint32_t)call->number;
	else if (offset == offsetof(struct seccomp_data, arch))
		*value = AUDIT_ARCH_X86_64;
	else
		return false; // from where it is called
	return true;
}

static bool load(struct machine *m, const struct sock_filter *op, uint32_t *to)
{
	switch (BPF_MODE(op->code)) {
	case BPF_ABS:
		return BPF_CLASS(op->code) == BPF_LD && load_data(m->call, op->k, to);
	case BPF_IMM:
		*to = op->k;
		return true;
	case BPF_LEN:
		*to = sizeof(struct seccomp_data);
		return true;
	case BPF_MEM:
		if (op->k >= BPF_MEMWORDS)
			return false;
		*to = m->memory[op->k];
		return true;
	default:
		return false;
	}
}

static bool store(struct machine *m, uint32_t at, uint32_t value)
{
	if (at >= BPF_MEMWORDS)
		return false;
	m->memory[at] = value;
	return true;
}

static bool calculate(struct machine *m, const struct sock_filter *op)
{
	uint32_t by = BPF_SRC(op->code) == BPF_X ? m->x : op->k;

	switch (BPF_OP(op->code)) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_MUL:
		m->a *= by;
		return true;
	case BPF_DIV:
		m->a = by ? m->a / by : 0;
		return by != 0;
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_LSH:
		m->a = by < 32 ? m->a << by : 0;
		return by < 32;
	case BPF_RSH:
		m->a = by < 32 ? m->a >> by : 0;
		return by < 32;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

static bool jump(struct machine *m, const struct sock_filter *op)
{
	uint32_t to = BPF_SRC(op->code) == BPF_X ? m->x : op->k;
	bool yes;

	switch (BPF_OP(op->code)) {
	case BPF_JA:
		m->at += op->k;
		return true;
	case BPF_JEQ:
		yes = m->a == to;
		break;
	case BPF_JGT:
		yes = m->a > to;
		break;
	case BPF_JGE:
		yes = m->a >= to;
		break;
	case BPF_JSET:
		yes = (m->a & to) != 0;
		break;
	default:
		return false;
	}
	m->at += yes ? op->jt : op->jf;
	return true;
}

static bool step(struct machine *m, const struct sock_filter *op)
{
	switch (BPF_CLASS(op->code)) {
	case BPF_LD:
		return BPF_SIZE(op->code) == BPF_W && load(m, op, &m->a);
	case BPF_LDX:
		return BPF_SIZE(op->code) == BPF_W && load(m, op, &m->x);
	case BPF_ST:
		return store(m, op->k, m->a);
	case BPF_STX:
		return store(m, op->k, m->x);
	case BPF_ALU:
		return calculate(m, op);
	case BPF_JMP:
		return jump(m, op);
	case BPF_MISC:
		if (BPF_MISCOP(op->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		return true;
	default:
		return false;
	}
}

// Jumps go forward only, so each instruction is met at most once.
bool seccomp_verdict(const struct sock_filter *program, size_t count,
                     const struct seccomp_call *call, uint32_t *verdict)
{
	struct machine m = { .call = call };

	while (m.at < count) {
		const struct sock_filter *op = &program[m.at++];
		if (BPF_CLASS(op->code) == BPF_RET) {
			*verdict = BPF_RVAL(op->code) == BPF_A ? m.a : op->k;
			return true;
		}
		if (!step(&m, op))
			return false;
	}
	return false;
}

// The kernel's own clock of the calling thread, in user mode and in both: see modes.c.
#define CLOCK_OF_MODES(bit) ((uint64_t)(int64_t)(clockid_t)(~0u << 3 | 4 | (bit)))

// Without these there is no going on; they do not fail, so nobody looks.
static const struct seccomp_call needed[] = {
	{ SYS_gettid, 0, { 0 } },
	{ SYS_getpid, 0, { 0 } },
	{ SYS_rt_sigreturn, 0, { 0 } },
	{ SYS_clock_gettime, 1, { CLOCK_THREAD_CPUTIME_ID } },
	{ SYS_clock_gettime, 1, { CLOCK_OF_MODES(0) } },
	{ SYS_clock_gettime, 1, { CLOCK_OF_MODES(1) } },
};

// These may fail.
static const struct seccomp_call wanted[] = {
	{ SYS_timer_create, 0, { 0 } },
	{ SYS_timer_settime, 0, { 0 } },
	{ SYS_timer_delete, 0, { 0 } },
	{ SYS_rt_sigprocmask, 0, { 0 } },
	{ SYS_rt_sigpending, 0, { 0 } },
	{ SYS_process_vm_readv, 0, { 0 } },
	{ SYS_openat, 0, { 0 } },
	{ SYS_read, 0, { 0 } },
	{ SYS_write, 0, { 0 } },
	{ SYS_close, 0, { 0 } },
	{ SYS_fstat, 0, { 0 } },
	{ SYS_newfstatat, 0, { 0 } },
	{ SYS_getdents64, 0, { 0 } },
	{ SYS_getrusage, 0, { 0 } },
	{ SYS_prlimit64, 0, { 0 } },
	{ SYS_ftruncate, 0, { 0 } },
	{ SYS_fallocate, 0, { 0 } },
	{ SYS_unlink, 0, { 0 } },
	{ SYS_munmap, 0, { 0 } },
	{ SYS_mprotect, 1 << 2, { 0, 0, PROT_NONE } },
	{ SYS_sigaltstack, 0, { 0 } },
	{ SYS_sched_yield, 0, { 0 } },
	{ SYS_nanosleep, 0, { 0 } },
	{ SYS_tgkill, 1 << 2, { 0, 0, 0 } },
	{ SYS_prctl, 1, { PR_GET_NAME } },
	{ SYS_madvise, 1 << 2, { 0, 0, MADV_POPULATE_WRITE } },
	{ SYS_madvise, 1 << 2, { 0, 0, MADV_RANDOM } },
	{ SYS_madvise, 1 << 2, { 0, 0, MADV_WIPEONFORK } },
	{ SYS_madvise, 1 << 2, { 0, 0, MADV_DONTFORK } },
	{ SYS_mmap, 1 << 2 | 1 << 3, { 0, 0, PROT_READ | PROT_WRITE, MAP_SHARED } },
	{ SYS_mmap,
	  1 << 2 | 1 << 3,
	  { 0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS } },
	{ SYS_mmap,
	  1 << 2 | 1 << 3,
	  { 0, 0, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE } },
	{ SYS_mmap,
	  1 << 2 | 1 << 3,
	  { 0, 0, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED } },
	// Of traps, which a forked child begins anew.
	{ SYS_perf_event_open, 0, { 0 } },
	{ SYS_uname, 0, { 0 } },
	{ SYS_fcntl, 1 << 1, { 0, F_DUPFD_CLOEXEC } },
	{ SYS_fcntl, 1 << 1, { 0, F_OFD_GETLK } },
	{ SYS_fcntl, 1 << 1, { 0, F_GETLK } },
	{ SYS_ioctl, 1 << 1, { 0, PERF_EVENT_IOC_ID } },
	{ SYS_ioctl, 1 << 1, { 0, PERF_EVENT_IOC_DISABLE } },
	{ SYS_ioctl, 1 << 1, { 0, PERF_EVENT_IOC_ENABLE } },
};

// A failure without an error would be taken for success.
static bool is_harmless(uint32_t verdict, bool may_fail)
{
	uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;
	uint32_t error = verdict & SECCOMP_RET_DATA;

	if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG)
		return true;
	return may_fail && action == SECCOMP_RET_ERRNO && error > 0;
}

static bool lets_pass(const struct sock_filter *program, size_t count,
                      const struct seccomp_call *calls, size_t call_count, bool may_fail)
{
	for (size_t i = 0; i < call_count; i++) {
		uint32_t verdict;
		if (!seccomp_verdict(program, count, &calls[i], &verdict) ||
		    !is_harmless(verdict, may_fail))
			return false;
	}
	return true;
}

bool seccomp_lets_us_be(const struct sock_filter *program, size_t count)
{
	return lets_pass(program, count, needed, sizeof(needed) / sizeof(needed[0]), false) &&
	       lets_pass(program, count, wanted, sizeof(wanted) / sizeof(wanted[0]), true);
}
