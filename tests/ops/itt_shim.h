/* SPDX-License-Identifier: MIT */
/*
 * A static part of ITT as programs have it in them: makes domains and string
 * handles, loads the collector at the first call, and hands it the list of its
 * functions. Only what itt_target.c uses.
 */
#pragma once

#include "tracer/agent/itt/itt_abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct itt_domain domain;
typedef struct itt_string string;
typedef struct itt_id id;

// Function NAME: its pointer, and what stands there until the collector is loaded.
#define ITT_FUNCTIONS(X)                                                                           \
	X(domain *, domain_create, (const char *name))                                             \
	X(string *, string_handle_create, (const char *text))                                      \
	X(void, task_begin, (const domain *d, id i, id p, string *s))                              \
	X(void, task_begin_fn, (const domain *d, id i, id p, void *f))                             \
	X(void, task_end, (const domain *d))                                                       \
	X(void, task_begin_ex,                                                                     \
	  (const domain *d, void *c, unsigned long long t, id i, id p, string *s))                 \
	X(void, task_end_ex, (const domain *d, void *c, unsigned long long t))                     \
	X(void, task_begin_overlapped, (const domain *d, id i, id p, string *s))                   \
	X(void, task_end_overlapped, (const domain *d, id i))                                      \
	X(void, region_begin, (const domain *d, id i, id p, string *s))                            \
	X(void, region_end, (const domain *d, id i))                                               \
	X(void, frame_begin_v3, (const domain *d, id *i))                                          \
	X(void, frame_end_v3, (const domain *d, id *i))                                            \
	X(void, frame_submit_v3,                                                                   \
	  (const domain *d, id *i, unsigned long long b, unsigned long long e))                    \
	X(void, marker, (const domain *d, id i, string *s, int scope))                             \
	X(void, metadata_add, (const domain *d, id i, string *k, int t, size_t n, void *v))        \
	X(void, metadata_str_add, (const domain *d, id i, string *k, const char *v, size_t n))     \
	X(void, thread_set_name, (const char *n))                                                  \
	X(void, pause, (void))                                                                     \
	X(void, resume, (void))                                                                    \
	X(void, detach, (void))                                                                    \
	X(void *, counter_create, (const char *n, const char *d))                                  \
	X(void *, counter_create_typed, (const char *n, const char *d, int t))                     \
	X(void *, counter_create_v3, (const domain *d, const char *n, int t))                      \
	X(void, counter_inc, (void *c))                                                            \
	X(void, counter_dec, (void *c))                                                            \
	X(void, counter_inc_delta, (void *c, unsigned long long by))                               \
	X(void, counter_dec_delta, (void *c, unsigned long long by))                               \
	X(void, counter_inc_v3, (const domain *d, string *s))                                      \
	X(void, counter_dec_v3, (const domain *d, string *s))                                      \
	X(void, counter_inc_delta_v3, (const domain *d, string *s, unsigned long long by))         \
	X(void, counter_dec_delta_v3, (const domain *d, string *s, unsigned long long by))         \
	X(void, counter_set_value, (void *c, void *v))                                             \
	X(void, counter_set_value_ex, (void *c, void *k, unsigned long long t, void *v))           \
	X(void, counter_set_value_v3, (void *c, void *v))                                          \
	X(int, event_create, (const char *n, int size))                                            \
	X(int, event_start, (int e))                                                               \
	X(int, event_end, (int e))                                                                 \
	X(unsigned long long, get_timestamp, (void))                                               \
	X(const char *, api_version, (void))

#define DECLARE(type, name, arguments)                                                             \
	typedef type name##_function arguments;                                                    \
	static type initial_##name arguments;                                                      \
	static name##_function *itt_##name = initial_##name;
ITT_FUNCTIONS(DECLARE)

