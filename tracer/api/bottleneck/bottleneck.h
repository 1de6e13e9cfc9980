/* SPDX-License-Identifier: MIT */
/*
 * Ranges, steps, and what is recorded: a program's own words to bottleneck(1), in C and C++.
 *
 *	bottleneck_range_begin("load");        an op of this thread, in the report under its name
 *	bottleneck_range_end();                ends the innermost one of this thread
 *	id = bottleneck_range_start("fetch");  a range that any thread ends
 *	bottleneck_range_end_id(id);           ends it
 *	bottleneck_mark_step();                a step ends, and the next one begins
 *	bottleneck_start(); bottleneck_stop(); recording goes on, or pauses, for the whole run
 *
 * Scopes: BOTTLENECK_RANGE("load"); in GNU C, bottleneck::range r("load"); in C++.
 *
 * Nothing has to be linked but, with a glibc before 2.34, -ldl. Where the program does not run
 * under bottleneck the calls do nothing, for a nanosecond or two. NAME may go away after the call.
 * See bottleneck-ops(7).
 */
#ifndef BOTTLENECK_BOTTLENECK_H
#define BOTTLENECK_BOTTLENECK_H

#include <dlfcn.h>
#include <stdint.h>

/* The function of that name, or one that does nothing; looked up once, in each file that calls. */
#define BOTTLENECK_FIND_(type, name, nothing)                                                      \
	static type *bottleneck_found_;                                                            \
	type *bottleneck_call_ = __atomic_load_n(&bottleneck_found_, __ATOMIC_RELAXED);            \
	if (__builtin_expect(!bottleneck_call_, 0)) {                                              \
		bottleneck_call_ = (type *)dlsym((void *)0 /* RTLD_DEFAULT */, name);              \
		if (!bottleneck_call_)                                                             \
			bottleneck_call_ = nothing;                                                \
		__atomic_store_n(&bottleneck_found_, bottleneck_call_, __ATOMIC_RELAXED);          \
	}

#ifdef __cplusplus
extern "C" {
#endif

typedef void bottleneck_name_function_(const char *name);
typedef void bottleneck_function_(void);
typedef uint64_t bottleneck_start_function_(const char *name);
typedef void bottleneck_id_function_(uint64_t id);

static inline void bottleneck_no_name_(const char *name)
{
	(void)name;
}

static inline void bottleneck_nothing_(void)
{
}

static inline uint64_t bottleneck_no_start_(const char *name)
{
	(void)name;
	return 0;
}

static inline void bottleneck_no_id_(uint64_t id)
{
	(void)id;
}

static inline void bottleneck_range_begin(const char *name)
{
	BOTTLENECK_FIND_(bottleneck_name_function_, "bottleneck_agent_range_begin",
	                 bottleneck_no_name_)
	bottleneck_call_(name);
}

static inline void bottleneck_range_end(void)
{
	BOTTLENECK_FIND_(bottleneck_function_, "bottleneck_agent_range_end", bottleneck_nothing_)
	bottleneck_call_();
}

/* What the end needs; 0 where nothing is recorded, which may be ended, too. */
static inline uint64_t bottleneck_range_start(const char *name)
{
	BOTTLENECK_FIND_(bottleneck_start_function_, "bottleneck_agent_range_start",
	                 bottleneck_no_start_)
	return bottleneck_call_(name);
}

static inline void bottleneck_range_end_id(uint64_t id)
{
	BOTTLENECK_FIND_(bottleneck_id_function_, "bottleneck_agent_range_end_id",
	                 bottleneck_no_id_)
	bottleneck_call_(id);
}

static inline void bottleneck_mark_step(void)
{
	BOTTLENECK_FIND_(bottleneck_function_, "bottleneck_agent_mark_step", bottleneck_nothing_)
	bottleneck_call_();
}

static inline void bottleneck_start(void)
{
	BOTTLENECK_FIND_(bottleneck_function_, "bottleneck_agent_start", bottleneck_nothing_)
	bottleneck_call_();
}

static inline void bottleneck_stop(void)
{
	BOTTLENECK_FIND_(bottleneck_function_, "bottleneck_agent_stop", bottleneck_nothing_)
	bottleneck_call_();
}

static inline void bottleneck_range_leave_(const int *unused)
{
	(void)unused;
	bottleneck_range_end();
}

#ifdef __cplusplus
}

namespace bottleneck
{
class range
{
      public:
	explicit range(const char *name)
	{
		bottleneck_range_begin(name);
	}
	~range()
	{
		bottleneck_range_end();
	}
	range(const range &) = delete;
	range &operator=(const range &) = delete;
};
} // namespace bottleneck
#endif

#define BOTTLENECK_PASTE_(a, b)  a##b
#define BOTTLENECK_UNIQUE_(a, b) BOTTLENECK_PASTE_(a, b)

/* A range up to the end of the scope around it. */
#define BOTTLENECK_RANGE(name)                                                                     \
	int BOTTLENECK_UNIQUE_(bottleneck_scope_, __LINE__)                                        \
		__attribute__((cleanup(bottleneck_range_leave_), unused)) =                        \
			(bottleneck_range_begin(name), 0)

#endif
