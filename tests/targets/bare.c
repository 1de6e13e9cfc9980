// SPDX-License-Identifier: MIT
// Hand-written code as that of matrix products: no rule describes its frame, the old end of the
// stack is in rbx, below it lies an aligned buffer, and the frame pointer's register counts.
#include "truth.h"

// uint64_t NAME(uint64_t steps), with RBP in rbp meanwhile.
#define KERNEL(name, rbp)                                                                          \
	__asm__(".text\n"                                                                          \
	        ".globl " #name "\n"                                                               \
	        ".type " #name ", @function\n" #name ":\n"                                         \
	        "	sub $96, %rsp\n"                                                                 \
	        "	mov %rbx, (%rsp)\n"                                                              \
	        "	mov %rbp, 8(%rsp)\n"                                                             \
	        "	mov %rsp, %rbx\n"                                                                \
	        "	sub $28800, %rsp\n"                                                              \
	        "	and $-4096, %rsp\n"                                                              \
	        "	mov $" #rbp ", %rbp\n"                                                     \
	        "	mov %rdi, %rax\n"                                                                \
	        "1:	imul $1664525, %rax\n"                                                         \
	        "	add $1013904223, %rax\n"                                                         \
	        "	dec %rdi\n"                                                                      \
	        "	jne 1b\n"                                                                        \
	        "	mov %rbx, %rsp\n"                                                                \
	        "	mov (%rsp), %rbx\n"                                                              \
	        "	mov 8(%rsp), %rbp\n"                                                             \
	        "	add $96, %rsp\n"                                                                 \
	        "	ret\n"                                                                           \
	        ".size " #name ", .-" #name "\n");                                                 \
	uint64_t name(uint64_t steps)

KERNEL(kernel_of_zero, 0);
KERNEL(kernel_of_rubbish, 0x5a5a5a5a);

// As libraries choose what the CPU can do.
static uint64_t (*volatile kernels[])(uint64_t) = { kernel_of_zero, kernel_of_rubbish };

static NOINLINE uint64_t outer(uint64_t n, int which)
{
	uint64_t x = kernels[which](n);

	NOT_LAST();
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(50);

	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "kernel_of_zero", 0, outer(n, 0));
		TRUTH("self", "kernel_of_rubbish", 0, outer(n, 1));
	}
	truth_fact("least path", "main;outer;kernel_of_zero", 45);
	truth_fact("least path", "main;outer;kernel_of_rubbish", 45);
	truth_print();
	return 0;
}
