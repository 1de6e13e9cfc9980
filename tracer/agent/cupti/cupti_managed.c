// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_managed.h"

#include "tracer/agent/cupti/cupti_records.h"
#include "tracer/agent/cupti/cupti_session.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/trace/object_file.h"
#include "tracer/agent/trace/symbols.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#define NOTE_MAX   256
#define FIRST_KIND CUPTI_MANAGED_TO_DEVICE
#define FEW_KINDS  4                     // those of CUDA 8
#define VARIABLES  "__nv_managed_data__" // nvcc's section of pointers to them

static bool asked;   // atomic: the program has asked for managed memory
static bool refused; // under the session's lock, as what follows

// The objects that were looked through for variables.
static struct {
	unsigned long long adds, subs; // of all that were ever loaded, and unloaded
	size_t count;
	bool found;
} looked;

static const char *reason(int result)
{
	switch (result) {
	case CUPTI_MANAGED_NOT_SUPPORTED:
	case CUPTI_NOT_SUPPORTED:
		return "this platform does not support it";
	case CUPTI_MANAGED_NOT_ON_DEVICE:
	case CUPTI_MIG:
	case CUPTI_VIRTUALIZED:
		return "this device does not support it";
	case CUPTI_MANAGED_NOT_WITHOUT_PEERS:
		return "the GPUs do not reach each other's memory; show the program one of them "
		       "by CUDA_VISIBLE_DEVICES";
	case CUPTI_MANAGED_NOT_WITH_MPS:
		return "not under MPS; run without it";
	case CUPTI_NO_PRIVILEGES:
	case CUPTI_VIRTUALIZED_NO_PRIVILEGES:
		return "CUPTI may not look; ask for NVreg_RestrictProfilingToAdminUsers=0";
	default:
		return "CUPTI failed";
	}
}

static void say_refusal(int result)
{
	char note[NOTE_MAX];

	snprintf(note, sizeof(note),
	         "page faults and migrations of managed memory were not recorded: %s (%d %s)",
	         reason(result), result, cupti_result_text(&cupti_session.f, result));
	op_say(note);
}

static int configure(uint32_t count)
{
	struct cupti_managed_setting settings[CUPTI_MANAGED_KINDS];

	for (uint32_t i = 0; i < count; i++)
		settings[i] = (struct cupti_managed_setting){ .scope = CUPTI_MANAGED_SCOPE,
			                                      .counter = FIRST_KIND + i,
			                                      .enable = 1 };
	return CUPTI_CALL(configure_managed, settings, count);
}

// Older releases know fewer, and refuse all for one that they do not.
static int enable(void)
{
	if (!cupti_session.f.configure_managed)
		return CUPTI_NOT_SUPPORTED;
	int result = configure(CUPTI_MANAGED_KINDS);
	if (result == CUPTI_INVALID_PARAMETER)
		result = configure(FEW_KINDS);
	return result == CUPTI_OK ? CUPTI_CALL(enable, CUPTI_KIND_MANAGED) : result;
}

static bool has_variables(const struct dl_phdr_info *info)
{
	const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct object_file file = object_file_map(name);
	bool has = file.bytes && symbols_section(file.bytes, file.size, VARIABLES);

	object_file_unmap(&file);
	return has;
}

struct walk {
	size_t index;
	unsigned long long adds, subs;
};

// New ones come last.
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct walk *walk = context;

	(void)size;
	walk->adds = info->dlpi_adds;
	walk->subs = info->dlpi_subs;
	if (walk->adds == looked.adds && walk->subs == looked.subs)
		return 1;
	if (walk->subs != looked.subs)
		looked.count = 0;
	looked.subs = walk->subs;
	if (walk->index++ < looked.count)
		return 0;
	looked.count = walk->index;
	looked.found = has_variables(info);
	return looked.found;
}

// Whether the program has variables that are __managed__, which no call of its own tells.
static bool find_variables(void)
{
	struct walk walk = { 0 };
	struct loader_lock lock;

	if (!looked.found && loader_lock_soon(&lock)) {
		loader_each(look, &walk);
		looked.adds = walk.adds;
		loader_unlock(&lock);
	}
	return looked.found;
}

// CUPTI may tell of variables, too, once they are there.
static bool is_wanted(void)
{
	return __atomic_load_n(&asked, __ATOMIC_RELAXED) || cupti_records_have_managed() ||
	       find_variables();
}

void cupti_managed_enable(void)
{
	const uint64_t bit = UINT64_C(1) << CUPTI_KIND_MANAGED;

	if (refused || !cupti_session.kinds || cupti_session.kinds & bit || !is_wanted())
		return;
	int result = enable();
	if (result == CUPTI_OK) {
		cupti_session.kinds |= bit;
		return;
	}
	refused = true;
	say_refusal(result);
}

void cupti_managed_try(void)
{
	if (!cupti_session_try_lock())
		return;
	if (cupti_session_is_live())
		cupti_managed_enable();
	cupti_session_unlock();
}

// Before the memory is there, so that its first fault is seen. Who has the lock is not waited for:
// the next flush asks for the records then.
void cupti_managed_on_call(const struct cupti_call *call)
{
	if (call->site != CUPTI_ENTER || !call->function ||
	    __atomic_load_n(&asked, __ATOMIC_RELAXED) || !strstr(call->function, "llocManaged"))
		return;
	__atomic_store_n(&asked, true, __ATOMIC_RELAXED);
	cupti_managed_try();
}
