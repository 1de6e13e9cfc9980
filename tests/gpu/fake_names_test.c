// SPDX-License-Identifier: MIT
// What the fake CUPTI knows by number is what NVIDIA's libcupti of CUDA 13.0 says, which does so
// without a driver too; and records that the fake wrote are where NVIDIA's finds them.
#include "base/cleanup.h"
#include "tests/gpu/fake_functions.h"
#include "tests/gpu/gpu_run.h"
#include "tests/gpu/saved_buffers.h"
#include "tests/support/expect.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <dlfcn.h>
#include <string.h>

static void *library(void)
{
	const char *path = REAL_CUPTI;
	void *real = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!real)
		cr_skip("NVIDIA's libcupti.so.13 is not there");
	return real;
}

static void *function(const char *name)
{
	void *f = dlsym(library(), name);

	cr_assert(f != NULL, "NVIDIA's libcupti has no %s", name);
	return f;
}

typedef int get_name(uint32_t domain, uint32_t id, const char **name);

static void compare(get_name *theirs, uint32_t domain, uint32_t count)
{
	for (uint32_t id = 0; id < count + 10; id++) {
		const char *name = NULL, *ours = fake_function_name(domain, id);
		int result = theirs(domain, id, &name);
		bool is_known = ours != NULL;
		cr_expect(is_known == (result == 0), "domain %u, %u: %d", domain, id, result);
		if (result == 0 && ours && strcmp(ours, FAKE_UNNAMED) != 0)
			cr_expect(strcmp(ours, name) == 0, "domain %u, %u: \"%s\", not \"%s\"",
			          domain, id, name, ours);
	}
}

Test(fake_names, functions_have_the_numbers_that_cupti_gives_them)
{
	get_name *theirs = (get_name *)function("cuptiGetCallbackName");

	compare(theirs, CUPTI_DOMAIN_RUNTIME, FAKE_RUNTIME_IDS);
	compare(theirs, CUPTI_DOMAIN_DRIVER, FAKE_DRIVER_IDS);
}

// How many records NEXT finds; they must lie where the file's buffer says.
static size_t walk(const struct saved_buffer *b, saved_next *next)
{
	uint32_t *record = NULL;
	size_t found = 0;
	int result;

	while (!(result = next((uint8_t *)b->data, b->bytes, &record)))
		found++;
	cr_expect(eq(int, result, CUPTI_END_OF_BUFFER));
	return found;
}

Test(fake_names, records_are_where_nvidias_cupti_finds_them)
{
	static const char *const programs[] = { "copies",     "graphs",  "churn",
		                                "sync_happy", "devices", "driver" };
	saved_next *next = (saved_next *)function("cuptiActivityGetNextRecord");

	for (size_t p = 0; p < sizeof(programs) / sizeof(*programs); p++) {
		char save[] = "CLIENT_SAVE=/tmp/fake_names_test.XXXXXX";
		char *path = save + strlen("CLIENT_SAVE=");
		close(mkstemp(path));
		cleanup_free struct gpu_run *run = gpu_run(
			programs[p], (const char *const[]){
					     "CLIENT_KINDS=10,1,2,22,38,49,8,9,37,50,5,4,51,17,52",
					     "FAKE_DEVICES=2", save, NULL });
		struct error err = { 0 };
		cleanup_saved_buffers struct saved_buffers *saved = saved_buffers_read(path, &err);
		unlink(path);
		cr_assert(saved != NULL, "%s", err.text);
		size_t records = 0;
		for (size_t i = 0; i < saved_buffers_count(saved); i++) {
			struct saved_buffer b = saved_buffers_get(saved, i);
			size_t found = walk(&b, next);
			cr_expect(found == b.records, "%s: buffer %zu: %zu of %zu records",
			          programs[p], i, found, b.records);
			records += found;
		}
		cr_expect(eq(u64, records, gpu_row(&run->seen, "records")->count));
	}
}
