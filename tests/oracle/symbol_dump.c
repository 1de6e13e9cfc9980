// SPDX-License-Identifier: MIT
// symbol_dump FILE < ADDRESSES: what our symbolizer says of each address, for symbol_oracle.py.
//
//	0x1139
//	inlined()\t/src/a.cc:3
//	main\t/src/a.cc:9
//	(empty line)
//
// The status of the file and the seconds that it took go to stderr. Asked early, in pieces and in a
// thread of its own, the symbolizer must say the same.
#include "base/clock.h"
#include "base/error.h"
#include "symbolize/early.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t read_addresses(uint64_t **addresses)
{
	size_t count = 0, capacity = 0;
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			*addresses = realloc(*addresses, capacity * sizeof(**addresses));
			if (!*addresses)
				abort();
		}
		(*addresses)[count++] = strtoull(line, NULL, 16);
	}
	if (count)
		qsort(*addresses, count, sizeof(**addresses), by_value);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!kept || (*addresses)[i] != (*addresses)[kept - 1])
			(*addresses)[kept++] = (*addresses)[i];
	return kept;
}

static void print_chain(uint64_t address, const struct symbol_chain *chain)
{
	printf("0x%" PRIx64 "\n", address);
	for (uint32_t i = 0; i < chain->count; i++) {
		const struct symbol *symbol = &chain->symbols[i];
		printf("%s\t%s:%d\n", symbol->function ? symbol->function : "??",
		       symbol->file ? symbol->file : "??", symbol->line);
	}
	printf("\n");
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_chain(const struct symbol_chain *a, const struct symbol_chain *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++) {
		const struct symbol *x = &a->symbols[i], *y = &b->symbols[i];
		same = same_text(x->function, y->function) && same_text(x->file, y->file) &&
		       same_text(x->declared, y->declared) && x->line == y->line &&
		       x->inlined == y->inlined;
	}
	return same;
}

static bool same_status(const struct debug_status *a, const struct debug_status *b)
{
	return a->level == b->level && same_text(a->source, b->source) &&
	       same_text(a->reason, b->reason) && same_text(a->remedy, b->remedy);
}

// Every PARTS-th address from FIRST on.
static bool ask_part(struct early *e, const struct module *module, const uint64_t *addresses,
                     size_t count, size_t first, size_t parts)
{
	cleanup_free uint64_t *part = calloc(count + 1, sizeof(*part));
	size_t chosen = 0;

	for (size_t i = first; part && i < count; i += parts)
		part[chosen++] = addresses[i];
	return part && early_ask(e, module, part, chosen);
}

// True if early answers are those that CHAINS and STATUS are.
static bool is_same_early(const struct symbolizer_options *options, const struct module *module,
                          const uint64_t *addresses, size_t count,
                          const struct symbol_chain *chains, const struct debug_status *status)
{
	cleanup_free struct symbol_chain *others = calloc(count + 1, sizeof(*others));
	cleanup(early) struct early *e = early_new(options, NULL);

	if (!others || !e || !ask_part(e, module, addresses, count, 0, 3) ||
	    !ask_part(e, module, addresses, count, 1, 5))
		return false;
	while (!early_is_idle(e))
		usleep(1000);
	struct symbolizer *s = early_finish(e);
	if (symbolizer_resolve(s, module, addresses, count, others, NULL) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (same_chain(&chains[i], &others[i]))
			continue;
		fprintf(stderr, "early, 0x%" PRIx64 " has another answer\n", addresses[i]);
		return false;
	}
	return same_status(status, symbolizer_debug_status(s, module));
}

int main(int argc, char **argv)
{
	cleanup_free uint64_t *addresses = NULL;
	struct symbolizer_options options = { .debug_directories = getenv("DEBUG_DIRECTORIES"),
		                              .debuginfod = getenv("DEBUGINFOD") != NULL };
	struct error err = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: symbol_dump FILE < ADDRESSES\n");
		return 2;
	}
	size_t count = read_addresses(&addresses);
	cleanup_free struct symbol_chain *chains = calloc(count + 1, sizeof(*chains));
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, &err);
	struct module module = { .id = 1, .kind = MODULE_ELF, .path = argv[1], .fd = -1 };
	uint64_t start = clock_now_ns();
	if (!chains || !s || symbolizer_resolve(s, &module, addresses, count, chains, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	uint64_t end = clock_now_ns();
	for (size_t i = 0; i < count; i++)
		print_chain(addresses[i], &chains[i]);
	const struct debug_status *status = symbolizer_debug_status(s, &module);
	fprintf(stderr, "level %d\nsource %s\nreason %s\nremedy %s\nseconds %.4f\n", status->level,
	        status->source, status->reason, status->remedy, (double)(end - start) / 1e9);
	if (!is_same_early(&options, &module, addresses, count, chains, status)) {
		fprintf(stderr, "what is looked up early differs\n");
		return 1;
	}
	return 0;
}
