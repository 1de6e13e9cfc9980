// SPDX-License-Identifier: MIT
// symbol_dump FILE < ADDRESSES: what our symbolizer says of each address, for symbol_oracle.py.
//
//	0x1139
//	inlined()\t/src/a.cc:3
//	main\t/src/a.cc:9
//	(empty line)
//
// The status of the file and the seconds that it took go to stderr.
#include "base/clock.h"
#include "base/error.h"
#include "symbolize/symbolizer.h"

#include <inttypes.h>
#include <string.h>

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
	char remedy[256];
	symbolizer_remedy(s, &module, remedy, sizeof(remedy));
	fprintf(stderr, "level %d\nsource %s\nreason %s\nremedy %s\nseconds %.4f\n", status->level,
	        status->source, status->reason, remedy, (double)(end - start) / 1e9);
	return 0;
}
