// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/trace_special.h"

#include <string.h>

static const char *const names[] = {
	// without a caller
	"_start",
	"_init",
	"_fini",
	"_dl_relocate_static_pie",
	"__restore_rt",
	"__start_context",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	// change stacks, or leave them
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp",
	"__libc_longjmp",
	"__libc_siglongjmp",
	"__longjmp_chk",
	"____longjmp_chk",
	"setcontext",
	"swapcontext",
	"makecontext",
	"__morestack",
	// look for who called them
	"dlopen",
	"dlmopen",
	"dlsym",
	"dlvsym",
	"__libc_dlopen_mode",
	"__libc_dlsym",
	"__libc_dlvsym",
	"mcount",
	"_mcount",
	"__fentry__",
	// keep registers that others need not
	"__tls_get_addr",
	"__tls_get_addr_slow",
};

// In any part of the name; the last ones are greenlet's.
static const char *const parts[] = { "setjmp",     "getcontext", "savectx",      "vfork",
	                             "slp_switch", "g_switch",   "g_initialstub" };

static const char *const prefixes[] = {
	"_Unwind_", "_dl_runtime_", "_dl_tlsdesc",    "__x86_",          "__llvm_retpoline",
	"__asan_",  "__hwasan_",    "__lsan_",        "__msan_",         "__tsan_",
	"__ubsan_", "__sanitizer_", "__interceptor_", "___interceptor_",
};

bool trace_is_special(const char *symbol)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(symbol, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(symbol, parts[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(symbol, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}
