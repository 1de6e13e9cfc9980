// SPDX-License-Identifier: MIT
/*
 * dlsym(), for who asks a library for its functions one by one: what it gets of BLAS, LAPACK and
 * FFTW is a stub of its own that leads to the function which was found, see detour_alias().
 *
 * Whom RTLD_NEXT and RTLD_DEFAULT find depends on who calls: there the real dlsym() is jumped to. A
 * routine that no library has is not found in us, either.
 */
#include "tracer/agent/loaded.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/wrap/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#ifdef __x86_64__

typedef void *find_symbol(void *handle, const char *name);

// NOLINTNEXTLINE(bugprone-reserved-identifier): the names are the linker's
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
// NOLINTNEXTLINE(bugprone-reserved-identifier): the same
extern const char _end[] __attribute__((visibility("hidden")));

// The address, or where to jump.
struct choice {
	void *address;
	uint64_t found;
};
struct choice dlsym_choose(void *handle, const char *name, uint64_t caller)
	__attribute__((visibility("hidden")));

static find_symbol *real_dlsym(void)
{
	static find_symbol *real; // atomic
	find_symbol *known = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (known)
		return known;
	// A sanitizer that starts asks before its own dl_iterate_phdr() works, so not by that.
	known = dlvsym ? (find_symbol *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5") : NULL;
	if (!known)
		known = (find_symbol *)definition_behind_us("dlsym");
	__atomic_store_n(&real, known, __ATOMIC_RELAXED);
	return known;
}

static const void *find_ours(const char *name)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };
	const void *ours = name ? loaded_define(&us, name) : NULL;

	return ours && detour_is_stub(ours) ? ours : NULL;
}

// We are what is found by default: would anything be without us?
static bool is_missing(find_symbol *real, const char *name, uint64_t caller)
{
	int error = errno;
	bool missing = !real(RTLD_NEXT, name) && !definition_in_scope(name, caller);

	errno = error;
	return missing;
}

// Where nobody else has such a library, as CUPTI, we have none either, and dlerror() says so.
static struct choice choose_in_front(const struct agent_provider *provider, find_symbol *real,
                                     void *handle, const char *name, uint64_t caller)
{
	if (!definition_find(name, caller))
		return (struct choice){ real(RTLD_NEXT, name), 1 };
	if (handle == RTLD_DEFAULT)
		return (struct choice){ real, 0 };
	return (struct choice){ provider->choose(name, real(handle, name)), 1 };
}

// Who asks libc itself, as Python's ctypes does, is to get ours of what it would set aside by its
// own; unless somebody stands between us and libc, who may be asking in order to be the next.
static const void *find_signal_function(find_symbol *real, void *handle, const char *name)
{
	const char *known;

	for (size_t i = 0; (known = wrap_signal_names(i)); i++) {
		if (strcmp(known, name) != 0)
			continue;
		const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };
		void *found = real(handle, name);
		return found && found == real(RTLD_NEXT, name) ? loaded_define(&us, name) : NULL;
	}
	return NULL;
}

// New libraries may be there, and their code is about to be called.
static void look(const char *name)
{
	wrap_look_at_weak();
	providers_look(name);
}

static bool is_us(uint64_t address)
{
	return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

struct choice dlsym_choose(void *handle, const char *name, uint64_t caller)
{
	find_symbol *real = real_dlsym();

	// No code of anybody's is about to be called, and a process that begins asks for a hundred.
	if (real && handle == RTLD_NEXT && is_us(caller))
		return (struct choice){ real, 0 };
	const void *ours = real && handle != RTLD_NEXT ? find_ours(name) : NULL;
	const struct agent_provider *provider;

	if (name)
		look(name);
	if (name && real && handle != RTLD_NEXT && (provider = providers_in_front(name)))
		return choose_in_front(provider, real, handle, name, caller);
	if (!ours && name && real && handle != RTLD_NEXT && handle != RTLD_DEFAULT) {
		const void *function = find_signal_function(real, handle, name);
		if (function)
			return (struct choice){ (void *)function, 1 };
	}
	if (!ours)
		return (struct choice){ real, 0 };
	void *found = handle == RTLD_DEFAULT ? (void *)ours : real(handle, name);
	if (found == ours && is_missing(real, name, caller))
		return (struct choice){ real(RTLD_NEXT, name), 1 }; // and dlerror() says so
	if (handle == RTLD_DEFAULT)
		return (struct choice){ real, 0 };
	return (struct choice){ found && found != ours ? detour_alias(ours, found) : found, 1 };
}

__asm__(".pushsection .text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rsi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	subq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	movq 24(%rsp), %rdx\n"
        "	call dlsym_choose\n"
        "	addq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rsi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	testq %rdx, %rdx\n"
        "	jnz 1f\n"
        "	jmp *%rax\n"
        "1:	ret\n"
        "	.cfi_endproc\n"
        ".size dlsym, . - dlsym\n"
        ".popsection\n");

#endif
