// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/shadow_stack.h"

#include <stdint.h>

// Each traced call asks, and the kernel's answer, arch_prctl(ARCH_SHSTK_STATUS), would take a
// system call. This instruction reads where the thread's shadow stack is; it leaves the register as
// it was where the thread has none, and on processors that have none.
bool shadow_stack_is_on(void)
{
	uint64_t pointer = 0;

#ifdef __x86_64__
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer)); // rdsspq %rax
#endif
	return pointer != 0;
}
