// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_await.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/await_asyncio.h"
#include "tracer/agent/python/await_foreign.h"
#include "tracer/agent/python/await_gevent.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_steps.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/python/await_trio.h"
#include "tracer/agent/python/python_api.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define COMING 100000 // looks at most while gevent is imported: tens of milliseconds

static struct agent *agent;
static int looking; // atomic: bits of the libraries that are yet to be found
static bool asked;  // atomic: a look is on its way
static int coming = COMING;

static const struct library {
	bool (*find)(struct agent *a);
	void (*end)(void);
} libraries[] = {
	{ await_asyncio_find, await_asyncio_end },
	{ await_trio_find, await_trio_end },
	{ await_gevent_find, await_gevent_end },
};

#define GEVENT    2 // of these
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

void python_await_start(struct agent *a)
{
	if (!op_is_on(OP_PYTHON))
		return;
	agent = a;
	__atomic_store_n(&looking, (1 << LIBRARIES) - 1, __ATOMIC_RELEASE);
}

static int wanted(void)
{
	return __atomic_load_n(&looking, __ATOMIC_ACQUIRE);
}

bool python_await_may_ask(void)
{
	return wanted() && !__atomic_exchange_n(&asked, true, __ATOMIC_ACQ_REL);
}

void python_await_unask(void)
{
	__atomic_store_n(&asked, false, __ATOMIC_RELEASE);
}

static void ask_again(void)
{
	if (python_await_may_ask() && python_api.Py_AddPendingCall(python_await_look, NULL) < 0)
		python_await_unask();
}

int python_await_look(void *unused)
{
	int error = errno;

	(void)unused;
	python_await_unask();
	for (size_t i = 0; i < LIBRARIES; i++)
		if ((wanted() & 1 << i) && libraries[i].find(agent))
			__atomic_and_fetch(&looking, ~(1 << i), __ATOMIC_ACQ_REL);
	if (coming && (wanted() & 1 << GEVENT) && await_gevent_comes()) {
		coming--;
		ask_again();
	}
	errno = error;
	return 0;
}

static void say_unseen(void)
{
	static const struct {
		const char *name;
		bool (*is_found)(void);
	} others[] = {
		{ "uvloop", await_foreign_found },
		{ "trio", await_trio_found },
		{ "gevent", await_gevent_found },
		{ "eventlet", NULL },
		{ "curio", NULL },
	};
	char text[160];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (await_imported(others[i].name) &&
		    !(others[i].is_found && others[i].is_found())) {
			snprintf(text, sizeof(text),
			         "the program imported %s: tasks that it runs itself are not in "
			         "the table of tasks",
			         others[i].name);
			op_say(text);
		}
}

void python_await_end(void)
{
	if (!agent || !agent->on || agent->pid != (uint32_t)getpid())
		return;
	for (size_t i = 0; i < LIBRARIES; i++)
		if (!(wanted() & 1 << i))
			libraries[i].end();
	say_unseen();
	if (await_sums_are_lacking())
		op_say("more tasks, coroutines or loops were alive than are kept: their table is "
		       "incomplete");
}

void python_await_tell(bool last)
{
	if (agent && await_sums)
		await_sums_tell(agent, last);
}

void python_await_fork(void)
{
	python_await_unask(); // CPython may have dropped it
	if (!await_sums)
		return;
	await_sums_fork();
	await_steps_fork();
}
