/* SPDX-License-Identifier: MIT */
/*
 * asyncio's objects, and coroutines of any library, as Python shows them: whose step a callback is,
 * what it runs, where a task stands, each as a place of await_sums.h.
 *
 * All of it is under the GIL, without an exception set, and leaves none; only attributes of C types
 * are asked for, so nothing of the program's runs.
 */
#pragma once

#include "tracer/agent/python/python_api.h"

#include <stdbool.h>
#include <stdint.h>

#define AWAIT_WRAPPERS "/anyio/" /* files whose coroutines only await the program's */

enum await_text {
	AWAIT_TEXT_CALLBACK,
	AWAIT_TEXT_READY,
	AWAIT_TEXT_SELF,
	AWAIT_TEXT_WHEN,
	AWAIT_TEXT_CORO,
	AWAIT_TEXT_STATE,
	AWAIT_TEXT_GET_NAME,
	AWAIT_TEXT_QUALNAME,
	AWAIT_TEXT_CODE,
	AWAIT_TEXT_FUNC,
	AWAIT_TEXT_CR_CODE,
	AWAIT_TEXT_CR_FRAME,
	AWAIT_TEXT_CR_AWAIT,
	AWAIT_TEXT_GI_CODE,
	AWAIT_TEXT_GI_FRAME,
	AWAIT_TEXT_GI_AWAIT,
	AWAIT_TEXT_TRIO_CORO,
	AWAIT_TEXT_NAME,
	AWAIT_TEXT_NEXT_SEND,
	AWAIT_TEXT_CANCEL_STATUS,
	AWAIT_TEXT_SCOPE,
	AWAIT_TEXT_DEADLINE,
	AWAIT_TEXT_PARENT,
	AWAIT_TEXT_F_BACK,
	AWAIT_TEXT_F_CODE,
	AWAIT_TEXT_RUN,
	AWAIT_TEXT_RUN_OF_GEVENT,
	AWAIT_TEXT_GREENLET,
	AWAIT_TEXT_AT,
	AWAIT_TEXTS
};

/* False: there is no memory. */
bool await_objects_start(void);

/* The attribute of O, a new reference; NULL if it has none. */
py_object await_get(py_object o, enum await_text name);

static inline void await_drop(py_object o)
{
	if (o)
		python_api.Py_DecRef(o);
}

static inline bool await_is_none(py_object o)
{
	return o == (py_object)python_api._Py_NoneStruct;
}

/* The task whose step CALLBACK is, as a new reference; NULL: it is none. */
py_object await_task_of(py_object callback);

/* Whether CALLBACK, the step of a task, can be its first one: else a result wakes it. */
bool await_can_be_first(py_object callback);

bool await_is_pending(py_object task);

/* The place of the name that the program has given TASK; 0: none, or nobody knows. */
uint32_t await_name_of(py_object task);

/* The place of a task's coroutine; of what a callback runs; of what has none. */
uint32_t await_coroutine_of(py_object task);
uint32_t await_callback_of(py_object callback);
uint32_t await_nowhere(void);

/* The places in which TASK stands, outermost first, at most AWAIT_PLACES_MAX - 1; how many. */
uint32_t await_chain_of(py_object task, uint16_t *places);

/* The same of a coroutine or generator: where it begins, and the places in which it stands. */
uint32_t await_begin_of(py_object coroutine);
uint32_t await_chain_in(py_object coroutine, uint16_t *places);

/* The place of the first one that a wrapping coroutine (AWAIT_WRAPPERS) awaits and that is none of
   these; 0: unknown. Of a task's coroutine, or of one. */
uint32_t await_inner_of(py_object task);
uint32_t await_inner_in(py_object coroutine);

/* The place of a line of CODE, and that of its beginning. */
uint32_t await_line_of(py_object code, uint32_t line);
uint32_t await_begin_of_code(py_object code);

/* The place of the name TEXT. */
uint32_t await_name_place(const char *text);

/*
 * Where objects of TYPE keep their NAME, by the descriptor of that slot: its PyMemberDef has the
 * name, the type and the offset. 0: unknown.
 */
intptr_t await_slot_of(py_object type, enum await_text name);

/* A module that the program has imported, borrowed; an attribute, a new reference. NULL: none. */
py_object await_imported(const char *name);
py_object await_attribute(py_object of, const char *name);

/* Whether tasks can be seen in this interpreter at all: it has a GIL, and what that takes. */
bool await_may_watch(void);

/* What TYPE, a class of Python's, has as METHOD's name is what METHOD calls from now on: a new
   reference. NULL: it is not as we know it. */
py_object await_replace(py_object type, struct python_method *method);

/* Calls such a FUNCTION as METHOD was called. */
py_object await_call_own(py_object function, py_object self, py_object const *arguments,
                         intptr_t count, py_object names);
