// SPDX-License-Identifier: MIT
// Counters: what each is after a change is a mark's value.
#include "tracer/agent/itt/itt_counter.h"
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/itt/itt_object.h"
#include "tracer/agent/itt/itt_value.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

static void tell_counter(struct itt_counter *c, uint16_t kind, uint64_t value, struct op_here here)
{
	struct op_details details = { kind, 1, &value };
	struct op_thread *t = op_enter();

	if (!t)
		return;
	struct itt_owner *d = c->domain ? itt_owner_called(c->domain) : &itt_nameless;
	op_mark(t, itt_name_of_kind(t, d, c->name, OP_COUNTER), here, &details);
	op_leave(t);
}

// More may be taken away than is there: it has a sign then.
static void change(struct itt_counter *c, uint64_t delta, struct op_here here)
{
	if (!c || itt_value_types[c->type].detail == OP_DETAIL_DOUBLE)
		return;
	uint64_t value = itt_counter_add(c, delta);
	tell_counter(c, (int64_t)value < 0 ? OP_DETAIL_SIGNED : itt_value_types[c->type].detail,
	             value, here);
}

static void set(struct itt_counter *c, const void *value, struct op_here here)
{
	if (!c || !value)
		return;
	uint64_t now = itt_value(value, itt_value_types[c->type]);
	__atomic_store_n(&c->value, now, __ATOMIC_RELAXED);
	tell_counter(c, itt_value_types[c->type].detail, now, here);
}

static struct itt_counter *counter_in(const struct itt_domain *domain, const struct itt_string *s)
{
	return itt_counter_called(itt_owner_of(domain)->text, s && s->text ? s->text : ITT_UNNAMED,
	                          ITT_U64);
}

// What the program gets is the other collector's, if there is one.
static void *make_counter(const char *name, const char *domain, int type, bool forwarded,
                          void *handle)
{
	struct itt_counter *c = name ? itt_counter_called(domain, name, type) : NULL;

	if (!forwarded)
		return c;
	if (c)
		itt_counter_alias(handle, c);
	return handle;
}

typedef void *counter_create(const char *name, const char *domain);
static void *hook_counter_create(const char *name, const char *domain)
{
	counter_create *forward = ITT_THEIRS(counter_create, COUNTER_CREATE);

	return make_counter(name, domain, ITT_U64, forward, forward ? forward(name, domain) : NULL);
}

typedef void *counter_create_typed(const char *name, const char *domain, int type);
static void *hook_counter_create_typed(const char *name, const char *domain, int type)
{
	counter_create_typed *forward = ITT_THEIRS(counter_create_typed, COUNTER_CREATE_TYPED);

	return make_counter(name, domain, type, forward,
	                    forward ? forward(name, domain, type) : NULL);
}

typedef void *counter_create_v3(const struct itt_domain *domain, const char *name, int type);
static void *hook_counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
	counter_create_v3 *forward = ITT_THEIRS(counter_create_v3, COUNTER_CREATE_V3);

	return make_counter(name, itt_owner_of(domain)->text, type, forward,
	                    forward ? forward(domain, name, type) : NULL);
}

typedef void counter_step(void *id);
#define COUNTER_STEP(function, hook, sign)                                                         \
	static void function(void *id)                                                             \
	{                                                                                          \
		counter_step *forward = ITT_THEIRS(counter_step, hook);                            \
                                                                                                   \
		change(itt_counter_of(id), (uint64_t)(sign), OP_HERE());                           \
		if (unlikely(forward))                                                             \
			forward(id);                                                               \
	}
COUNTER_STEP(hook_counter_inc, COUNTER_INC, 1)
COUNTER_STEP(hook_counter_dec, COUNTER_DEC, -1)

typedef void counter_delta(void *id, unsigned long long delta);
#define COUNTER_DELTA(function, hook, sign)                                                        \
	static void function(void *id, unsigned long long delta)                                   \
	{                                                                                          \
		counter_delta *forward = ITT_THEIRS(counter_delta, hook);                          \
                                                                                                   \
		change(itt_counter_of(id), (uint64_t)(sign)*delta, OP_HERE());                     \
		if (unlikely(forward))                                                             \
			forward(id, delta);                                                        \
	}
COUNTER_DELTA(hook_counter_inc_delta, COUNTER_INC_DELTA, 1)
COUNTER_DELTA(hook_counter_dec_delta, COUNTER_DEC_DELTA, -1)

