// SPDX-License-Identifier: MIT
#include "merge/profile/run_fields.h"

#include <limits.h>

#define FIELD(type, name)                                                                          \
	{                                                                                          \
#name, type, offsetof(struct run, name)                                            \
	}

#define HOOKS(key, provider)                                                                       \
	{                                                                                          \
		key, RUN_U64, offsetof(struct run, hooks_ns[provider])                             \
	}

const struct run_field run_fields[] = {
	FIELD(RUN_TEXT, command),
	FIELD(RUN_TEXT, directory),
	FIELD(RUN_TEXT, host),
	FIELD(RUN_BOOL, has_rank),
	FIELD(RUN_U32, rank),
	FIELD(RUN_U32, world),
	FIELD(RUN_TEXT, kernel),
	FIELD(RUN_TEXT, version),
	FIELD(RUN_U64, start_realtime_ns),
	FIELD(RUN_U64, start_ns),
	FIELD(RUN_U64, wall_ns),
	FIELD(RUN_INT, exit_status),
	FIELD(RUN_U32, cpus),
	FIELD(RUN_U32, rung),
	FIELD(RUN_TEXT, rung_reason),
	FIELD(RUN_TEXT, rung_remedy),
	FIELD(RUN_BOOL, kernel_stacks),
	FIELD(RUN_BOOL, off_cpu_exact),
	FIELD(RUN_U32, frequency_hz),
	FIELD(RUN_U64, samples),
	FIELD(RUN_U64, lost),
	FIELD(RUN_U64, truncated),
	FIELD(RUN_U64, joined),
	FIELD(RUN_U64, guessed),
	FIELD(RUN_U64, target_cpu_ns),
	FIELD(RUN_U64, collector_cpu_ns),
	FIELD(RUN_U64, handlers_ns),
	FIELD(RUN_U64, hooks_ops_ns),
	FIELD(RUN_U64, hooks_memory_ns),
	HOOKS("hooks_other_ns", 0),
#define PROVIDER(id, number, name, ...)               HOOKS("hooks_" #name "_ns", OP_##id),
#define PROVIDER_WITHIN(id, number, name, owner, ...) // its are the owner's
#include "base/providers.def"
	FIELD(RUN_U64, hooks_cupti_ns),
	FIELD(RUN_U64, hooks_waits_ns),
	FIELD(RUN_U64, hooks_waits_most_ns),
	FIELD(RUN_U64, setup_ns),
	FIELD(RUN_U64, kernel_ns),
	FIELD(RUN_U64, peak_rss_bytes),
	FIELD(RUN_U64, read_bytes),
	FIELD(RUN_U64, read_calls),
	FIELD(RUN_U64, write_bytes),
	FIELD(RUN_U64, write_calls),
	FIELD(RUN_U64, page_faults),
	FIELD(RUN_U32, unseen_processes),
	FIELD(RUN_TEXT, unseen_name),
	FIELD(RUN_U32, background_processes),
	FIELD(RUN_TEXT, background_name),
	FIELD(RUN_U32, agentless_processes),
	FIELD(RUN_U32, machine_cpus),
	FIELD(RUN_U64, machine_busy_ns),
	FIELD(RUN_U64, machine_steal_ns),
	FIELD(RUN_U32, quota_millicpus),
	FIELD(RUN_TEXT, quota_group),
	FIELD(RUN_TEXT, quota_groups),
	FIELD(RUN_TEXT, contention),
	FIELD(RUN_U64, bound_ns),
	FIELD(RUN_U32, bound_threads),
	FIELD(RUN_U32, bound_cpus),
	FIELD(RUN_TEXT, memory_group),
	FIELD(RUN_U64, memory_limit_bytes),
	FIELD(RUN_U64, memory_held_bytes),
	FIELD(RUN_U64, memory_limit_hits),
	FIELD(RUN_U64, memory_kills),
	FIELD(RUN_BOOL, memory_knows_stalls),
	FIELD(RUN_U64, recorded_from_ns),
	FIELD(RUN_U64, recorded_to_ns),
	FIELD(RUN_U64, recorded_ns),
	FIELD(RUN_TEXT, recorded_range),
	FIELD(RUN_TEXT, recorded_nothing),
	FIELD(RUN_TEXT, recorded_remedy),
	FIELD(RUN_U64, recorded_gates),
	FIELD(RUN_TEXT, recorded_schedule),
	FIELD(RUN_TEXT, recorded_steps),
	FIELD(RUN_TEXT, recorded_cycles),
	FIELD(RUN_TEXT, cpu_clock),
	FIELD(RUN_TEXT, memory_curves),
	FIELD(RUN_TEXT, environment),
	FIELD(RUN_TEXT, notes),
	FIELD(RUN_U32, attached_pid),
	FIELD(RUN_TEXT, attached_pids),
	FIELD(RUN_BOOL, complete),
};

const size_t run_field_count = sizeof(run_fields) / sizeof(run_fields[0]);

int64_t run_get(const struct run *run, const struct run_field *field)
{
	const void *at = run_at(run, field);

	switch (field->type) {
	case RUN_U64:
		return (int64_t) * (const uint64_t *)at;
	case RUN_U32:
		return *(const uint32_t *)at;
	case RUN_INT:
		return *(const int *)at;
	case RUN_BOOL:
		return *(const bool *)at;
	case RUN_TEXT:
		break;
	}
	return 0;
}

bool run_set(struct run *run, const struct run_field *field, int64_t value)
{
	void *at = run_at(run, field);

	switch (field->type) {
	case RUN_U64:
		*(uint64_t *)at = (uint64_t)value;
		return true;
	case RUN_U32:
		*(uint32_t *)at = (uint32_t)value;
		return value >= 0 && value <= UINT32_MAX;
	case RUN_INT:
		*(int *)at = (int)value;
		return value >= INT_MIN && value <= INT_MAX;
	case RUN_BOOL:
		*(bool *)at = value == 1;
		return value == 0 || value == 1;
	case RUN_TEXT:
		break;
	}
	return false;
}
