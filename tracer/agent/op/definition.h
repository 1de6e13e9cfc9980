/* SPDX-License-Identifier: MIT */
/*
 * Which function a call would have reached, had we not stood in front of it.
 *
 * The preloaded agent comes first for every object of the program, also for
 * those whose own library of the same functions was loaded for them alone
 * (RTLD_LOCAL, as Python does), and several such libraries may be there. What
 * the loader would have found depends on the caller:
 *
 *	1. the only definition there is, whoever calls
 *	2. the first one of the global scope behind us
 *	3. the first one of the caller's own scope: what was opened with it
 *	4. the first one that was loaded
 *
 * Only where there are several is the loader asked, and its lock taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFINITION_SITES       4096 /* a power of two */
#define DEFINITION_SITES_TRIED 4

struct definition_site {
	uint64_t key; /* atomic */
	void *target; /* atomic */
};
extern struct definition_site definition_sites[DEFINITION_SITES];

/* NULL if no object but the agent defines NAME. Keeps errno. Not for handlers. */
void *definition_find(const char *name, uint64_t caller);

/* The first one in an object that was loaded after the agent, else in any; NULL if none is. */
void *definition_behind_us(const char *name);

/* The first one in the order of loading: of an object, whose address everybody takes. */
void *definition_first(const char *name);

/* In the scope of the object around CALLER, if that has one of its own; NULL if there is none. */
void *definition_in_scope(const char *name, uint64_t caller);

/* In the object around ADDRESS and the libraries that it needs alone. NULL if there is none. */
void *definition_near(const void *address, const char *name);

/* The path of the object around ADDRESS; false if there is none. */
bool definition_path(const void *address, char *path, uint32_t size);

/*
 * What definition_find() has said, by call site. NUMBER tells the functions apart that
 * one site may call. NULL: it is not known.
 */
static inline void *definition_recall(uint32_t number, uint64_t caller);
void definition_remember(uint32_t number, uint64_t caller, void *target);

/* An object has been unloaded: what was remembered may be gone. Counted. */
void definition_forget(void);
uint32_t definition_forgotten(void);

/* Addresses of sites are below 1 << 47, so that the function's number fits on top. */
static inline uint64_t definition_key(uint32_t number, uint64_t caller)
{
	return caller ^ (uint64_t)(number + 1) << 47;
}

static inline uint32_t definition_place(uint64_t key, uint32_t try)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15) >> 52) + try) % DEFINITION_SITES;
}

static inline void *definition_recall(uint32_t number, uint64_t caller)
{
	uint64_t key = definition_key(number, caller);

	for (uint32_t i = 0; i < DEFINITION_SITES_TRIED; i++) {
		struct definition_site *site = &definition_sites[definition_place(key, i)];
		if (__atomic_load_n(&site->key, __ATOMIC_ACQUIRE) != key)
			continue;
		void *target = __atomic_load_n(&site->target, __ATOMIC_ACQUIRE);
		/* Another thread may have given the place away in between. */
		if (__atomic_load_n(&site->key, __ATOMIC_ACQUIRE) == key)
			return target;
	}
	return NULL;
}
