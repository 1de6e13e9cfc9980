/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the ITT provider share: which functions of a program's list we put ours in the
 * place of, and what a user's own collector has for them.
 *
 *	program's list ──► our hook ──► itt_theirs[…], if it has put a function there
 *
 * Each part is a file with a table of its hooks. Any thread at any time.
 */
#pragma once

#include "tracer/agent/itt/itt_abi.h"

#include <stdbool.h>
#include <stdint.h>

enum itt_hook_id {
	ITT_HOOK_DOMAIN_CREATE,
	ITT_HOOK_STRING_CREATE,
	ITT_HOOK_TASK_BEGIN,
	ITT_HOOK_TASK_BEGIN_FN,
	ITT_HOOK_TASK_END,
	ITT_HOOK_TASK_BEGIN_EX,
	ITT_HOOK_TASK_BEGIN_FN_EX,
	ITT_HOOK_TASK_END_EX,
	ITT_HOOK_TASK_BEGIN_OVERLAPPED,
	ITT_HOOK_TASK_BEGIN_OVERLAPPED_EX,
	ITT_HOOK_TASK_END_OVERLAPPED,
	ITT_HOOK_TASK_END_OVERLAPPED_EX,
	ITT_HOOK_REGION_BEGIN,
	ITT_HOOK_REGION_END,
	ITT_HOOK_FRAME_BEGIN,
	ITT_HOOK_FRAME_END,
	ITT_HOOK_FRAME_SUBMIT,
	ITT_HOOK_MARKER,
	ITT_HOOK_MARKER_EX,
	ITT_HOOK_METADATA_ADD,
	ITT_HOOK_METADATA_TEXT_ADD,
	ITT_HOOK_THREAD_SET_NAME,
	ITT_HOOK_THREAD_SET_NAME_OLD,
	ITT_HOOK_COUNTER_CREATE,
	ITT_HOOK_COUNTER_CREATE_TYPED,
	ITT_HOOK_COUNTER_CREATE_V3,
	ITT_HOOK_COUNTER_INC,
	ITT_HOOK_COUNTER_INC_DELTA,
	ITT_HOOK_COUNTER_DEC,
	ITT_HOOK_COUNTER_DEC_DELTA,
	ITT_HOOK_COUNTER_INC_V3,
	ITT_HOOK_COUNTER_INC_DELTA_V3,
	ITT_HOOK_COUNTER_DEC_V3,
	ITT_HOOK_COUNTER_DEC_DELTA_V3,
	ITT_HOOK_COUNTER_SET,
	ITT_HOOK_COUNTER_SET_EX,
	ITT_HOOK_COUNTER_SET_V3,
	ITT_HOOK_EVENT_CREATE,
	ITT_HOOK_EVENT_START,
	ITT_HOOK_EVENT_END,
	ITT_HOOK_PAUSE,
	ITT_HOOK_RESUME,
	ITT_HOOK_GET_TIMESTAMP,
	ITT_HOOK_API_VERSION,
	ITT_HOOKS
};

struct itt_hook {
	const char *name; /* as in the list; NULL: the table's end */
	itt_function *function;
	enum itt_hook_id id;
};

/* A row of a table of hooks. */
#define ITT_HOOK(id, name, function)                                                               \
	{                                                                                          \
		name, (itt_function *)(function), ITT_HOOK_##id                                    \
	}

extern const struct itt_hook itt_object_hooks[], itt_task_hooks[], itt_range_hooks[],
	itt_mark_hooks[], itt_counter_hooks[];

extern itt_function *itt_theirs[ITT_HOOKS]; /* atomic */

/* What the user's collector has for this call, as a function of TYPE; NULL if nothing. */
#define ITT_THEIRS(type, id) ((type *)__atomic_load_n(&itt_theirs[ITT_HOOK_##id], __ATOMIC_ACQUIRE))

/* Only what is reported as it happens can be placed: a clock of the program's own we do not know.
 */
static inline bool itt_is_now(const void *clock, uint64_t time)
{
	return !clock && (time == 0 || time == ITT_TIME_NONE);
}
