/* SPDX-License-Identifier: MIT */
/*
 * What ITT programs and a collector tell each other, as far as we use it: the
 * API of version 3, since 2011. Each program has the static part of ittnotify
 * in it, which loads the collector and hands it a list of its functions.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef void itt_function(void);

/* One function of the program's list. */
struct itt_entry {
	const char *name;        /* "__itt_task_begin"; NULL: the list's end */
	itt_function **function; /* the program calls what stands there, unless it is NULL */
	itt_function *initial;   /* stands there until the collector is loaded */
	itt_function *absent;    /* is to stand there if the collector does not have it */
	int32_t group;
};
_Static_assert(sizeof(struct itt_entry) == 40, "itt entry");

#define ITT_MAGIC                                                                                  \
	{                                                                                          \
		0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30                                     \
	}
#define ITT_MAJOR     3
#define ITT_BUILD_OLD 20101001 /* until then the list's entries were shorter */

/* The beginning of the program's state. Its mutex is held while the collector is initialized. */
struct itt_global {
	uint8_t magic[8];
	unsigned long major, minor, build;
	volatile long initialized, has_mutex, counter;
	pthread_mutex_t mutex;
	void *library; /* as from dlopen() */
	void *error_handler;
	const char **path;
	struct itt_entry *list;
};
_Static_assert(offsetof(struct itt_global, mutex) == 56, "itt mutex");
_Static_assert(offsetof(struct itt_global, library) == 96, "itt library");
_Static_assert(offsetof(struct itt_global, list) == 120, "itt list");

/* These two the static part makes by itself; their texts are copies of its own. */
struct itt_domain {
	volatile int flags; /* 0: not wanted */
	const char *name;
	const void *wide;
	int reserved;
	void *reserved_pointer;
	struct itt_domain *next;
};
_Static_assert(offsetof(struct itt_domain, name) == 8, "itt domain");

struct itt_string {
	const char *text;
	const void *wide;
	int reserved;
	void *reserved_pointer;
	struct itt_string *next;
};

struct itt_id {
	unsigned long long address, number, reserved;
};
_Static_assert(sizeof(struct itt_id) == 24, "itt id");

enum itt_metadata {
	ITT_U64 = 1,
	ITT_S64 = 2,
	ITT_U32 = 3,
	ITT_S32 = 4,
	ITT_U16 = 5,
	ITT_S16 = 6,
	ITT_FLOAT = 7,
	ITT_DOUBLE = 8
};

#define ITT_TIME_NONE UINT64_MAX /* __itt_timestamp_none: now */
