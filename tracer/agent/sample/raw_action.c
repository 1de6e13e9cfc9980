// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/raw_action.h"

#include "base/path.h"
#include "tracer/agent/loader.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#define CODE_MAX ((size_t)1 << 20)
#define BEHIND   48 // bytes from the number to the call

struct look {
	unsigned long long adds, subs;
	uint32_t at, from; // objects, in the loader's order
	bool found;
};

static struct look last;

static bool is_call_behind(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *stop = end - at > BEHIND ? at + BEHIND : end;

	return memmem(at, (size_t)(stop - at), "\x0f\x05", 2) != NULL;
}

bool raw_action_in(const void *code, size_t size)
{
	static const uint8_t eax[] = { 0xb8, 13, 0, 0, 0 },
			     rax[] = { 0x48, 0xc7, 0xc0, 13, 0, 0, 0 };
	// Both end alike.
	static const uint8_t number[] = { 13, 0, 0, 0 };
	const uint8_t *at = code, *end = at + size;

	while ((at = memmem(at, (size_t)(end - at), number, sizeof(number)))) {
		size_t before = (size_t)(at - (const uint8_t *)code);
		bool loads = (before >= 1 && at[-1] == eax[0]) ||
		             (before >= 3 && memcmp(at - 3, rax, 3) == 0);
		at += sizeof(number);
		if (loads && is_call_behind(at, end))
			return true;
	}
	return false;
}

// What is wrapped, or has its own good reasons.
static bool is_system(const char *path)
{
	static const char *const names[] = { "libc.", "libc-", "ld-", "libpthread", "linux-vdso" };
	const char *name = path_base(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct look *look = context;

	(void)size;
	if (look->at == 0) {
		// New ones come last; where some have gone, nobody knows which is where.
		look->from = info->dlpi_subs == last.subs ? last.at : 0;
		look->adds = info->dlpi_adds;
		look->subs = info->dlpi_subs;
		if (look->adds == last.adds && look->subs == last.subs)
			return 1;
	}
	if (look->at++ < look->from || look->found || is_system(info->dlpi_name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && !look->found; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R &&
		    p->p_filesz <= CODE_MAX)
			look->found = raw_action_in((const void *)(info->dlpi_addr + p->p_vaddr),
			                            p->p_filesz);
	}
	return 0;
}

bool raw_action_look(void)
{
	struct look look = { 0 };
	struct loader_lock lock;

	if (!loader_lock_soon(&lock))
		return false; // the next look sees it
	if (!loader_each(visit, &look))
		last = look;
	loader_unlock(&lock);
	return look.found;
}
