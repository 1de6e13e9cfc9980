// SPDX-License-Identifier: MIT
// profile_symbolize(): one batch of addresses a module.
#include "base/error.h"
#include "base/path.h"
#include "merge/profile/profile_data.h"
#include "merge/profile/unnamed.h"
#include "symbolize/jit/jit_compiler.h"
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct batch {
	struct unnamed *unnamed; // sorted by module, then address
	uint64_t *addresses;     // of one module, distinct
	struct symbol_chain *chains;
	struct place *places; // of one chain
};

static void batch_at_scope_end(struct batch *batch)
{
	free(batch->unnamed);
	free(batch->addresses);
	free(batch->chains);
	free(batch->places);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not keep the names of functions");
}

static bool keep_text(struct profile *p, const char *text, uint32_t *id)
{
	*id = strings_add(p->strings, text);
	return *id || !text;
}

// Beyond this an inline chain is not followed: no compiler makes one.
#define CHAIN_MAX 1024

static int name_location(struct profile *p, uint32_t id, const struct symbol_chain *chain,
                         struct batch *batch, struct error *err)
{
	uint32_t count = chain->count < CHAIN_MAX ? chain->count : CHAIN_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct symbol *symbol = &chain->symbols[i];
		struct place *place = &batch->places[i];
		*place = (struct place){ .line = symbol->line > 0 ? (uint32_t)symbol->line : 0,
			                 .inlined = symbol->inlined,
			                 .unoptimized = symbol->unoptimized };
		if (!keep_text(p, symbol->function, &place->function) ||
		    !keep_text(p, symbol->file, &place->file) ||
		    !keep_text(p, symbol->declared, &place->declared))
			return no_memory(err);
	}
	return locations_name(&p->locations, id, batch->places, count) ? 0 : no_memory(err);
}

static int keep_facts(struct profile *p, struct symbolizer *s, const struct module *module,
                      struct error *err)
{
	const struct debug_status *status = symbolizer_debug_status(s, module);
	struct module_facts *facts = &p->facts[module->id - 1];
	const char *remedy = *status->remedy ? status->remedy : NULL;

	char compiler[256];

	if (module->kind == MODULE_JIT && status->level == DEBUG_NONE && !remedy) {
		jit_compiler_remedy(p->modules, symbolizer_keeps_maps(s), compiler,
		                    sizeof(compiler));
		remedy = compiler;
	}

	*facts = (struct module_facts){ .level = (uint8_t)status->level };
	if (!keep_text(p, *status->source ? status->source : NULL, &facts->source) ||
	    !keep_text(p, *status->reason ? status->reason : NULL, &facts->reason) ||
	    !keep_text(p, remedy, &facts->remedy))
		return no_memory(err);
	return 0;
}

// Names COUNT locations of one module.
static int name_module(struct profile *p, struct symbolizer *s, const struct unnamed *unnamed,
                       size_t count, struct batch *batch, struct error *err)
{
	static const struct symbol_chain nothing = { 0 };
	const struct module *module = modules_get(p->modules, unnamed->module);
	size_t distinct = unnamed_addresses(unnamed, count, batch->addresses);
	size_t at = 0;

	memset(batch->chains, 0, distinct * sizeof(*batch->chains));
	if (module &&
	    symbolizer_resolve(s, module, batch->addresses, distinct, batch->chains, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		at += batch->addresses[at] != unnamed[i].address;
		if (name_location(p, unnamed[i].location, module ? &batch->chains[at] : &nothing,
		                  batch, err) < 0)
			return -1;
	}
	return module ? keep_facts(p, s, module, err) : 0;
}

// Compilers map their jitdumps, so that it is known where they are: when the process has ended,
// nothing else tells.
static int tell_jitdumps(const struct profile *p, struct symbolizer *s, struct error *err)
{
	for (uint32_t id = 1; id <= modules_count(p->modules); id++) {
		const struct module *module = modules_get(p->modules, id);
		if (path_is_jitdump(module->path) &&
		    symbolizer_set_jitdump(s, module->pid, module->path, module->fd) < 0)
			return no_memory(err);
	}
	return 0;
}

int profile_symbolize(struct profile *p, struct symbolizer *s, struct error *err)
{
	cleanup(batch) struct batch batch = {
		.unnamed = calloc((size_t)p->locations.unnamed + 1, sizeof(*batch.unnamed)),
		.addresses = calloc((size_t)p->locations.unnamed + 1, sizeof(*batch.addresses)),
		.chains = calloc((size_t)p->locations.unnamed + 1, sizeof(*batch.chains)),
		.places = calloc(CHAIN_MAX, sizeof(*batch.places)),
	};

	if (!batch.unnamed || !batch.addresses || !batch.chains || !batch.places ||
	    !profile_make_facts(p))
		return no_memory(err);
	if (tell_jitdumps(p, s, err) < 0)
		return -1;
	size_t count = unnamed_collect(&p->locations, 0, batch.unnamed);
	for (size_t first = 0, end; first < count; first = end) {
		end = unnamed_module_end(batch.unnamed, first, count);
		if (name_module(p, s, batch.unnamed + first, end - first, &batch, err) < 0)
			return -1;
	}
	if (profile_name_waits(p, s, err) < 0 || profile_name_goroutines(p, s, err) < 0)
		return -1;
	return callables_apply(p, symbolizer_sections(s)) && profile_name_torch_modules(p)
	               ? 0
	               : no_memory(err);
}
