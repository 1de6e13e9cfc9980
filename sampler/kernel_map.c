// SPDX-License-Identifier: MIT
#include "sampler/kernel_map.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

// A kernel has some 10^5 symbols; a text with more of them than this is none.
#define SYMBOLS_MAX ((size_t)4 << 20)

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

/* While the names are read. */
struct reading {
	struct wait_filter filter;
	uint64_t *starts; /* of all functions: to see where the ranges end */
	size_t start_count, start_capacity;
};

struct symbol {
	uint64_t address;
	char type;
	const char *name;
	size_t length;
};

static bool parse_hex(const char **text, uint64_t *value)
{
	const char *p = *text;

	for (*value = 0; p - *text < 16; p++) {
		unsigned digit = (unsigned char)*p;
		if (digit - '0' < 10u)
			digit -= '0';
		else if ((digit | 32u) - 'a' < 6u)
			digit = (digit | 32u) - 'a' + 10u;
		else
			break;
		*value = *value << 4 | digit;
	}
	if (p == *text)
		return false;
	*text = p;
	return true;
}

/* "ffffffff81371a30 t do_signal_stop\t[module]" */
static bool parse_line(const char *line, struct symbol *symbol)
{
	if (!parse_hex(&line, &symbol->address) || line[0] != ' ' || line[1] == '\0' ||
	    line[2] != ' ')
		return false;
	symbol->type = line[1];
	symbol->name = line + 3;
	symbol->length = strcspn(symbol->name, " \t\n");
	return symbol->length > 0;
}

static bool add_start(struct reading *r, uint64_t address)
{
	if (r->start_count >= SYMBOLS_MAX ||
	    !array_reserve(&r->starts, &r->start_capacity, r->start_count + 1))
		return false;
	r->starts[r->start_count++] = address;
	return true;
}

static bool add_symbol(struct kernel_map *m, struct reading *r, const struct symbol *symbol)
{
	struct wait wait;
	char type = (char)(symbol->type | 32); // t and w: code

	if (!symbol->address || (type != 't' && type != 'w'))
		return true;
	if (!add_start(r, symbol->address))
		return false;
	if (!wait_filter_passes(&r->filter, symbol->name, symbol->length))
		return true;
	wait = wait_of_function(symbol->name, symbol->length);
	if (wait.rank == WAIT_UNKNOWN)
		return true;
	if (!array_reserve(&m->ranges, &m->capacity, m->count + 1))
		return false;
	m->ranges[m->count++] = (struct range){ symbol->address, UINT64_MAX, wait };
	return true;
}

static bool read_symbols(struct kernel_map *m, struct reading *r, FILE *file)
{
	char line[1024];
	struct symbol symbol;
	bool whole = true; // the last piece read ended a line

	while (fgets(line, sizeof(line), file)) {
		bool begins = whole;
		whole = strchr(line, '\n') != NULL;
		if (begins && parse_line(line, &symbol) && !add_symbol(m, r, &symbol))
			return false;
	}
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The last range that begins at or before ADDRESS. */
static struct range *range_before(const struct kernel_map *m, uint64_t address)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &m->ranges[low - 1] : NULL;
}

/* A function reaches to the next one, which is rarely one that we keep. */
static void find_ends(struct kernel_map *m, const struct reading *r)
{
	for (size_t i = 0; i < m->count; i++) {
		struct range *range = &m->ranges[i];
		range->end = range->start + FUNCTION_BYTES_MAX;
		if (i + 1 < m->count && range[1].start > range->start &&
		    range[1].start < range->end)
			range->end = range[1].start;
	}
	for (size_t i = 0; i < r->start_count; i++) {
		struct range *range = range_before(m, r->starts[i] - 1);
		if (range && r->starts[i] < range->end)
			range->end = r->starts[i];
	}
}

struct kernel_map *kernel_map_read(FILE *file, struct error *err)
{
	cleanup(kernel_map) struct kernel_map *m = calloc(1, sizeof(*m));
	struct reading reading = { 0 };

	wait_filter_init(&reading.filter);
	bool read = m && read_symbols(m, &reading, file);

	if (read && m->count) {
		qsort(m->ranges, m->count, sizeof(*m->ranges), compare_ranges);
		find_ends(m, &reading);
	}
	free(reading.starts);
	if (!read) {
		error_set(err, ENOMEM, "could not keep the names of kernel functions");
		return NULL;
	}
	if (!m->count) {
		error_set(err, 0, "the addresses of kernel functions are hidden");
		error_hint(err, "Lower kernel.kptr_restrict to 0 or run as root.");
		return NULL;
	}
	return steal(m);
}

struct kernel_map *kernel_map_open(const char *path, struct error *err)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	if (!file) {
		error_set(err, errno, "could not open \"%s\"", path);
		return NULL;
	}
	return kernel_map_read(file, err);
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
