// SPDX-License-Identifier: MIT
#include "tracer/agent/op/detour.h"

#include "tracer/agent/provider.h"

#define NESTED_MAX 5 // each hides its like

#define OWN        static __thread __attribute__((tls_model("initial-exec")))

struct nested {
	uint64_t stack; // the CFA of its call
	enum detour_rank rank;
};

OWN struct nested nested[NESTED_MAX];
__thread unsigned detour_depth __attribute__((tls_model("initial-exec")));

static void end(void)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_end(t);
	op_leave(t);
}

// What is further in than the frame at hand has been left without a return.
static void close_left(uint64_t stack)
{
	while (detour_depth && nested[detour_depth - 1].stack <= stack) {
		detour_depth--;
		end();
	}
}

bool detour_hides_within(enum detour_rank rank, const uint64_t *frame)
{
	close_left((uint64_t)(frame + 2));
	if (!detour_depth)
		return false;
	enum detour_rank around = nested[detour_depth - 1].rank;
	return detour_depth == NESTED_MAX || rank <= DETOUR_VECTOR || around == rank ||
	       around < DETOUR_LAPACK;
}

void detour_open(struct op_thread *t, enum detour_rank rank, uint32_t name, const uint64_t *frame,
                 const struct op_details *d)
{
	struct op_here here = detour_here(frame);

	nested[detour_depth++] = (struct nested){ here.stack, rank };
	op_begin(t, name, here, d);
}

void detour_close(const uint64_t *frame)
{
	uint64_t stack = (uint64_t)(frame + 2);

	// What a call further out has closed already is not there any more.
	close_left(stack - 1);
	if (!detour_depth || nested[detour_depth - 1].stack != stack)
		return;
	detour_depth--;
	end();
}

#ifdef __x86_64__

static struct detour_stubs *stubs_of(const void *address, uint32_t *index)
{
	for (const struct agent_provider *const *p = agent_providers; *p; p++) {
		struct detour_stubs *s = (*p)->stubs;
		uintptr_t at = s ? (uintptr_t)address - (uintptr_t)s->first : 0;
		*index = (uint32_t)(at / DETOUR_STUB_BYTES);
		if (s && at < (uintptr_t)s->count * DETOUR_STUB_BYTES)
			return s;
	}
	return NULL;
}

bool detour_is_stub(const void *address)
{
	uint32_t index;

	return stubs_of(address, &index) != NULL;
}

// The first place that is free from where the function belongs on, or that is it already.
static struct detour_alias *find_alias(struct detour_stubs *s, uint32_t stub, void *target)
{
	uint64_t hash = ((uintptr_t)target ^ stub) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t i = 0; i < DETOUR_ALIASES; i++) {
		struct detour_alias *alias = &s->aliases[(hash + i) % DETOUR_ALIASES];
		if (!alias->target || (alias->target == target && alias->stub == stub))
			return alias;
	}
	return NULL;
}

void *detour_alias(const void *stub, void *target)
{
	static uint32_t busy; // atomic
	uint32_t index;
	struct detour_stubs *s = stubs_of(stub, &index);

	// Who comes at the same time, or from a handler, goes without.
	if (!s || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return target;
	struct detour_alias *alias = find_alias(s, index, target);
	if (alias && !alias->target) {
		alias->stub = index;
		__atomic_store_n(&alias->target, target, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	if (!alias)
		return target;
	size_t number = s->count + (size_t)(alias - s->aliases);
	return (void *)(uintptr_t)(s->first + number * DETOUR_STUB_BYTES);
}

bool detour_is_late(const void *stub)
{
	uint32_t index;
	const struct detour_stubs *s = stub ? stubs_of(stub, &index) : NULL;

	for (const struct agent_provider *const *p = agent_providers; !stub && *p; p++)
		if ((*p)->stubs && (*p)->stubs->late)
			return true;
	return s && s->late;
}

void *detour_late(const void *stub, void *target)
{
	void *alias = detour_alias(stub, target);

	return alias == target ? NULL : alias;
}

void *detour_target(const void *address)
{
	for (const struct agent_provider *const *p = agent_providers; *p; p++) {
		struct detour_stubs *s = (*p)->stubs;
		uintptr_t at = s ? (uintptr_t)address - (uintptr_t)s->first : 0;
		uintptr_t number = at / DETOUR_STUB_BYTES;
		if (s && at % DETOUR_STUB_BYTES == 0 && number >= s->count &&
		    number < (uintptr_t)s->count + DETOUR_ALIASES)
			return s->aliases[number - s->count].target;
	}
	return NULL;
}

#else

bool detour_is_late(const void *stub)
{
	(void)stub;
	return false;
}

#endif
