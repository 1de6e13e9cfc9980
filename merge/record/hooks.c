// SPDX-License-Identifier: MIT
#include "merge/record/hooks.h"

#include "base/module.h"
#include "symbolize/elf/elf_function.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX "hooks."

static uint32_t owner_of(const char *section)
{
	if (strncmp(section, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	if (strcmp(section + strlen(PREFIX), "setup") == 0)
		return HOOKS_SETUP;
	const struct provider *owner = provider_called(section + strlen(PREFIX));
	return owner ? owner->id : 0;
}

static void read_sections(struct hooks *h, const struct module *agent)
{
	struct code_section sections[4 * HOOKS_SECTIONS_MAX];
	size_t count = elf_code_sections(agent, sections, sizeof(sections) / sizeof(sections[0]));

	h->read = true;
	for (size_t i = 0; i < count && h->section_count < HOOKS_SECTIONS_MAX; i++) {
		const struct code_section *s = &sections[i];
		uint32_t owner = owner_of(s->name);
		if (owner)
			h->sections[h->section_count++] =
				(struct hook_section){ s->address, s->address + s->size, owner };
	}
}

static uint32_t owner_at(const struct hooks *h, uint64_t address)
{
	for (size_t i = 0; i < h->section_count; i++)
		if (address >= h->sections[i].begin && address < h->sections[i].end)
			return h->sections[i].owner;
	return 0;
}

static bool is_allocator(const struct module *agent, const struct frame *entry)
{
	static const char *const allocators[] = { "malloc",         "calloc",        "realloc",
		                                  "free",           "aligned_alloc", "memalign",
		                                  "posix_memalign", "valloc",        "pvalloc",
		                                  "mmap",           "mmap64",        "munmap",
		                                  "mremap" };
	char name[64] = "";

	elf_function_name(agent, frame_lookup_address(*entry), name, sizeof(name));
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (strcmp(name, allocators[i]) == 0)
			return true;
	return false;
}

// What the agent calls for itself, and never in place of the program: its syscall() jumps to
// libc's, and leaves no frame.
static bool is_service(const struct module *module, const struct frame *frame)
{
	static const char *const services[] = { "syscall", "getpid", "clock_gettime",
		                                "__clock_gettime" };
	char name[64] = "";

	if (module->kind == MODULE_VDSO)
		return true;
	if (module->kind != MODULE_ELF)
		return false;
	elf_function_name(module, frame_lookup_address(*frame), name, sizeof(name));
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (strcmp(name, services[i]) == 0)
			return true;
	return strncmp(name, "__mem", strlen("__mem")) == 0; // __memcpy_avx_unaligned_erms, …
}

// The program runs: names are looked up once for each address, of which there are few.
static bool serves(struct hooks *h, const struct modules *modules, const struct frame *frame)
{
	const struct module *module = modules_get(modules, frame->module);
	struct hook_callee *known =
		&h->callees[(frame->address ^ frame->address >> 7) % HOOKS_CALLEES];

	if (!module)
		return false;
	if (known->module != frame->module || known->address != frame->address)
		*known = (struct hook_callee){ frame->address, frame->module,
			                       is_service(module, frame) };
	return known->serves;
}

size_t hooks_depth(struct hooks *h, const struct modules *modules, uint32_t agent,
                   const struct frame *frames, size_t count)
{
	size_t first = 0, depth = 0;

	while (first < count && frames[first].module != agent)
		first++;
	if (first == count)
		return 0;
	if (!h->read)
		read_sections(h, modules_get(modules, agent));
	if (!first || serves(h, modules, &frames[first - 1]))
		for (depth = first; depth < count && frames[depth].module == agent;)
			depth++;
	for (size_t i = count; i > first; i--)
		if (frames[i - 1].module == agent &&
		    owner_at(h, frame_lookup_address(frames[i - 1])) == HOOKS_SETUP)
			return i > depth ? i : depth;
	return depth;
}

// Whether ADDRESS is in a function that only looks at a lock and goes on to libc's: by its name,
// which is that of libc's. What it does where somebody waits is in functions of other names.
static bool is_entry(struct hooks *h, const struct module *agent, uint64_t address)
{
	struct hook_callee *known = &h->entries[(address ^ address >> 7) % HOOKS_CALLEES];
	char name[64] = "";

	if (known->module == agent->id && known->address == address)
		return known->serves;
	elf_function_name(agent, address, name, sizeof(name));
	bool other = strstr(name, "_slowly") || strstr(name, "_watched");
	bool is = !other && (strncmp(name, "pthread_mutex_", strlen("pthread_mutex_")) == 0 ||
	                     strncmp(name, "pthread_rwlock_", strlen("pthread_rwlock_")) == 0);
	*known = (struct hook_callee){ address, agent->id, is };
	return is;
}

void hooks_add(struct hooks *h, const struct module *agent, const struct frame *frames,
               size_t count, uint64_t ns)
{
	uint32_t owner = 0;

	if (!h->read && agent)
		read_sections(h, agent);
	// Below the agent's frames there may be one of the C library, at an address of its own.
	for (size_t i = count; i > 0 && !owner; i--)
		if (frames[i - 1].module == frames[count - 1].module)
			owner = owner_at(h, frame_lookup_address(frames[i - 1]));
	if (!h->section_count && agent && is_allocator(agent, &frames[count - 1]))
		owner = OP_MALLOC;
	h->ns[owner] += ns;
	if (owner == OP_WAITS && agent && count == 1 &&
	    is_entry(h, agent, frame_lookup_address(frames[0])))
		h->stalls_ns += ns;
}

uint64_t hooks_ops_ns(const struct hooks *h)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < OP_PROVIDERS; i++)
		ns += h->ns[i];
	return ns;
}

uint64_t hooks_all_ns(const struct hooks *h)
{
	uint64_t ns = h->cupti_ns;

	for (size_t i = 0; i < sizeof(h->ns) / sizeof(h->ns[0]); i++)
		ns += h->ns[i];
	return ns;
}
