/* SPDX-License-Identifier: MIT */
/*
 * Functions that the agent stands in front of without knowing their types.
 *
 * A stub carries the exported name; all stubs of a provider lead to its one
 * trampoline, which saves every register that can hold an argument, asks BEGIN
 * where to go, copies as many words of the caller's stack as BEGIN says, calls,
 * and gives the caller what has come back, in whichever registers:
 *
 *	caller │ arguments │ return address │ rbp │ struct detour_call │ copied arguments │ target
 *	                   ▲ FRAME + 2, the CFA
 *
 * So hidden lengths of Fortran's strings, complex results (in xmm0 or behind a
 * pointer that is the first argument), and arguments that a newer version has
 * added go through as they are. Words that are copied in excess do no harm.
 *
 * Of calls within calls some are hidden (see detour_hides()): those are jumped
 * to, and leave no frame. An op that a longjmp() or an exception has left is
 * closed by the next call that is seen further out; the collector puts that right where its
 * samples have seen the frame gone before.
 */
#pragma once

#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/op.h"

#include <stdbool.h>
#include <stdint.h>

#define DETOUR_STUB_BYTES 16
#define DETOUR_CALL_BYTES 256
#define DETOUR_ALIASES    2048 /* of each provider */

/* Offsets are the trampoline's. */
struct detour_call {
	uint64_t integers[6]; /* rdi, rsi, rdx, rcx, r8, r9 */
	uint64_t rax, r10;
	uint64_t vectors[8][2];
	uint64_t result[2]; /* rax, rdx */
	uint64_t result_vectors[2][2];
	uint64_t kept[2]; /* what BEGIN leaves for END */
};
_Static_assert(sizeof(struct detour_call) == DETOUR_CALL_BYTES, "the trampoline's room");

/* Where to go. WORDS: of the stack to copy; negative: jump there, and END is not called. */
struct detour_way {
	void *target;
	int64_t words;
};

/* FRAME: [0] the caller's rbp, [1] the return address, [2…] arguments on the stack. */
typedef struct detour_way detour_begin(uint64_t stub, struct detour_call *call,
                                       const uint64_t *frame);
typedef void detour_end(uint64_t stub, struct detour_call *call, const uint64_t *frame);

/* Argument INDEX (from 0) of those that are integers or pointers. */
static inline uint64_t detour_argument(const struct detour_call *call, const uint64_t *frame,
                                       unsigned index)
{
	return index < 6 ? call->integers[index] : frame[2 + index - 6];
}

static inline struct op_here detour_here(const uint64_t *frame)
{
	return (struct op_here){ (uint64_t)(uintptr_t)(frame + 2), frame[1] };
}

/* What hides what, from the inside to the outside. */
enum detour_rank {
	DETOUR_VECTOR = 1, /* BLAS 1 and 2 */
	DETOUR_MATRIX = 2, /* BLAS 3 */
	DETOUR_LAPACK = 3,
	DETOUR_FFTW = 4,
	DETOUR_MPI = 5
};

/*
 * Whether a call of RANK belongs to the innards of one that is open in this thread: a library may
 * call its own functions by their public names. Within LAPACK only BLAS 3 is seen: that is where
 * its time goes; its small BLAS 1 and 2 calls are many, and short.
 */
static inline bool detour_hides(enum detour_rank rank, const uint64_t *frame);
bool detour_hides_within(enum detour_rank rank, const uint64_t *frame);

/* How many calls are open in this thread. */
extern __thread unsigned detour_depth __attribute__((tls_model("initial-exec")));

static inline bool detour_hides(enum detour_rank rank, const uint64_t *frame)
{
	return detour_depth && detour_hides_within(rank, frame);
}

/* An op begins at a call that is not hidden; detour_close() in the END of the same call. */
void detour_open(struct op_thread *t, enum detour_rank rank, uint32_t name, const uint64_t *frame,
                 const struct op_details *d);
void detour_close(const uint64_t *frame);

/*
 * Who asks a library for a function by itself, with dlsym(), gets a stub for that function alone:
 * an alias of the stub of its name. Their numbers are behind those of the provider's COUNT stubs.
 */
struct detour_alias {
	uint32_t stub;
	uint32_t told; /* atomic; for the provider */
	void *target;  /* atomic; NULL: free */
};
struct detour_stubs {
	const char *first; /* where they lie */
	uint32_t count;
	struct detour_alias *aliases; /* DETOUR_ALIASES */
	bool late; /* calls are bound to them in a process that has loaded the agent late */
};

bool detour_is_stub(const void *address);

