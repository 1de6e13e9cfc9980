// SPDX-License-Identifier: MIT
#include "sampler/wait/kernel_map.h"

#include "base/array.h"
#include "base/error.h"
#include "base/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

// Without a symbol behind it a function is taken to be no longer than this.
#define FUNCTION_BYTES_MAX ((uint64_t)64 << 10)

struct range {
	uint64_t start, end;
	struct wait wait;
};

struct kernel_map {
	struct range *ranges; /* in order of address */
	size_t count, capacity;
};

static bool add_symbol(struct kernel_map *m, const struct wait_filter *filter,
                       const struct kallsym *symbol)
{
	struct wait wait;

	if (!wait_filter_passes(filter, symbol->name, strnlen(symbol->name, 3)))
		return true;
	wait = wait_of_function(symbol->name, strcspn(symbol->name, " ")); // without its module
	if (wait.rank == WAIT_UNKNOWN)
		return true;
	if (!array_reserve(&m->ranges, &m->capacity, m->count + 1))
		return false;
	m->ranges[m->count++] = (struct range){ symbol->address, 0, wait };
	return true;
}

/* A function reaches to the next one, which is rarely one that we keep. */
static void end_range(struct range *range, uint64_t next)
{
	uint64_t longest = range->start + FUNCTION_BYTES_MAX;

	range->end = next > range->start && next < longest ? next : longest;
}

/* Symbols come in order of address. */
static bool add_symbols(struct kernel_map *m, const struct kallsyms *names)
{
	struct wait_filter filter;
	size_t open = 0; // the first range whose end is not known

	wait_filter_init(&filter);
	for (size_t i = 0; i < kallsyms_count(names); i++) {
		struct kallsym symbol = kallsyms_at(names, i);
		while (open < m->count && m->ranges[open].start < symbol.address)
			end_range(&m->ranges[open++], symbol.address);
		if (!add_symbol(m, &filter, &symbol))
			return false;
	}
	while (open < m->count)
		end_range(&m->ranges[open++], UINT64_MAX);
	return true;
}

/* The last range that begins at or before ADDRESS. */
static struct range *range_before(const struct kernel_map *m, uint64_t address)
{
	size_t count = array_search(m->count, i, m->ranges[i].start <= address);

	return count ? &m->ranges[count - 1] : NULL;
}

struct kernel_map *kernel_map_new(struct kallsyms *names, struct error *err)
{
	if (kallsyms_load(names, err) < 0)
		return NULL;
	cleanup(kernel_map) struct kernel_map *m = calloc(1, sizeof(*m));
	if (!m || !add_symbols(m, names)) {
		error_set(err, ENOMEM, "could not keep the names of kernel functions");
		return NULL;
	}
	if (!m->count) {
		error_set(err, 0, "the addresses of kernel functions are hidden");
		error_hint(
			err,
			"Lower kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1, or run "
			"as root.");
		return NULL;
	}
	return steal(m);
}

struct kernel_map *kernel_map_open(const char *path, struct error *err)
{
	cleanup(kallsyms) struct kallsyms *names = kallsyms_new(path);

	if (!names) {
		error_set(err, ENOMEM, "could not open \"%s\"", path);
		return NULL;
	}
	return kernel_map_new(names, err);
}

void kernel_map_free(struct kernel_map *m)
{
	if (!m)
		return;
	free(m->ranges);
	free(m);
}

struct wait kernel_map_wait(const struct kernel_map *m, const uint64_t *chain, size_t count)
{
	struct wait best = { WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };

	for (size_t i = 0; i < count && best.rank < WAIT_OVERRIDES; i++) {
		uint64_t address;
		const struct range *range;
		memcpy(&address, (const char *)chain + i * sizeof(address), sizeof(address));
		// A return address belongs to the call before it. The innermost address is one too:
		// it leads out of the scheduler.
		range = range_before(m, address - 1);
		if (range && address - 1 < range->end && range->wait.rank > best.rank)
			best = range->wait;
	}
	return best;
}

size_t kernel_map_count(const struct kernel_map *m)
{
	return m->count;
}
