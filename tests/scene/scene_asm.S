/* SPDX-License-Identifier: MIT */
/* Code that writes registers down, with and without unwind information. */
	.text

/* Stores what the compiler's next instruction sees into (%rdi), but for rsp and rip. */
	.macro store_registers
	movq %rax, 0(%rdi)
	movq %rdx, 8(%rdi)
	movq %rcx, 16(%rdi)
	movq %rbx, 24(%rdi)
	movq %rsi, 32(%rdi)
	movq %rdi, 40(%rdi)
	movq %rbp, 48(%rdi)
	movq %r8, 64(%rdi)
	movq %r9, 72(%rdi)
	movq %r10, 80(%rdi)
	movq %r11, 88(%rdi)
	movq %r12, 96(%rdi)
	movq %r13, 104(%rdi)
	movq %r14, 112(%rdi)
	movq %r15, 120(%rdi)
	.endm

/* The same of code that is interrupted at \place: no frame, and nothing says so. */
	.macro interrupted_at place
	store_registers
	movq %rsp, 56(%rdi)
	movq (%rsp), %rax
	movq %rax, scene_asm_return(%rip)
	leaq \place(%rip), %rax
	movq %rax, 128(%rdi)
	.endm

/* As if the caller had been interrupted behind its call. */
	.p2align 4
	.globl scene_capture
	.type scene_capture, @function
scene_capture:
	.cfi_startproc
	store_registers
	leaq 8(%rsp), %rax
	movq %rax, 56(%rdi)
	movq (%rsp), %rax
	movq %rax, 128(%rdi)
	ret
	.cfi_endproc
	.size scene_capture, .-scene_capture

/* As if it had been interrupted itself: no frame, and nothing says so. */
	.p2align 4
	.globl scene_capture_leaf
	.type scene_capture_leaf, @function
scene_capture_leaf:
	store_registers
	movq %rsp, 56(%rdi)
	movq (%rsp), %rax
	movq %rax, scene_asm_return(%rip)
	leaq 1f(%rip), %rax
1:	movq %rax, 128(%rdi)
	ret
	.size scene_capture_leaf, .-scene_capture_leaf

/* The same within a loop that spins: interrupted behind its pause. */
	.p2align 5
	.globl scene_capture_spin
	.type scene_capture_spin, @function
scene_capture_spin:
	interrupted_at 2f
	movl $3, %eax
1:	pause
2:	subl $1, %eax
	jne 1b
	ret
	.size scene_capture_spin, .-scene_capture_spin
	.p2align 5

/* The same in a loop as OpenBLAS spins in, which has eight nops and no pause: interrupted as it
   compares what it has loaded. */
	.p2align 5
	.globl scene_capture_nops
	.type scene_capture_nops, @function
scene_capture_nops:
	interrupted_at 2f
	movq $0, -8(%rsp)
1:	.rept 8
	.byte 0x90
	.endr
	movq -8(%rsp), %rax
2:	testq %rax, %rax
	jne 1b
	ret
	.size scene_capture_nops, .-scene_capture_nops

/* The same beside eight nops that are in no loop, as assemblers align with. */
	.p2align 5
	.globl scene_capture_aligned
	.type scene_capture_aligned, @function
scene_capture_aligned:
	interrupted_at 2f
	movl $3, %eax
	.rept 8
	.byte 0x90
	.endr
1:	subl $1, %eax
2:	jne 1b
	ret
	.size scene_capture_aligned, .-scene_capture_aligned

/* The same between "push %rbp" and "mov %rsp, %rbp". */
	.p2align 4
	.globl scene_capture_pushed
	.type scene_capture_pushed, @function
scene_capture_pushed:
	pushq %rbp
	store_registers
	movq %rsp, 56(%rdi)
	movq 8(%rsp), %rax
	movq %rax, scene_asm_return(%rip)
	leaq 1f(%rip), %rax
1:	movq %rax, 128(%rdi)
	movq %rsp, %rbp
	popq %rbp
	ret
	.size scene_capture_pushed, .-scene_capture_pushed

/* Hand-written code that keeps its caller's registers anywhere and uses %rbp for data. */
	.p2align 4
	.globl scene_capture_bare
	.type scene_capture_bare, @function
scene_capture_bare:
	subq $96, %rsp
	movq %rbx, 0(%rsp)
	movq %rbp, 8(%rsp)
	movq %r12, 16(%rsp)
	movq 96(%rsp), %rax
	movq %rax, scene_asm_return(%rip)
	movq $77, %rbp
	movq $78, %rbx
	store_registers
	movq %rsp, 56(%rdi)
	leaq 1f(%rip), %rax
1:	movq %rax, 128(%rdi)
	movq 0(%rsp), %rbx
	movq 8(%rsp), %rbp
	movq 16(%rsp), %r12
	addq $96, %rsp
	ret
	.size scene_capture_bare, .-scene_capture_bare

/* As a compiler makes it while the program runs, to be copied: %rbp has %rsi. Returns to whom it
   returns. */
	.p2align 4
	.globl scene_capture_made, scene_capture_made_end
	.type scene_capture_made, @function
scene_capture_made:
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	subq $520, %rsp
	movq %rsi, %rbp
	movq $78, %rbx
	store_registers
	movq %rsp, 56(%rdi)
	leaq 1f(%rip), %rax
1:	movq %rax, 128(%rdi)
	addq $520, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	movq (%rsp), %rax
	ret
scene_capture_made_end:
	.size scene_capture_made, .-scene_capture_made

/* Has a frame, and nothing says so. */
	.p2align 4
	.globl scene_with_frame
	.type scene_with_frame, @function
scene_with_frame:
	movq (%rsp), %rax
	movq %rax, scene_asm_return(%rip)
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	subq $40, %rsp
	callq *%rdi
	addq $40, %rsp
	popq %rbx
	popq %rbp
	ret
	.size scene_with_frame, .-scene_with_frame

	.bss
	.globl scene_asm_return
	.p2align 3
scene_asm_return:
	.skip 8
	.section .note.GNU-stack,"",@progbits
