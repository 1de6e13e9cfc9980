// SPDX-License-Identifier: MIT
/*
 * The NVTX provider: each binary that uses NVTX hands us its table of functions once, and we put
 * ours there. If the user has an injection library of his own, it gets a table of ours to fill, and
 * every call after us:
 *
 *	program's table ──► our hook ──► theirs[…], if it has put a function there
 *
 * What it returns is then what the program gets, and its handles are those that we look up.
 */
#include "tracer/agent/nvtx/nvtx_hooks.h"
#include "tracer/agent/op/chain.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/wrap/wrap.h"

#include <stdbool.h>
#include <string.h>

// All under chain_lock().
static void *library; // the user's
static bool asked;
static nvtx_get_export *asking; // the binary that is being initialized

static void *their(const char *name, const void *ours)
{
	if (!asked) {
		asked = true;
		library = chain_open(OP_NVTX);
	}
	return chain_find(library, name, ours);
}

// A table of pointers to COUNT functions of THEIRS.
static nvtx_table table_of(nvtx_function **pointers[], nvtx_function *functions[], unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		pointers[i] = &functions[i];
	return pointers;
}

static int get_table_for_them(int module, nvtx_table *table, unsigned *count)
{
	static nvtx_function **core[NVTX_CORE_SIZE], **core2[NVTX_CORE2_SIZE];
	const struct nvtx_callbacks *real;

	if (module == NVTX_CORE || module == NVTX_CORE2) {
		bool first = module == NVTX_CORE;
		unsigned size = first ? NVTX_CORE_SIZE : NVTX_CORE2_SIZE;
		nvtx_table made = first ? table_of(core, nvtx_theirs.core, size)
		                        : table_of(core2, nvtx_theirs.core2, size);
		if (table)
			*table = made;
		if (count)
			*count = size;
		return 1;
	}
	// In the others we have no hooks: what they put there stays.
	real = asking ? asking(NVTX_EXPORT_CALLBACKS) : NULL;
	return real ? real->get_table(module, table, count) : 0;
}

static const void *get_export_for_them(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), get_table_for_them };

	return id == NVTX_EXPORT_CALLBACKS ? &callbacks : asking ? asking(id) : NULL;
}

// What they have and we have not goes to the program as it is.
static void install(const struct nvtx_callbacks *callbacks, int module, nvtx_function *const *hooks,
                    nvtx_function *const *others, unsigned count)
{
	nvtx_table table;
	unsigned size;

	if (!callbacks->get_table(module, &table, &size))
		return;
	for (unsigned i = 0; i < count && i < size; i++) {
		nvtx_function *function = hooks[i] ? hooks[i] : others[i];
		if (function && table[i])
			*table[i] = function;
	}
}

static int initialize(nvtx_get_export *get_export, nvtx_initialize *forward)
{
	const struct nvtx_callbacks *callbacks;

	if (!op_is_on(OP_NVTX))
		return forward ? forward(get_export) : 0;
	callbacks = get_export(NVTX_EXPORT_CALLBACKS);
	if (!callbacks || callbacks->size < sizeof(*callbacks))
		return 0;
	asking = get_export;
	if (forward && !forward(get_export_for_them))
		memset(&nvtx_theirs, 0, sizeof(nvtx_theirs)); // it does not want to
	asking = NULL;
	install(callbacks, NVTX_CORE, nvtx_core_hooks, nvtx_theirs.core, NVTX_CORE_SIZE);
	install(callbacks, NVTX_CORE2, nvtx_core2_hooks, nvtx_theirs.core2, NVTX_CORE2_SIZE);
	return 1;
}

EXPORT int InitializeInjectionNvtx2(nvtx_get_export *get_export)
{
	wrap_start();
	chain_lock();
	nvtx_initialize *forward = (nvtx_initialize *)their("InitializeInjectionNvtx2",
	                                                    (void *)InitializeInjectionNvtx2);
	int result = initialize(get_export, forward);
	chain_unlock();
	return result;
}

// Our functions of an extension, and those of the user's library.
struct ours {
	nvtx_function *const *hooks;
	intptr_t *theirs;
};

static bool find_ours(const struct nvtx_extension *extension, struct ours *ours)
{
	if (extension->size < sizeof(*extension) || extension->segment_count != 1 ||
	    !extension->segments || !extension->segments->slots)
		return false;
	if (extension->module == NVTX_MODULE_PAYLOAD)
		*ours = (struct ours){ nvtx_payload_hooks, nvtx_theirs.payload };
	else if (extension->module == NVTX_MODULE_COUNTERS)
		*ours = (struct ours){ nvtx_counter_hooks, nvtx_theirs.counters };
	else
		return false;
	return true;
}

static void extend(struct nvtx_extension *extension, const struct ours *ours,
                   nvtx_initialize_extension *forward)
{
	struct nvtx_segment *real = extension->segments;
	struct nvtx_segment segment = { real->id, NVTX_EXTENSION_SLOTS, ours->theirs };
	struct nvtx_extension copy = *extension;

	copy.segments = &segment;
	if (forward && !forward(&copy))
		memset(ours->theirs, 0, NVTX_EXTENSION_SLOTS * sizeof(*ours->theirs));
	for (size_t i = 0; i < real->count && i < NVTX_EXTENSION_SLOTS; i++) {
		intptr_t hook = (intptr_t)ours->hooks[i];
		if (hook || ours->theirs[i])
			real->slots[i] = hook ? hook : ours->theirs[i];
	}
}

EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
	struct ours ours;
	int result = 0;

	wrap_start();
	chain_lock();
	nvtx_initialize_extension *forward = (nvtx_initialize_extension *)their(
		"InitializeInjectionNvtxExtension", (void *)InitializeInjectionNvtxExtension);
	if (op_is_on(OP_NVTX) && find_ours(extension, &ours)) {
		extend(extension, &ours, forward);
		result = 1;
	} else if (forward) {
		result = forward(extension);
	}
	chain_unlock();
	return result;
}

// All comes by the program's own calls.
const struct agent_provider nvtx_provider = { 0 };
