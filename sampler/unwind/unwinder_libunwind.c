// SPDX-License-Identifier: MIT
#include "sampler/unwind/unwinder_libunwind.h"

#include "base/error.h"

#include <errno.h>
#include <libunwind.h>
#include <string.h>

/* Exported for libunwind-ptrace and its like, but in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
                                       unw_proc_info_t *found, int need_unwind_info,
                                       void *argument);

/* Rules that libunwind remembers; its own default is 128. */
#define CACHE_ENTRIES 4096

struct unwinder_libunwind {
	struct unwinder_libunwind_source source;
	unw_addr_space_t space;
	unw_cursor_t cursor;
	uint64_t fingerprint;
	const uint64_t *regs;
	uint32_t known;
};

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found,
                          int need_unwind_info, void *argument)
{
	struct unwinder_libunwind *l = argument;
	struct unwind_search search;

	if (!l->source.find(l->source.context, ip, &search))
		return -UNW_ENOINFO;

	unw_dyn_info_t info = {
		.start_ip = search.start,
		.end_ip = search.end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti.segbase = search.segment_base,
		.u.rti.table_data = search.table,
		.u.rti.table_len = search.table_count * 8 / sizeof(unw_word_t),
	};
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &info, found, need_unwind_info,
	                                          argument);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space, (void)info, (void)argument; // libunwind frees what it made itself
}

static int get_dyn_info_list(unw_addr_space_t space, unw_word_t *list, void *argument)
{
	(void)space, (void)list, (void)argument;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                      void *argument)
{
	struct unwinder_libunwind *l = argument;

	(void)space;
	if (write || !l->source.read(l->source.context, address, value))
		return -UNW_EINVAL;
	return 0;
}

/* libunwind numbers the registers as DWARF does, and so do we. */
static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                      void *argument)
{
	const struct unwinder_libunwind *l = argument;

	(void)space;
	if (write || reg < 0 || reg >= UNWINDER_LIBUNWIND_REGS || !(l->known & 1u << reg))
		return -UNW_EBADREG;
	*value = l->regs[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
                        void *argument)
{
	(void)space, (void)reg, (void)value, (void)write, (void)argument;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space, (void)cursor, (void)argument;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
                         unw_word_t *offset, void *argument)
{
	(void)space, (void)address, (void)name, (void)size, (void)offset, (void)argument;
	return -UNW_ENOINFO;
}

struct unwinder_libunwind *unwinder_libunwind_new(const struct unwinder_libunwind_source *source,
                                                  struct error *err)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	cleanup(unwinder_libunwind) struct unwinder_libunwind *l = calloc(1, sizeof(*l));

	if (l)
		l->space = unw_create_addr_space(&accessors, 0);
	if (!l || !l->space) {
		error_set(err, ENOMEM, "could not start libunwind");
		return NULL;
	}
	l->source = *source;
	unw_set_caching_policy(l->space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(l->space, CACHE_ENTRIES, 0);
	return steal(l);
}

void unwinder_libunwind_free(struct unwinder_libunwind *l)
{
	if (!l)
		return;
	if (l->space)
		unw_destroy_addr_space(l->space);
	free(l);
}

bool unwinder_libunwind_begin(struct unwinder_libunwind *l,
                              const uint64_t regs[UNWINDER_LIBUNWIND_REGS], uint32_t known,
                              uint64_t fingerprint)
{
	if (l->fingerprint != fingerprint)
		unw_flush_cache(l->space, 0, 0); // its rules are kept by address
	l->fingerprint = fingerprint;
	l->regs = regs;
	l->known = known;
	return unw_init_remote(&l->cursor, l->space, l) == 0;
}

enum unwinder_libunwind_step unwinder_libunwind_step(struct unwinder_libunwind *l)
{
	int moved = unw_step(&l->cursor);

	if (moved > 0)
		return LIBUNWIND_CALLER;
	return moved == 0 ? LIBUNWIND_END : LIBUNWIND_FAILED;
}

bool unwinder_libunwind_get(struct unwinder_libunwind *l, unsigned reg, uint64_t *value)
{
	unw_word_t word;

	if (unw_get_reg(&l->cursor, (unw_regnum_t)reg, &word) < 0)
		return false;
	*value = word;
	return true;
}
