// SPDX-License-Identifier: MIT
/*
 * An NVTX injection library as a user may have one: prints what it is told to standard error, and
 * makes ids and handles of its own. What it does not have: wide pushes, and strings.
 */
#include "tracer/agent/nvtx/nvtx_abi.h"

#include <stdio.h>

#define EXPORT   __attribute__((visibility("default")))
#define HANDLE   ((const void *)0x7001)
#define RANGE_ID 4000

static int push(const char *text)
{
	fprintf(stderr, "theirs: push %s\n", text);
	return 70;
}

static int pop(void)
{
	fprintf(stderr, "theirs: pop\n");
	return 71;
}

static uint64_t start(const char *text)
{
	static uint64_t id = RANGE_ID;

	fprintf(stderr, "theirs: start %s\n", text);
	return ++id;
}

static void end(uint64_t id)
{
	fprintf(stderr, "theirs: end %d\n", (int)id);
}

static const void *create_domain(const char *name)
{
	fprintf(stderr, "theirs: domain %s\n", name);
	return HANDLE;
}

static int push_in(const void *domain, const struct nvtx_attributes *a)
{
	fprintf(stderr, "theirs: push %s in %s\n", a->message.narrow,
	        domain == HANDLE ? "it" : "another");
	return 72;
}

static uint64_t add_schema(const void *domain, const struct nvtx_schema *schema)
{
	fprintf(stderr, "theirs: schema %s in %s\n", schema->name,
	        domain == HANDLE ? "it" : "another");
	return 31;
}

static void name_stream(void *stream, const char *name)
{
	(void)stream;
	fprintf(stderr, "theirs: stream %s\n", name);
}

static void put(const struct nvtx_callbacks *callbacks, int module, unsigned id, void *function)
{
	nvtx_table table;
	unsigned count;

	if (callbacks->get_table(module, &table, &count) && id < count)
		*table[id] = (nvtx_function *)function;
}

EXPORT int InitializeInjectionNvtx2(nvtx_get_export *get_export)
{
	const struct nvtx_callbacks *callbacks = get_export(NVTX_EXPORT_CALLBACKS);

	put(callbacks, NVTX_CORE, NVTX_RANGE_PUSH_A, (void *)push);
	put(callbacks, NVTX_CORE, NVTX_RANGE_POP, (void *)pop);
	put(callbacks, NVTX_CORE, NVTX_RANGE_START_A, (void *)start);
	put(callbacks, NVTX_CORE, NVTX_RANGE_END, (void *)end);
	put(callbacks, NVTX_CORE2, NVTX_DOMAIN_CREATE_A, (void *)create_domain);
	put(callbacks, NVTX_CORE2, NVTX_DOMAIN_RANGE_PUSH_EX, (void *)push_in);
	put(callbacks, NVTX_CUDA, 5, (void *)name_stream); // a module that is not ours
	fprintf(stderr, "theirs: initialized\n");
	return 1;
}

EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
	fprintf(stderr, "theirs: extension %d\n", extension->module);
	if (extension->module != NVTX_MODULE_PAYLOAD)
		return 0;
	extension->segments[0].slots[NVTX_SCHEMA_REGISTER] = (intptr_t)add_schema;
	return 1;
}
