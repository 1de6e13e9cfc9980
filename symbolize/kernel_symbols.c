// SPDX-License-Identifier: MIT
#include "symbolize/kernel_symbols.h"

#include "base/array.h"
#include "base/error.h"
#include "symbolize/read_file.h"

#include <errno.h>
#include <string.h>

#define KALLSYMS_BYTES_MAX ((size_t)1 << 30)

struct kernel_symbol {
	uint64_t start;
	const char *name; // in TEXT
};

struct kernel_symbols {
	char *text;
	struct kernel_symbol *items;
	size_t count, capacity;
	bool hidden;
};

// "ffffffff81000000 T name" or, of a module, "… t name\t[module]".
static bool read_line(char *line, struct kernel_symbol *symbol, bool *is_code)
{
	char *end;

	errno = 0;
	symbol->start = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	*is_code = strchr("tTwW", end[1]) != NULL;
	symbol->name = end + 3;
	char *tab = strchr(end + 3, '\t');
	if (tab)
		*tab = ' ';
	return true;
}

static int read_lines(struct kernel_symbols *k)
{
	k->hidden = true;
	for (char *line = k->text, *next; line && *line; line = next) {
		struct kernel_symbol symbol;
		bool is_code;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!read_line(line, &symbol, &is_code))
			continue;
		k->hidden &= symbol.start == 0;
		if (!is_code || !symbol.start)
			continue;
		if (!array_reserve(&k->items, &k->capacity, k->count + 1))
			return -1;
		k->items[k->count++] = symbol;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name; // as they stand in the file
}

struct kernel_symbols *kernel_symbols_new(const char *path, struct error *err)
{
	cleanup(kernel_symbols) struct kernel_symbols *k = calloc(1, sizeof(*k));
	size_t size;

	if (!k) {
		error_set(err, ENOMEM, "could not read the kernel's symbols");
		return NULL;
	}
	k->text = read_file(path, KALLSYMS_BYTES_MAX, &size, err);
	if (!k->text)
		return NULL;
	if (read_lines(k) < 0) {
		error_set(err, ENOMEM, "could not read the kernel's symbols");
		return NULL;
	}
	if (k->count)
		qsort(k->items, k->count, sizeof(*k->items), by_start);
	return steal(k);
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	free(k->text);
	free(k->items);
	free(k);
}

bool kernel_symbols_are_hidden(const struct kernel_symbols *k)
{
	return k->hidden;
}

const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t address)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (k->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	// Of aliases the first in the file.
	while (low > 1 && k->items[low - 2].start == k->items[low - 1].start)
		low--;
	return k->items[low - 1].name;
}
