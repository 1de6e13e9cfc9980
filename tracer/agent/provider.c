// SPDX-License-Identifier: MIT
#include "tracer/agent/provider.h"

#include <stddef.h>
#include <string.h>

#define PROVIDER(id, number, name, ...) extern const struct agent_provider name##_provider;
#define PROVIDER_WITHIN(id, number, name, owner, ...)
#define PROVIDER_OF_MEMORY(id, name, ...) extern const struct agent_provider name##_provider;
#include "base/providers.def"

// Allocations come first: what others start with counts. Functions that are traced come last, so
// that nobody starts by way of a function that has been patched.
const struct agent_provider *const agent_providers[] = {
#define PROVIDER_OF_MEMORY(id, name, ...) &name##_provider,
#include "base/providers.def"
#define PROVIDER(id, number, name, ...) &name##_provider,
#define PROVIDER_WITHIN(id, number, name, owner, ...)
#include "base/providers.def"
	NULL
};

#define COUNT (sizeof(agent_providers) / sizeof(agent_providers[0]) - 1)
_Static_assert(COUNT <= 32, "one bit each");

void providers_start(struct agent *a)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->start)
			agent_providers[i]->start(a);
}

void providers_look(const char *name)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->look)
			agent_providers[i]->look(name);
}

void providers_before_thread(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->before_thread)
			agent_providers[i]->before_thread();
}

bool providers_own(uintptr_t caller)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->owns && agent_providers[i]->owns(caller))
			return true;
	return false;
}

void providers_before_fork(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->before_fork)
			agent_providers[i]->before_fork();
}

void providers_after_fork(void)
{
	for (unsigned i = COUNT; i-- > 0;)
		if (agent_providers[i]->after_fork)
			agent_providers[i]->after_fork();
}

void providers_fork(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->fork)
			agent_providers[i]->fork();
}

uint32_t providers_before_exec(void)
{
	uint32_t whose = 0;

	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->before_exec && agent_providers[i]->before_exec())
			whose |= 1u << i;
	return whose;
}

void providers_exec_failed(uint32_t whose)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (whose & 1u << i)
			agent_providers[i]->exec_failed();
}

void providers_bind(struct dl_phdr_info *info, const struct loaded *object)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->bind)
			agent_providers[i]->bind(info, object);
}

void providers_before_action(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->before_action)
			agent_providers[i]->before_action();
}

void providers_before_traced(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->before_traced)
			agent_providers[i]->before_traced();
}

void providers_exit(void)
{
	for (unsigned i = COUNT; i-- > 0;)
		if (agent_providers[i]->exit)
			agent_providers[i]->exit();
}

void providers_end(void)
{
	for (unsigned i = COUNT; i-- > 0;)
		if (agent_providers[i]->end)
			agent_providers[i]->end();
}

void providers_leave(void)
{
	for (unsigned i = COUNT; i-- > 0;)
		if (agent_providers[i]->leave)
			agent_providers[i]->leave();
}

void providers_idle(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (agent_providers[i]->idle)
			agent_providers[i]->idle();
}

const struct agent_provider *providers_in_front(const char *name)
{
	for (unsigned i = 0; i < COUNT; i++) {
		const struct agent_provider *p = agent_providers[i];
		if (p->prefix && strncmp(name, p->prefix, strlen(p->prefix)) == 0)
			return p;
	}
	return NULL;
}
