// SPDX-License-Identifier: MIT
/*
 * Where traced functions are entered and left, see trace_calls.h.
 *
 * Compilers know of functions of the same file which registers they leave alone (-fipa-ra), so that
 * all of them are kept, with the flags. Vector registers beyond 16 bytes nobody touches here, but
 * for what goes through trace_keeping_all().
 *
 *	trace_enter:   caller │ return address │ the function's number │ rbp │ registers
 *	trace_return:  caller │ the slot       │ (free)                │ rbp │ registers
 *	                                                             struct trace_frame ▲ rbp
 */
#include "tracer/agent/trace/trace_calls.h"

#ifdef __x86_64__

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

_Static_assert(TRACE_SLOT_BYTES == 16, "the slots below");

// Clang's assembler does not know that distance by then.
#ifdef __clang__
#define SLOTS_EXCESS "0"
#else
#define SLOTS_EXCESS ". - trace_slots - " TEXT(TRACE_SLOTS_BYTES)
#endif

__asm__(".pushsection .text\n"
        ".macro trace_save\n"
        "	pushq %rbp\n"
        "	.cfi_def_cfa_offset 24\n"
        "	.cfi_offset %rbp, -24\n"
        "	movq %rsp, %rbp\n"
        "	.cfi_def_cfa_register %rbp\n"
        "	pushq %rax\n"
        "	pushq %rcx\n"
        "	pushq %rdx\n"
        "	pushq %rsi\n"
        "	pushq %rdi\n"
        "	pushq %r8\n"
        "	pushq %r9\n"
        "	pushq %r10\n"
        "	pushq %r11\n"
        "	lahf\n"
        "	seto %al\n"
        "	pushq %rax\n"
        "	subq $256, %rsp\n"
        "	andq $-16, %rsp\n"
        "	movaps %xmm0, 0(%rsp)\n"
        "	movaps %xmm1, 16(%rsp)\n"
        "	movaps %xmm2, 32(%rsp)\n"
        "	movaps %xmm3, 48(%rsp)\n"
        "	movaps %xmm4, 64(%rsp)\n"
        "	movaps %xmm5, 80(%rsp)\n"
        "	movaps %xmm6, 96(%rsp)\n"
        "	movaps %xmm7, 112(%rsp)\n"
        "	movaps %xmm8, 128(%rsp)\n"
        "	movaps %xmm9, 144(%rsp)\n"
        "	movaps %xmm10, 160(%rsp)\n"
        "	movaps %xmm11, 176(%rsp)\n"
        "	movaps %xmm12, 192(%rsp)\n"
        "	movaps %xmm13, 208(%rsp)\n"
        "	movaps %xmm14, 224(%rsp)\n"
        "	movaps %xmm15, 240(%rsp)\n"
        "	movq %rbp, %rdi\n"
        ".endm\n"
        ".macro trace_restore\n"
        "	movaps 0(%rsp), %xmm0\n"
        "	movaps 16(%rsp), %xmm1\n"
        "	movaps 32(%rsp), %xmm2\n"
        "	movaps 48(%rsp), %xmm3\n"
        "	movaps 64(%rsp), %xmm4\n"
        "	movaps 80(%rsp), %xmm5\n"
        "	movaps 96(%rsp), %xmm6\n"
        "	movaps 112(%rsp), %xmm7\n"
        "	movaps 128(%rsp), %xmm8\n"
        "	movaps 144(%rsp), %xmm9\n"
        "	movaps 160(%rsp), %xmm10\n"
        "	movaps 176(%rsp), %xmm11\n"
        "	movaps 192(%rsp), %xmm12\n"
        "	movaps 208(%rsp), %xmm13\n"
        "	movaps 224(%rsp), %xmm14\n"
        "	movaps 240(%rsp), %xmm15\n"
        "	leaq -80(%rbp), %rsp\n"
        "	popq %rax\n"
        "	addb $0x7f, %al\n" // sets the overflow flag again if it was set
        "	sahf\n"
        "	popq %r11\n"
        "	popq %r10\n"
        "	popq %r9\n"
        "	popq %r8\n"
        "	popq %rdi\n"
        "	popq %rsi\n"
        "	popq %rdx\n"
        "	popq %rcx\n"
        "	popq %rax\n"
        "	popq %rbp\n"
        "	.cfi_def_cfa %rsp, 16\n"
        "	.cfi_restore %rbp\n"
        ".endm\n"
        // As data is in the red zone, no handler of a signal writes there.
        ".p2align 4\n"
        ".globl trace_enter\n"
        ".hidden trace_enter\n"
        ".type trace_enter, @function\n"
        "trace_enter:\n"
        "	.cfi_startproc\n"
        "	.cfi_def_cfa_offset 16\n"
        "	trace_save\n"
        "	call trace_begin\n"
        "	trace_restore\n"
        "	leaq 8(%rsp), %rsp\n"
        "	.cfi_def_cfa_offset 8\n"
        "	jmp *-8(%rsp)\n"
        "	.cfi_endproc\n"
        ".size trace_enter, . - trace_enter\n"
        // After the return: the frame's word is still there, below rsp. An unwinder comes here with
        // a slot's address for a return address, and finds
        //	the CFA       rsp + 8, as no other frame's is; by that unwinders tell frames apart
        //	rsp           as it is: CFA - 8
        //	the caller    in the slot's struct call: at slot + 12 is the distance to it
        ".p2align 4\n"
        ".type trace_slots_pad, @function\n"
        "trace_slots_pad:\n"
        "	.cfi_startproc\n"
        "	.cfi_personality 0x1b, trace_personality\n"
        "	.cfi_def_cfa %rsp, 8\n"
        "	.cfi_escape 0x16, 0x07, 0x02, 0x38, 0x1c\n"
        "	.cfi_escape 0x10, 0x10, 0x09, 0x40, 0x1c, 0x06, 0x23, 0x0c, 0x12, 0x94, 0x04, 0x22\n"
        "	.skip 16, 0xcc\n" // calls end before the address that they return to
        ".globl trace_slots\n"
        ".hidden trace_slots\n"
        "trace_slots:\n"
        // The collector, too, goes by the distance to the slot's call:
        // sampler/unwind/stack_memory.c.
        ".set trace_slot, 0\n"
        ".rept " TEXT(TRACE_SLOTS) "\n"
                                   "	.byte 0xe9\n"
                                   "	.long trace_return - . - 4\n"
                                   "	.skip 7, 0xcc\n"
                                   "	.long trace_calls + trace_slot * 64 - .\n"
                                   ".set trace_slot, trace_slot + 1\n"
                                   ".endr\n"
                                   ".size trace_slots_pad, . - trace_slots_pad\n"
                                   ".type trace_return, @function\n"
                                   "trace_return:\n"
                                   "	leaq -16(%rsp), %rsp\n"
                                   ".if " SLOTS_EXCESS "\n"
                                   ".error \"trace_calls.h is wrong\"\n"
                                   ".endif\n"
                                   "	.cfi_endproc\n"
                                   "	.cfi_startproc\n"
                                   "	.cfi_def_cfa_offset 16\n"
                                   "	trace_save\n"
                                   "	call trace_end\n"
                                   "	trace_restore\n"
                                   "	leaq 16(%rsp), %rsp\n"
                                   "	.cfi_def_cfa_offset 0\n"
                                   "	jmp *-8(%rsp)\n"
                                   "	.cfi_endproc\n"
                                   ".size trace_return, . - trace_return\n"
                                   // void trace_keeping_all(void (*function)(void *), void
                                   // *argument, uint32_t state): what is in STATE of XCR0 is kept.
                                   ".p2align 4\n"
                                   ".globl trace_keeping_all\n"
                                   ".hidden trace_keeping_all\n"
                                   ".type trace_keeping_all, @function\n"
                                   "trace_keeping_all:\n"
                                   "	.cfi_startproc\n"
                                   "	pushq %rbp\n"
                                   "	.cfi_def_cfa_offset 16\n"
                                   "	.cfi_offset %rbp, -16\n"
                                   "	movq %rsp, %rbp\n"
                                   "	.cfi_def_cfa_register %rbp\n"
                                   "	subq $2752, %rsp\n"
                                   "	andq $-64, %rsp\n"
                                   "	movq %rdi, %rcx\n"
                                   "	movl %edx, -8(%rbp)\n"
                                   "	xorl %eax, %eax\n"
                                   "	movq %rax, 512(%rsp)\n"
                                   "	movq %rax, 520(%rsp)\n"
                                   "	movq %rax, 528(%rsp)\n"
                                   "	movq %rax, 536(%rsp)\n"
                                   "	movq %rax, 544(%rsp)\n"
                                   "	movq %rax, 552(%rsp)\n"
                                   "	movq %rax, 560(%rsp)\n"
                                   "	movq %rax, 568(%rsp)\n"
                                   "	movl %edx, %eax\n"
                                   "	xorl %edx, %edx\n"
                                   "	xsave64 (%rsp)\n"
                                   "	movq %rsi, %rdi\n"
                                   "	call *%rcx\n"
                                   "	movl -8(%rbp), %eax\n"
                                   "	xorl %edx, %edx\n"
                                   "	xrstor64 (%rsp)\n"
                                   "	leave\n"
                                   "	.cfi_def_cfa %rsp, 8\n"
                                   "	ret\n"
                                   "	.cfi_endproc\n"
                                   ".size trace_keeping_all, . - trace_keeping_all\n"
                                   ".purgem trace_save\n"
                                   ".purgem trace_restore\n"
                                   ".popsection\n");

#endif
