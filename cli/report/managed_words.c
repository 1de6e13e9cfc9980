// SPDX-License-Identifier: MIT
#include "cli/report/managed_words.h"

#include "base/path.h"

#include <stdio.h>

static const char *kind_name(enum gpu_managed_kind kind)
{
	static const char *const names[GPU_MANAGED_KINDS] = {
		"something that CUPTI does not name",
		[GPU_MANAGED_TO_DEVICE] = "host to device",
		[GPU_MANAGED_TO_HOST] = "device to host",
		[GPU_MANAGED_HOST_FAULT] = "page faults of the host",
		[GPU_MANAGED_DEVICE_FAULT] = "page faults of the GPU",
		[GPU_MANAGED_THRASHING] = "thrashing: host and GPU want the same pages",
		[GPU_MANAGED_THROTTLING] = "kept waiting, as pages thrash: the GPU",
		[GPU_MANAGED_REMOTE_MAP] = "pages used from afar",
		[GPU_MANAGED_BETWEEN] = "device to device",
	};

	return names[kind];
}

static const char *move_cause(uint32_t cause)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_UNKNOWN] = "",
		[GPU_MANAGED_ASKED] = ", asked for by the program",
		[GPU_MANAGED_ACCESS] = ", for a page fault",
		[GPU_MANAGED_AHEAD] = ", by the driver's foresight",
		[GPU_MANAGED_EVICTED] = ", as the GPU had no room",
		[GPU_MANAGED_OFTEN] = ", as they were used often",
	};

	return names[cause];
}

static const char *access_name(uint32_t access)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		"",
		[GPU_MANAGED_READ] = ", reading",
		[GPU_MANAGED_WRITE] = ", writing",
		[GPU_MANAGED_ATOMIC] = ", by atomic instructions",
		[GPU_MANAGED_PREFETCH] = ", by instructions that prefetch",
		"",
	};

	return names[access];
}

static const char *map_cause(uint32_t cause)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		"",
		[GPU_MANAGED_MAP_COHERENT] = ", to keep them alike",
		[GPU_MANAGED_MAP_THRASHING] = ", as they thrashed",
		[GPU_MANAGED_MAP_ADVISED] = ", as the program or the driver's rules want it",
		[GPU_MANAGED_MAP_NO_ROOM] = ", as there was no room",
		[GPU_MANAGED_MAP_EVICTED] = ", as they had to leave",
	};

	return names[cause];
}

static const char *cause_name(const struct gpu_managed_row *row)
{
	switch (row->kind) {
	case GPU_MANAGED_HOST_FAULT:
	case GPU_MANAGED_DEVICE_FAULT:
		return access_name(row->cause);
	case GPU_MANAGED_REMOTE_MAP:
		return map_cause(row->cause);
	default:
		return move_cause(row->cause);
	}
}

void managed_words(const struct gpu_managed_row *row, bool devices, char *buffer, size_t size)
{
	bool host_waits = row->kind == GPU_MANAGED_THROTTLING && !row->has_device;
	const char *kind =
		host_waits ? "kept waiting, as pages thrash: the host" : kind_name(row->kind);
	char device[24] = "", process[112] = "";

	if (devices && row->has_device)
		snprintf(device, sizeof(device), ", GPU %u", row->device);
	if (*row->process)
		snprintf(process, sizeof(process), ", %.100s", row->process);
	snprintf(buffer, size, "%s%s%s%s", kind, cause_name(row), device, process);
}

bool managed_has_devices(const struct gpu_managed_rows *rows)
{
	const struct gpu_managed_row *first = NULL;

	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_managed_row *row = &rows->rows[i];
		if (!row->has_device)
			continue;
		if (first && first->device != row->device)
			return true;
		first = first ? first : row;
	}
	return false;
}

void managed_code(const struct gpu_fault_row *row, char *buffer, size_t size)
{
	char module[128] = "[unknown]";
	const char *function = row->function ? row->function : module;

	if (*row->module)
		snprintf(module, sizeof(module), "[%.120s]", path_base(row->module));
	if (row->caller)
		snprintf(buffer, size, "%s < %s", function, row->caller);
	else
		snprintf(buffer, size, "%s", function);
}

const char *managed_access(const struct gpu_fault_row *row)
{
	if (row->reads && row->writes)
		return "both";
	return row->reads ? "reading" : row->writes ? "writing" : "";
}
