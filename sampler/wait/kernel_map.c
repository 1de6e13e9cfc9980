// SPDX-License-Identifier: MIT
#include "sampler/wait/kernel_map.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Without a symbol behind it a function is taken to be no longer than this.
#define FUNCTION_BYTES_MAX ((uint64_t)64 << 10)

#define REMEMBERED         256 /* addresses; a power of two */

struct remembered {
	uint64_t address; // 0: none
	struct wait wait;
};

struct kernel_map {
	struct kallsyms *names, *own_names; // the second is NULL if somebody lends us his
	struct wait_filter filter;
	struct remembered remembered[REMEMBERED];
};

static const struct wait unknown = { WAIT_UNKNOWN, METRIC_OFF_OTHER, WAIT_PLAIN };

static struct wait wait_of_name(const struct kernel_map *m, const char *name)
{
	if (!wait_filter_passes(&m->filter, name, strnlen(name, 3)))
		return unknown;
	return wait_of_function(name, strcspn(name, " ")); // without its module
}

/* The function that begins last at or before ADDRESS; of its names the last one that is known. */
static struct wait look_up(const struct kernel_map *m, uint64_t address)
{
	size_t before = kallsyms_before(m->names, address);
	uint64_t start = before ? kallsyms_at(m->names, before - 1).address : 0;
	struct wait wait = unknown;

	if (!before || address - start >= FUNCTION_BYTES_MAX)
		return unknown;
	while (before && wait.rank == WAIT_UNKNOWN) {
		struct kallsym symbol = kallsyms_at(m->names, --before);
		if (symbol.address != start)
			break;
		wait = wait_of_name(m, symbol.name);
	}
	return wait;
}

static struct wait wait_at(struct kernel_map *m, uint64_t address)
{
	struct remembered *r = &m->remembered[hash_mix(address) % REMEMBERED];

	if (r->address != address)
		*r = (struct remembered){ address, look_up(m, address) };
	return r->wait;
}

struct kernel_map *kernel_map_new(struct kallsyms *names, struct error *err)
{
	if (kallsyms_load(names, err) < 0)
		return NULL;
	if (!kallsyms_count(names)) {
		error_set(err, 0, "the addresses of kernel functions are hidden");
		error_hint(
			err,
			"Lower kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1, or run "
			"as root.");
		return NULL;
	}
	struct kernel_map *m = calloc(1, sizeof(*m));
	if (!m) {
		error_set(err, ENOMEM, "could not keep the names of kernel functions");
		return NULL;
	}
	m->names = names;
	wait_filter_init(&m->filter);
	return m;
}

struct kernel_map *kernel_map_open(const char *path, struct error *err)
{
	cleanup(kallsyms) struct kallsyms *names = kallsyms_new(path);

	if (!names) {
		error_set(err, ENOMEM, "could not open \"%s\"", path);
		return NULL;
	}
	struct kernel_map *m = kernel_map_new(names, err);
	if (m)
		m->own_names = steal(names);
	return m;
}

void kernel_map_free(struct kernel_map *m)
{
	if (!m)
		return;
	kallsyms_free(m->own_names);
	free(m);
}

struct wait kernel_map_wait(struct kernel_map *m, const uint64_t *chain, size_t count)
{
	struct wait best = unknown;

	for (size_t i = 0; i < count && best.rank < WAIT_OVERRIDES; i++) {
		uint64_t address;
		memcpy(&address, (const char *)chain + i * sizeof(address), sizeof(address));
		// A return address belongs to the call before it. The innermost address is one too:
		// it leads out of the scheduler.
		struct wait wait = wait_at(m, address - 1);
		if (wait.rank > best.rank)
			best = wait;
	}
	return best;
}