/* Where to call TARGET by way of the STUB of its name; TARGET itself if there is no room. */
void *detour_alias(const void *stub, void *target);

/* Whether STUB is one that is bound late; NULL: whether any is. */
bool detour_is_late(const void *stub);

/* detour_alias(), but NULL if there is no room. */
void *detour_late(const void *stub, void *target);

/* Where the alias at ADDRESS leads to; NULL if that is none. */
void *detour_target(const void *address);

/* The alias whose number is INDEX, or NULL; then INDEX is the number of its stub. */
static inline struct detour_alias *detour_resolve(struct detour_stubs *s, uint64_t *index)
{
	if (__builtin_expect(*index < s->count, 1))
		return NULL;
	struct detour_alias *alias = &s->aliases[*index - s->count];
	*index = alias->stub;
	return alias;
}

/* Ids of names as they were found in this process: a fork's child has others. */
static inline uint32_t detour_known(const uint64_t *known, const struct op_thread *t)
{
	uint64_t value = __atomic_load_n(known, __ATOMIC_RELAXED);

	return value >> 32 == t->generation ? (uint32_t)value : 0;
}

static inline void detour_know(uint64_t *known, const struct op_thread *t, uint32_t id)
{
	__atomic_store_n(known, (uint64_t)t->generation << 32 | id, __ATOMIC_RELAXED);
}

#ifdef __x86_64__
#define DETOUR_TEXT_OF(x) #x
#define DETOUR_TEXT(x)    DETOUR_TEXT_OF(x)

/*
 * Defines the trampoline and, behind it, the stubs: STUBS is a string of "detour_stub NAME\n".
 * BEGIN and END are functions of the file, not static. A stub's number is its place.
 */
