// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/objects.h"

#include <dlfcn.h>

static struct objects objects;
static uintptr_t gone_start, gone_end;
static int gone;

static void on_gone(void *context, uintptr_t start, uintptr_t end)
{
	(void)context;
	gone++;
	gone_start = start;
	gone_end = end;
}

Test(agent_objects, what_is_unloaded_is_told_with_all_its_addresses)
{
	cr_expect(objects_look(&objects, on_gone, NULL), "all are new at first");
	uint32_t before = objects.count;
	cr_expect(not(objects_look(&objects, on_gone, NULL)));

	void *plugin = dlopen(PLUGIN, RTLD_NOW);
	cr_assert(plugin != NULL, "%s", dlerror());
	uintptr_t inside = (uintptr_t)dlsym(plugin, "plugin_run");
	cr_expect(objects_look(&objects, on_gone, NULL));
	cr_expect(eq(u32, objects.count, before + 1));
	cr_expect(eq(int, gone, 0));

	dlclose(plugin);
	cr_expect(not(objects_look(&objects, on_gone, NULL)));
	cr_expect(eq(int, gone, 1));
	cr_expect(inside >= gone_start && inside < gone_end);
	cr_expect(eq(u32, objects.count, before));
}

Test(agent_objects, a_handle_less_is_not_an_object_less)
{
	void *plugin = dlopen(PLUGIN, RTLD_NOW), *again = dlopen(PLUGIN, RTLD_NOW);

	objects_look(&objects, on_gone, NULL);
	dlclose(again);
	cr_expect(not(objects_look(&objects, on_gone, NULL)));
	cr_expect(eq(int, gone, 0));
	dlclose(plugin);
	objects_look(&objects, on_gone, NULL);
	cr_expect(eq(int, gone, 1));
}