static struct itt_entry itt_list[] = {
#define ENTRY(type, name, arguments)                                                               \
	{ "__itt_" #name, (itt_function **)&itt_##name, (itt_function *)initial_##name, NULL, 1 },
	ITT_FUNCTIONS(ENTRY){ NULL, NULL, NULL, NULL, 0 }
};

// The fields behind the list are those of a program's part.
static struct {
	struct itt_global head;
	void *lists[8];
} itt_global = {
	.head = {
		.magic = ITT_MAGIC,
		.major = ITT_MAJOR,
		.minor = 25,
		.build = 20230630,
		.mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		.list = itt_list,
	},
};

static inline void itt_load(void)
{
	typedef void init(struct itt_global * g, int groups);
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	struct itt_global *g = &itt_global.head;

	pthread_mutex_lock(&g->mutex);
	if (!g->initialized) {
		g->library = path ? dlopen(path, RTLD_LAZY) : NULL;
		init *f = g->library ? (init *)dlsym(g->library, "__itt_api_init") : NULL;
		if (f)
			f(g, -1);
		for (struct itt_entry *e = itt_list; !f && e->name; e++)
			*e->function = e->absent;
		if (!itt_domain_create)
			itt_domain_create = initial_domain_create;
		if (!itt_string_handle_create)
			itt_string_handle_create = initial_string_handle_create;
		g->initialized = 1;
	}
	pthread_mutex_unlock(&g->mutex);
}

// These two the program's part makes by itself if the collector does not.
static domain *initial_domain_create(const char *name)
{
	itt_load();
	if (itt_domain_create && itt_domain_create != initial_domain_create)
		return itt_domain_create(name);
	domain *d = calloc(1, sizeof(*d));
	d->flags = 1;
	d->name = strdup(name);
	return d;
}

static string *initial_string_handle_create(const char *text)
{
	itt_load();
	if (itt_string_handle_create && itt_string_handle_create != initial_string_handle_create)
		return itt_string_handle_create(text);
	string *s = calloc(1, sizeof(*s));
	s->text = strdup(text);
	return s;
}

// The first call of any function: loads, and calls what stands there then.
#define NO_VALUE
#define INITIAL(type, name, arguments, values, nothing)                                            \
	static type initial_##name arguments                                                       \
	{                                                                                          \
		itt_load();                                                                        \
		if (itt_##name && itt_##name != initial_##name)                                    \
			return itt_##name values;                                                  \
		return nothing;                                                                    \
	}
#define INITIAL_VOID(name, arguments, values)                                                      \
	static void initial_##name arguments                                                       \
	{                                                                                          \
		itt_load();                                                                        \
		if (itt_##name && itt_##name != initial_##name)                                    \
			itt_##name values;                                                         \
	}
INITIAL_VOID(task_begin, (const domain *d, id i, id p, string *s), (d, i, p, s))
INITIAL_VOID(task_begin_fn, (const domain *d, id i, id p, void *f), (d, i, p, f))
INITIAL_VOID(task_end, (const domain *d), (d))
INITIAL_VOID(task_begin_ex, (const domain *d, void *c, unsigned long long t, id i, id p, string *s),
             (d, c, t, i, p, s))
INITIAL_VOID(task_end_ex, (const domain *d, void *c, unsigned long long t), (d, c, t))
INITIAL_VOID(task_begin_overlapped, (const domain *d, id i, id p, string *s), (d, i, p, s))
INITIAL_VOID(task_end_overlapped, (const domain *d, id i), (d, i))
INITIAL_VOID(region_begin, (const domain *d, id i, id p, string *s), (d, i, p, s))
INITIAL_VOID(region_end, (const domain *d, id i), (d, i))
INITIAL_VOID(frame_begin_v3, (const domain *d, id *i), (d, i))
INITIAL_VOID(frame_end_v3, (const domain *d, id *i), (d, i))
INITIAL_VOID(frame_submit_v3, (const domain *d, id *i, unsigned long long b, unsigned long long e),
             (d, i, b, e))
INITIAL_VOID(marker, (const domain *d, id i, string *s, int scope), (d, i, s, scope))
INITIAL_VOID(metadata_add, (const domain *d, id i, string *k, int t, size_t n, void *v),
             (d, i, k, t, n, v))
INITIAL_VOID(metadata_str_add, (const domain *d, id i, string *k, const char *v, size_t n),
             (d, i, k, v, n))
INITIAL_VOID(thread_set_name, (const char *n), (n))
INITIAL_VOID(pause, (void), ())
INITIAL_VOID(resume, (void), ())
INITIAL_VOID(detach, (void), ())
INITIAL(void *, counter_create, (const char *n, const char *d), (n, d), NULL)
INITIAL(void *, counter_create_typed, (const char *n, const char *d, int t), (n, d, t), NULL)
INITIAL(void *, counter_create_v3, (const domain *d, const char *n, int t), (d, n, t), NULL)
INITIAL_VOID(counter_inc, (void *c), (c))
INITIAL_VOID(counter_dec, (void *c), (c))
INITIAL_VOID(counter_inc_delta, (void *c, unsigned long long by), (c, by))
INITIAL_VOID(counter_dec_delta, (void *c, unsigned long long by), (c, by))
INITIAL_VOID(counter_inc_v3, (const domain *d, string *s), (d, s))
INITIAL_VOID(counter_dec_v3, (const domain *d, string *s), (d, s))
INITIAL_VOID(counter_inc_delta_v3, (const domain *d, string *s, unsigned long long by), (d, s, by))
INITIAL_VOID(counter_dec_delta_v3, (const domain *d, string *s, unsigned long long by), (d, s, by))
INITIAL_VOID(counter_set_value, (void *c, void *v), (c, v))
INITIAL_VOID(counter_set_value_ex, (void *c, void *k, unsigned long long t, void *v), (c, k, t, v))
INITIAL_VOID(counter_set_value_v3, (void *c, void *v), (c, v))
INITIAL(int, event_create, (const char *n, int size), (n, size), 0)
INITIAL(int, event_start, (int e), (e), 0)
INITIAL(int, event_end, (int e), (e), 0)
INITIAL(unsigned long long, get_timestamp, (void), (), 0)
INITIAL(const char *, api_version, (void), (), NULL)

// A call as the API's macros make it: NAME is called if it is there.
#define CALL(name, ...)                                                                            \
	do {                                                                                       \
		if (itt_##name)                                                                    \
			itt_##name(__VA_ARGS__);                                                   \
	} while (0)