#define DETOUR(PREFIX, STUBS)                                                                      \
	__asm__(".pushsection .text\n"                                                             \
	        ".macro detour_load\n"                                                             \
	        "	movq 0(%rax), %rdi\n"                                                            \
	        "	movq 8(%rax), %rsi\n"                                                            \
	        "	movq 16(%rax), %rdx\n"                                                           \
	        "	movq 24(%rax), %rcx\n"                                                           \
	        "	movq 32(%rax), %r8\n"                                                            \
	        "	movq 40(%rax), %r9\n"                                                            \
	        "	movq 56(%rax), %r10\n"                                                           \
	        "	movaps 64(%rax), %xmm0\n"                                                        \
	        "	movaps 80(%rax), %xmm1\n"                                                        \
	        "	movaps 96(%rax), %xmm2\n"                                                        \
	        "	movaps 112(%rax), %xmm3\n"                                                       \
	        "	movaps 128(%rax), %xmm4\n"                                                       \
	        "	movaps 144(%rax), %xmm5\n"                                                       \
	        "	movaps 160(%rax), %xmm6\n"                                                       \
	        "	movaps 176(%rax), %xmm7\n"                                                       \
	        "	movq 48(%rax), %rax\n"                                                           \
	        ".endm\n"                                                                          \
	        ".p2align 4\n"                                                                     \
	        ".type " PREFIX "_trampoline, @function\n" PREFIX "_trampoline:\n"                 \
	        "	.cfi_startproc\n"                                                                \
	        "	pushq %rbp\n"                                                                    \
	        "	.cfi_def_cfa_offset 16\n"                                                        \
	        "	.cfi_offset %rbp, -16\n"                                                         \
	        "	movq %rsp, %rbp\n"                                                               \
	        "	.cfi_def_cfa_register %rbp\n"                                                    \
	        "	subq $272, %rsp\n"                                                               \
	        "	andq $-16, %rsp\n"                                                               \
	        "	movq %rdi, 0(%rsp)\n"                                                            \
	        "	movq %rsi, 8(%rsp)\n"                                                            \
	        "	movq %rdx, 16(%rsp)\n"                                                           \
	        "	movq %rcx, 24(%rsp)\n"                                                           \
	        "	movq %r8, 32(%rsp)\n"                                                            \
	        "	movq %r9, 40(%rsp)\n"                                                            \
	        "	movq %rax, 48(%rsp)\n"                                                           \
	        "	movq %r10, 56(%rsp)\n"                                                           \
	        "	movaps %xmm0, 64(%rsp)\n"                                                        \
	        "	movaps %xmm1, 80(%rsp)\n"                                                        \
	        "	movaps %xmm2, 96(%rsp)\n"                                                        \
	        "	movaps %xmm3, 112(%rsp)\n"                                                       \
	        "	movaps %xmm4, 128(%rsp)\n"                                                       \
	        "	movaps %xmm5, 144(%rsp)\n"                                                       \
	        "	movaps %xmm6, 160(%rsp)\n"                                                       \
	        "	movaps %xmm7, 176(%rsp)\n"                                                       \
	        "	leaq " PREFIX "_stubs(%rip), %rdi\n"                                       \
	        "	subq %rdi, %r11\n"                                                               \
	        "	shrq $4, %r11\n"                                                                 \
	        "	movq %r11, -8(%rbp)\n"                                                           \
	        "	movq %rsp, -16(%rbp)\n"                                                          \
	        "	movq %r11, %rdi\n"                                                               \
	        "	movq %rsp, %rsi\n"                                                               \
	        "	movq %rbp, %rdx\n"                                                               \
	        "	call " PREFIX "_begin\n"                                                   \
	        "	movq %rax, %r11\n"                                                               \
	        "	movq -16(%rbp), %rax\n"                                                          \
	        "	testq %rdx, %rdx\n"                                                              \
	        "	js 3f\n"                                                                         \
	        "	leaq 1(%rdx), %rcx\n"                                                            \
	        "	andq $-2, %rcx\n"                                                                \
	        "	shlq $3, %rcx\n"                                                                 \
	        "	subq %rcx, %rsp\n"                                                               \
	        "	jmp 2f\n"                                                                        \
	        "1:	movq 8(%rbp, %rdx, 8), %rcx\n"                                                 \
	        "	movq %rcx, -8(%rsp, %rdx, 8)\n"                                                  \
	        "	subq $1, %rdx\n"                                                                 \
	        "2:	testq %rdx, %rdx\n"                                                            \
	        "	jnz 1b\n"                                                                        \
	        "	detour_load\n"                                                                   \
	        "	call *%r11\n"                                                                    \
	        "	movq -16(%rbp), %rsi\n"                                                          \
	        "	movq %rax, 192(%rsi)\n"                                                          \
	        "	movq %rdx, 200(%rsi)\n"                                                          \
	        "	movaps %xmm0, 208(%rsi)\n"                                                       \
	        "	movaps %xmm1, 224(%rsi)\n"                                                       \
	        "	movq %rsi, %rsp\n"                                                               \
	        "	movq -8(%rbp), %rdi\n"                                                           \
	        "	movq %rbp, %rdx\n"                                                               \
	        "	call " PREFIX "_end\n"                                                     \
	        "	movq -16(%rbp), %rsi\n"                                                          \
	        "	movq 192(%rsi), %rax\n"                                                          \
	        "	movq 200(%rsi), %rdx\n"                                                          \
	        "	movaps 208(%rsi), %xmm0\n"                                                       \
	        "	movaps 224(%rsi), %xmm1\n"                                                       \
	        "	leave\n"                                                                         \
	        "	.cfi_remember_state\n"                                                           \
	        "	.cfi_def_cfa %rsp, 8\n"                                                          \
	        "	ret\n"                                                                           \
	        "	.cfi_restore_state\n"                                                            \
	        "3:	detour_load\n"                                                                 \
	        "	leave\n"                                                                         \
	        "	.cfi_def_cfa %rsp, 8\n"                                                          \
	        "	jmp *%r11\n"                                                                     \
	        "	.cfi_endproc\n"                                                                  \
	        ".size " PREFIX "_trampoline, . - " PREFIX "_trampoline\n"                         \
	        ".purgem detour_load\n"                                                            \
	        ".macro detour_stub name\n"                                                        \
	        ".globl \\name\n"                                                                  \
	        ".type \\name, @function\n"                                                        \
	        "\\name: endbr64\n"                                                                \
	        "	leaq 0(%rip), %r11\n"                                                            \
	        "	.byte 0xe9\n"                                                                    \
	        "	.long " PREFIX "_trampoline - . - 4\n"                                     \
	        ".size \\name, 16\n"                                                               \
	        ".endm\n"                                                                          \
	        ".p2align 4\n"                                                                     \
	        ".globl " PREFIX "_stubs\n"                                                        \
	        ".hidden " PREFIX "_stubs\n" PREFIX "_stubs:\n"                                    \
	        "	.cfi_startproc\n" STUBS                                                    \
	        ".rept " DETOUR_TEXT(DETOUR_ALIASES) "\n"                                          \
	                                             "	endbr64\n"                                  \
	                                             "	leaq 0(%rip), %r11\n"                       \
	                                             "	.byte 0xe9\n"                               \
	                                             "	.long " PREFIX "_trampoline - . - 4\n"     \
	                                             ".endr\n"                                     \
	                                             "	.cfi_endproc\n"                             \
	                                             ".purgem detour_stub\n"                       \
	                                             ".popsection\n")
#endif
