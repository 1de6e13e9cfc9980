// SPDX-License-Identifier: MIT
// Code made at run time, in the forms that just-in-time compilers give its frames. Nothing
// describes one; only names are told, in /tmp/perf-PID.map.
#include "truth.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* "NAME(steps, callback)" is copied into memory that no file is behind. */
#define GENERATED(name, body)                                                                      \
	__asm__(".pushsection .rodata\n"                                                           \
	        ".globl " #name "_begin, " #name "_end\n" #name "_begin:\n" body #name "_end:\n"   \
	        ".popsection\n");                                                                  \
	extern const unsigned char name##_begin[], name##_end[]

#define LOOP                                                                                       \
	"	mov %rdi, %rax\n"                                                                        \
	"1:	imul $1664525, %rax\n"                                                                 \
	"	add $1013904223, %rax\n"                                                                 \
	"	dec %rdi\n"                                                                              \
	"	jne 1b\n"

#define SAVE    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
#define RESTORE "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
#define CALL    "mov $7, %rbp\n call *%rsi\n"

/* A frame pointer, below which the stack is aligned. */
GENERATED(with_pointer,
          "push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n sub $4096, %rsp\n" LOOP "leave\n ret\n");
/* No frame at all; rbp is the caller's. */
GENERATED(leaf, LOOP "ret\n");
/* rbp holds data, and has been saved. */
GENERATED(with_data,
          SAVE "sub $520, %rsp\n mov $0x200, %rbp\n" LOOP "add $520, %rsp\n" RESTORE "ret\n");
/* What vectors held has been saved, too, below the registers. */
GENERATED(with_vectors,
          "sub $160, %rsp\n movups %xmm6, (%rsp)\n" SAVE "sub $2048, %rsp\n xor %ebp, %ebp\n" LOOP
          "add $2048, %rsp\n" RESTORE "movups (%rsp), %xmm6\n add $160, %rsp\n ret\n");
/* The old end of the stack is in a register that is not the frame pointer's. */
GENERATED(aligned, "push %rbx\n push %rbp\n mov %rsp, %rbx\n and $-4096, %rsp\n sub $8192, %rsp\n"
                   "xor %ebp, %ebp\n" LOOP "mov %rbx, %rsp\n pop %rbp\n pop %rbx\n ret\n");
/* A buffer lies in the frame, as large as the stack that is copied with a sample, or larger. */
GENERATED(large,
          SAVE "sub $49160, %rsp\n mov $0x200, %rbp\n" LOOP "add $49160, %rsp\n" RESTORE "ret\n");
/* A call of other generated code, at a place that is known. */
GENERATED(nested,
          SAVE "sub $72, %rsp\n mov $0x200, %rbp\n call 2f\n add $72, %rsp\n" RESTORE "ret\n"
               "2: push %rbx\n mov $0x300, %rbp\n" LOOP "pop %rbx\n ret\n");
/* A call of a function that was compiled. */
GENERATED(calls_back, SAVE "sub $72, %rsp\n" CALL "add $72, %rsp\n" RESTORE "ret\n");

static volatile uint64_t result;

static NOINLINE void called_back(uint64_t n)
{
	uint64_t x = n;
	int at;

	SPIN(x, n, at);
	result = x + (uint64_t)at;
}

typedef void generated(uint64_t, void (*)(uint64_t));

/* Its own frame is found by rbp, which is what the generated code may have changed. */
#define CALLERS(name)                                                                              \
	static NOINLINE void calls_##name(generated *made, uint64_t n)                             \
	{                                                                                          \
		made(n, called_back);                                                              \
		NOT_LAST();                                                                        \
	}                                                                                          \
	static NOINLINE void alloca_##name(generated *made, uint64_t n)                            \
	{                                                                                          \
		char room[16 + n % 2];                                                             \
		__asm__ volatile("" : : "r"(room) : "memory");                                     \
		made(n, called_back);                                                              \
		NOT_LAST();                                                                        \
	}

#define FORMS(X)                                                                                   \
	X(with_pointer)                                                                            \
	X(leaf) X(with_data) X(with_vectors) X(aligned) X(large) X(nested) X(calls_back)

FORMS(CALLERS)

static const struct form {
	const char *name, *code;
	const unsigned char *begin, *end;
	void (*callers[2])(generated *, uint64_t);
} forms[] = {
#define FORM(name)                                                                                 \
	{ #name, "made_" #name, name##_begin, name##_end, { calls_##name, alloca_##name } },
	FORMS(FORM)
};

#define COUNT   (sizeof(forms) / sizeof(forms[0]))
#define SPACING 4096

int main(void)
{
	static const char *const kinds[] = { "calls", "alloca" };
	unsigned char *memory = mmap(NULL, COUNT * SPACING, PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[128];

	if (memory == MAP_FAILED)
		return 1;
	snprintf(text, sizeof(text), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(text, "w");
	if (!map)
		return 1;
	for (size_t i = 0; i < COUNT; i++) {
		size_t size = (size_t)(forms[i].end - forms[i].begin);
		memcpy(memory + i * SPACING, forms[i].begin, size);
		fprintf(map, "%llx %zx %s\n", (unsigned long long)(memory + i * SPACING), size,
		        forms[i].code);
	}
	fclose(map);
	mprotect(memory, COUNT * SPACING, PROT_READ | PROT_EXEC);

	uint64_t n = truth_steps(100.0 / (2 * COUNT));
	for (int round = truth_rounds(); round > 0; round--)
		for (size_t i = 0; i < COUNT; i++)
			for (size_t k = 0; k < 2; k++)
				TRUTH("total", forms[i].code, 0,
				      forms[i].callers[k]((generated *)(memory + i * SPACING), n));
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t k = 0; k < 2; k++) {
			snprintf(text, sizeof(text), "main;%s_%s;%s", kinds[k], forms[i].name,
			         forms[i].code);
			truth_fact("least path", text, 100.0 / (2 * COUNT) * 0.9);
		}
	}
	truth_print();
	return 0; // the map is the profiler's to read: the test removes it
}
