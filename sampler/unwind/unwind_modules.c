// SPDX-License-Identifier: MIT
#include "sampler/unwind/unwind_modules.h"

#include "base/array.h"
#include "base/clock.h"

#include <string.h>

struct unwind_modules {
	struct modules *modules;
	struct unwind_module **entries; // by module id; NULL: never met
	size_t count, capacity;
	size_t budget_bytes, bytes;
	size_t open_max, open;
	uint64_t clock;
	uint64_t build_ns;
};

struct unwind_modules *unwind_modules_new(struct modules *modules, size_t budget_bytes,
                                          size_t open_max)
{
	struct unwind_modules *um = calloc(1, sizeof(*um));

	if (!um)
		return NULL;
	um->modules = modules;
	um->budget_bytes = budget_bytes;
	um->open_max = open_max;
	return um;
}

/* Back to "never opened"; the entry stays. */
static void unload(struct unwind_modules *um, struct unwind_module *module)
{
	um->bytes -= module->bytes;
	um->open -= module->image != NULL;
	cfi_table_free(module->table);
	image_free(module->image);
	*module = (struct unwind_module){ .id = module->id };
}

void unwind_modules_free(struct unwind_modules *um)
{
	if (!um)
		return;
	for (size_t i = 0; i < um->count; i++) {
		if (um->entries[i])
			unload(um, um->entries[i]);
		free(um->entries[i]);
	}
	free(um->entries);
	free(um);
}

/* Unloads the least recently used modules but for KEPT until the budget holds. */
static void evict(struct unwind_modules *um, const struct unwind_module *kept)
{
	while (um->bytes > um->budget_bytes || um->open > um->open_max) {
		struct unwind_module *oldest = NULL;
		for (size_t i = 0; i < um->count; i++) {
			struct unwind_module *module = um->entries[i];
			if (module && module->image && module != kept &&
			    (!oldest || module->used < oldest->used))
				oldest = module;
		}
		if (!oldest)
			return;
		unload(um, oldest);
	}
}

static void account(struct unwind_modules *um, struct unwind_module *module, size_t bytes)
{
	module->bytes += bytes;
	um->bytes += bytes;
	evict(um, module);
}

static struct cfi_table *open_table(struct unwind_module *module)
{
	struct image_section eh = image_eh_frame(module->image);
	struct image_section hdr = image_eh_frame_hdr(module->image);
	struct image_section debug = image_debug_frame(module->image);
	struct cfi_section sections[2] = { 0 };
	uint64_t start, end;

	module->eh_frame = eh;
	module->eh_frame_hdr = hdr;
	image_text(module->image, &start, &end);
	// One program may have both: .eh_frame from the C library's start-up files only.
	if (!cfi_section_init(&sections[0], eh.bytes, eh.size, eh.address, false) ||
	    !cfi_section_init(&sections[1], debug.bytes, debug.size, start, true)) {
		cfi_section_fini(&sections[0]);
		return NULL;
	}
	cfi_search_take(&sections[0].search, hdr.bytes, hdr.size, hdr.address);
	struct cfi_table *table = cfi_table_new(sections, 2, start, end, NULL);
	struct image_section go =
		table ? image_go_code(module->image) : (struct image_section){ 0 };
	if (go.bytes)
		cfi_table_set_go(table, go.bytes, go.size, go.address);
	return table;
}

static void open_module(struct unwind_modules *um, struct unwind_module *module,
                        const struct mapping *where, pid_t pid)
{
	struct module *known = modules_get(um->modules, module->id);
	uint64_t start = clock_now_ns();

	module->image = known ? image_open(known, where, pid, NULL) : NULL;
	module->table = module->image ? open_table(module) : NULL;
	if (!module->table) {
		image_free(steal(module->image));
		module->failed_pid = pid ? pid : -1;
		return;
	}
	um->open++;
	um->build_ns += clock_now_ns() - start;
	account(um, module, sizeof(*module) + module->table->bytes);
}

static struct unwind_module *entry_of(struct unwind_modules *um, uint32_t id)
{
	if (id >= um->count) {
		if (!array_reserve(&um->entries, &um->capacity, (size_t)id + 1))
			return NULL;
		memset(&um->entries[um->count], 0, (id + 1 - um->count) * sizeof(*um->entries));
		um->count = (size_t)id + 1;
	}
	if (!um->entries[id]) {
		um->entries[id] = calloc(1, sizeof(**um->entries));
		if (um->entries[id])
			um->entries[id]->id = id;
	}
	return um->entries[id];
}

static void locate(struct unwind_modules *um, const struct unwind_module *module,
                   struct mapping *where)
{
	const struct module *known = modules_get(um->modules, module->id);

	if (module->image && image_locate(module->image, where))
		return;
	// Without its file we cannot know; nearly always the file is mapped one to one.
	bool file = known && (known->kind == MODULE_ELF || known->kind == MODULE_VDSO);
	where->bias = file ? where->start - where->file_offset : 0;
	where->has_bias = true;
}

struct unwind_module *unwind_modules_get(struct unwind_modules *um, struct mapping *where,
                                         pid_t pid)
{
	struct unwind_module *module =
		where->module < um->count ? um->entries[where->module] : NULL;

	if (!module && !(module = entry_of(um, where->module)))
		return NULL;
	module->used = ++um->clock;
	if (!module->table && module->failed_pid != (pid ? pid : -1))
		open_module(um, module, where, pid);
	if (!where->has_bias)
		locate(um, module, where);
	return module;
}

const struct cfi_rule *unwind_modules_rule(struct unwind_modules *um, struct unwind_module *module,
                                           uint64_t address)
{
	static const struct cfi_rule none = { .cfa = CFI_NO_RULE };

	if (!module->table)
		return &none;
	const struct cfi_rule *rule = cfi_table_find(module->table, address);
	if (rule)
		return rule;
	size_t before = module->table->bytes;
	uint64_t start = clock_now_ns();
	rule = cfi_table_rule(module->table, address);
	um->build_ns += clock_now_ns() - start;
	account(um, module, module->table->bytes - before);
	return rule;
}

uint64_t unwind_module_function(const struct unwind_module *module, uint64_t address)
{
	const struct cfi_search *search = unwind_module_search(module);
	size_t count = search ? cfi_search_up_to(search, address) : 0;

	return count ? cfi_search_function(search, count - 1) : 0;
}

void unwind_modules_stats(const struct unwind_modules *um, struct unwind_modules_stats *stats)
{
	*stats = (struct unwind_modules_stats){ .tables = um->open,
		                                .table_bytes = um->bytes,
		                                .build_ns = um->build_ns };
}
