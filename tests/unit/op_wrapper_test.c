// SPDX-License-Identifier: MIT
#include "merge/record/op_wrapper.h"

#include "base/module.h"
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <link.h>

// As in <nvtx3/nvToolsExt.h> at -O0, and in C++ programs.
static __attribute__((noinline)) int nvtxRangePushA(const char *text)
{
	return text[0];
}

static __attribute__((noinline)) int _ZN5nvtx312scoped_rangeC1Ev(const char *text)
{
	return text[1];
}

static __attribute__((noinline)) int navigate(const char *text)
{
	return text[2];
}

static struct modules *modules;

static struct frame frame_in(const char *path, void *function)
{
	struct module wanted = { .kind = MODULE_ELF, .path = path, .fd = -1 };
	struct link_map *map;
	Dl_info info;

	cr_assert(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	const struct module *module = modules_add(modules, &wanted, NULL);
	return (struct frame){ (uint64_t)(uintptr_t)function - map->l_addr + 1, module->id,
		               FRAME_RETURN };
}

static void begin(void)
{
	modules = modules_new();
}

static void end(void)
{
	modules_free(modules);
}

TestSuite(op_wrapper, .init = begin, .fini = end);

Test(op_wrapper, the_machinery_of_providers_is_known_by_its_names)
{
	const char *self = "/proc/self/exe";

	cr_expect(op_wrapper_is(modules, frame_in(self, (void *)nvtxRangePushA)));
	cr_expect(op_wrapper_is(modules, frame_in(self, (void *)_ZN5nvtx312scoped_rangeC1Ev)));
	cr_expect(not(op_wrapper_is(modules, frame_in(self, (void *)navigate))));
}

Test(op_wrapper, whole_libraries_are_known_by_theirs)
{
	cr_expect(op_wrapper_is(modules, frame_in("/opt/x/libnvToolsExt.so.1", (void *)navigate)));
	cr_expect(op_wrapper_is(modules,
	                        frame_in("/opt/x/libbottleneck-agent.so", (void *)navigate)));
}

Test(op_wrapper, what_is_not_known_is_none)
{
	struct frame nowhere = { 16, 0, FRAME_RETURN };

	cr_expect(not(op_wrapper_is(modules, nowhere)));
	cr_expect(not(op_wrapper_is(modules, frame_in("/no/such/file", (void *)navigate))));
}
