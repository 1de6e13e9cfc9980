// SPDX-License-Identifier: MIT
#include "cli/export/work_name.h"

#include "base/record_gpu.h"

#include <stdio.h>

static const char *memory_name(uint32_t kind)
{
	static const char *const names[] = {
		[GPU_MEMORY_UNKNOWN] = "Unknown",
		[GPU_MEMORY_PAGEABLE] = "Pageable",
		[GPU_MEMORY_PINNED] = "Pinned",
		[GPU_MEMORY_DEVICE] = "Device",
		[GPU_MEMORY_ARRAY] = "Array",
		[GPU_MEMORY_MANAGED] = "Managed",
		[GPU_MEMORY_DEVICE_STATIC] = "Device Static",
		[GPU_MEMORY_MANAGED_STATIC] = "Managed Static",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

static const char *copy_name(uint32_t kind)
{
	static const char *const names[] = {
		[0] = "Unknown",
		[GPU_COPY_HOST_TO_DEVICE] = "HtoD",
		[GPU_COPY_DEVICE_TO_HOST] = "DtoH",
		[GPU_COPY_HOST_TO_ARRAY] = "HtoA",
		[GPU_COPY_ARRAY_TO_HOST] = "AtoH",
		[GPU_COPY_ARRAY_TO_ARRAY] = "AtoA",
		[GPU_COPY_ARRAY_TO_DEVICE] = "AtoD",
		[GPU_COPY_DEVICE_TO_ARRAY] = "DtoA",
		[GPU_COPY_DEVICE_TO_DEVICE] = "DtoD",
		[GPU_COPY_HOST_TO_HOST] = "HtoH",
		[GPU_COPY_PEER] = "PtoP",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

struct work_name work_name(const struct gpu_work_key *key)
{
	struct work_name name = { "" };

	if (key->kind == GPU_WORK_COPY)
		snprintf(name.text, sizeof(name.text), "Memcpy %s (%s -> %s)",
		         copy_name(key->copy & 0xff), memory_name(key->copy >> 8 & 0xff),
		         memory_name(key->copy >> 16 & 0xff));
	else if (key->kind == GPU_WORK_SET)
		snprintf(name.text, sizeof(name.text), "Memset (Device)");
	return name;
}
