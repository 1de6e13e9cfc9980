// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/shadow_stack.h"

#include <stdint.h>

// The kernel is asked, arch_prctl(ARCH_SHSTK_STATUS), for all of a thread's time; this instruction
// for now, and where there are no shadow stacks it does nothing: on old processors, too.
bool shadow_stack_is_on(void)
{
	uint64_t pointer = 0;

#ifdef __x86_64__
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer)); // rdsspq %rax
#endif
	return pointer != 0;
}
