// SPDX-License-Identifier: MIT
#include "sampler/unwind/unwind_modules.h"

#include "base/array.h"
#include "base/clock.h"

#include <dwarf.h>
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
	image_free(module->image);
	cfi_table_free(module->table);
	free(module->eh_frame.bytes);
	free(module->eh_frame_hdr.bytes);
	free(module->made);
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

static struct cfi_table *build_table(const struct image *image)
{
	struct cfi_table_options options = { .base = image_base(image) };
	struct image_section eh = { 0 }, debug = { 0 };
	struct cfi_section sections[2] = { 0 };
	struct cfi_table *table = NULL;

	image_text(image, &options.text_start, &options.text_end);
	// One program may have both: .eh_frame from the C library's start-up files only.
	if (image_load_eh_frame(image, &eh) && image_load_debug_frame(image, &debug) &&
	    cfi_section_init(&sections[0], eh.bytes, eh.size, eh.address, false) &&
	    cfi_section_init(&sections[1], debug.bytes, debug.size, 0, true))
		table = cfi_table_new(sections, 2, &options, NULL);
	cfi_section_fini(&sections[0]);
	cfi_section_fini(&sections[1]);
	free(eh.bytes);
	free(debug.bytes);
	return table;
}

static void open_module(struct unwind_modules *um, struct unwind_module *module,
                        const struct mapping *where, pid_t pid)
{
	struct module *known = modules_get(um->modules, module->id);
	uint64_t start = clock_now_ns();

	module->image = known ? image_open(known, where, pid, NULL) : NULL;
	module->table = module->image ? build_table(module->image) : NULL;
	if (!module->table) {
		image_free(steal(module->image));
		module->failed_pid = pid ? pid : -1;
		return;
	}
	um->open++;
	um->build_ns += clock_now_ns() - start;
	account(um, module, sizeof(*module) + cfi_table_bytes(module->table));
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

/* Takes .eh_frame_hdr's table, if it is of the one form that all linkers write. */
static bool take_search_table(struct unwind_module *module)
{
	const struct image_section *hdr = &module->eh_frame_hdr;
	uint32_t count;

	if (hdr->size < 12 || hdr->bytes[0] != 1 || (hdr->bytes[1] & 0x0f) != DW_EH_PE_sdata4 ||
	    hdr->bytes[2] != DW_EH_PE_udata4 ||
	    hdr->bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	memcpy(&count, hdr->bytes + 8, sizeof(count));
	if (!count || count > (hdr->size - 12) / 8)
		return false;
	module->search = (struct search_table){
		.entries = hdr->bytes + 12,
		.count = count,
		.base = hdr->address,
		.address = hdr->address + 12,
	};
	return true;
}

static int compare_starts(const void *a, const void *b)
{
	int32_t left, right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return left < right ? -1 : left > right;
}

/* Makes the table that a static program has none of. */
static bool make_search_table(struct unwind_module *module)
{
	const struct image_section *eh = &module->eh_frame;
	int32_t(*pairs)[2] = NULL;
	size_t count = 0, capacity = 0;
	struct cfi_section section;
	struct cfi_fde fde;

	bool ok = cfi_section_init(&section, eh->bytes, eh->size, eh->address, false);
	while (ok && cfi_section_next(&section, &fde)) {
		if (!array_reserve(&pairs, &capacity, count + 1))
			break;
		pairs[count][0] = (int32_t)(fde.start - eh->address);
		pairs[count++][1] = (int32_t)fde.offset;
	}
	cfi_section_fini(&section);
	if (!count) {
		free(pairs);
		return false;
	}
	qsort(pairs, count, sizeof(*pairs), compare_starts);
	module->made = (uint8_t *)pairs;
	module->search = (struct search_table){ .entries = module->made,
		                                .count = count,
		                                .base = eh->address };
	return true;
}

bool unwind_module_sections(struct unwind_modules *um, struct unwind_module *module)
{
	if (!module->has_sections && module->image) {
		module->has_sections = true;
		image_load_eh_frame(module->image, &module->eh_frame);
		image_load_eh_frame_hdr(module->image, &module->eh_frame_hdr);
		bool ok = module->eh_frame.bytes &&
		          (take_search_table(module) || make_search_table(module));
		size_t made = ok && module->made ? module->search.count * 8 : 0;
		account(um, module, module->eh_frame.size + module->eh_frame_hdr.size + made);
	}
	return module->search.count;
}

uint64_t unwind_module_function(struct unwind_modules *um, struct unwind_module *module,
                                uint64_t address)
{
	if (!unwind_module_sections(um, module))
		return 0;

	const struct search_table *s = &module->search;
	int64_t wanted = (int64_t)(address - s->base);
	size_t low = 0, high = s->count;
	int32_t start = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int32_t at;
		memcpy(&at, s->entries + middle * 8, sizeof(at));
		if (at <= wanted) {
			start = at;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low ? s->base + (uint64_t)(int64_t)start : 0;
}

void unwind_modules_stats(const struct unwind_modules *um, struct unwind_modules_stats *stats)
{
	*stats =
		(struct unwind_modules_stats){ .table_bytes = um->bytes, .build_ns = um->build_ns };
	for (size_t i = 0; i < um->count; i++)
		stats->tables += um->entries[i] && um->entries[i]->table;
}