typedef void counter_step_v3(const struct itt_domain *domain, const struct itt_string *name);
#define COUNTER_STEP_V3(function, hook, sign)                                                      \
	static void function(const struct itt_domain *domain, const struct itt_string *name)       \
	{                                                                                          \
		counter_step_v3 *forward = ITT_THEIRS(counter_step_v3, hook);                      \
                                                                                                   \
		change(counter_in(domain, name), (uint64_t)(sign), OP_HERE());                     \
		if (unlikely(forward))                                                             \
			forward(domain, name);                                                     \
	}
COUNTER_STEP_V3(hook_counter_inc_v3, COUNTER_INC_V3, 1)
COUNTER_STEP_V3(hook_counter_dec_v3, COUNTER_DEC_V3, -1)

typedef void counter_delta_v3(const struct itt_domain *domain, const struct itt_string *name,
                              unsigned long long delta);
#define COUNTER_DELTA_V3(function, hook, sign)                                                     \
	static void function(const struct itt_domain *domain, const struct itt_string *name,       \
	                     unsigned long long delta)                                             \
	{                                                                                          \
		counter_delta_v3 *forward = ITT_THEIRS(counter_delta_v3, hook);                    \
                                                                                                   \
		change(counter_in(domain, name), (uint64_t)(sign)*delta, OP_HERE());               \
		if (unlikely(forward))                                                             \
			forward(domain, name, delta);                                              \
	}
COUNTER_DELTA_V3(hook_counter_inc_delta_v3, COUNTER_INC_DELTA_V3, 1)
COUNTER_DELTA_V3(hook_counter_dec_delta_v3, COUNTER_DEC_DELTA_V3, -1)

typedef void counter_set(void *id, void *value);
static void hook_counter_set(void *id, void *value)
{
	counter_set *forward = ITT_THEIRS(counter_set, COUNTER_SET);

	set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, value);
}

static void hook_counter_set_v3(void *id, void *value)
{
	counter_set *forward = ITT_THEIRS(counter_set, COUNTER_SET_V3);

	set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, value);
}

typedef void counter_set_ex(void *id, void *clock, unsigned long long time, void *value);
static void hook_counter_set_ex(void *id, void *clock, unsigned long long time, void *value)
{
	counter_set_ex *forward = ITT_THEIRS(counter_set_ex, COUNTER_SET_EX);

	if (itt_is_now(clock, time))
		set(itt_counter_of(id), value, OP_HERE());
	if (unlikely(forward))
		forward(id, clock, time, value);
}

const struct itt_hook itt_counter_hooks[] = {
	ITT_HOOK(COUNTER_CREATE, "__itt_counter_create", hook_counter_create),
	ITT_HOOK(COUNTER_CREATE_TYPED, "__itt_counter_create_typed", hook_counter_create_typed),
	ITT_HOOK(COUNTER_CREATE_V3, "__itt_counter_create_v3", hook_counter_create_v3),
	ITT_HOOK(COUNTER_INC, "__itt_counter_inc", hook_counter_inc),
	ITT_HOOK(COUNTER_INC_DELTA, "__itt_counter_inc_delta", hook_counter_inc_delta),
	ITT_HOOK(COUNTER_DEC, "__itt_counter_dec", hook_counter_dec),
	ITT_HOOK(COUNTER_DEC_DELTA, "__itt_counter_dec_delta", hook_counter_dec_delta),
	ITT_HOOK(COUNTER_INC_V3, "__itt_counter_inc_v3", hook_counter_inc_v3),
	ITT_HOOK(COUNTER_INC_DELTA_V3, "__itt_counter_inc_delta_v3", hook_counter_inc_delta_v3),
	ITT_HOOK(COUNTER_DEC_V3, "__itt_counter_dec_v3", hook_counter_dec_v3),
	ITT_HOOK(COUNTER_DEC_DELTA_V3, "__itt_counter_dec_delta_v3", hook_counter_dec_delta_v3),
	ITT_HOOK(COUNTER_SET, "__itt_counter_set_value", hook_counter_set),
	ITT_HOOK(COUNTER_SET_EX, "__itt_counter_set_value_ex", hook_counter_set_ex),
	ITT_HOOK(COUNTER_SET_V3, "__itt_counter_set_value_v3", hook_counter_set_v3),
	{ 0 },
};
