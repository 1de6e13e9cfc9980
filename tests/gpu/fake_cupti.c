// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_cupti.h"

#include "base/clock.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_device.h"
#include "tests/gpu/fake_functions.h"
#include "tests/gpu/fake_managed.h"
#include "tests/gpu/fake_pc.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_subscriber.h"
#include "tests/gpu/record_kinds.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define KINDS 64

// Built as a libcupti that has no timestamp callback: see fake_older.map.
#ifndef FAKE_OLDER
#define FAKE_OLDER 0
#endif

static struct {
	_Atomic uint8_t kinds[KINDS];
	_Atomic uint8_t runtime[FAKE_RUNTIME_IDS], driver[FAKE_DRIVER_IDS];
	atomic_bool has_clock;
	atomic_bool by_gettid;
} wanted;

static _Atomic pid_t first_caller; // the process that began

int fake_cupti_check(const char *function)
{
	if (!first_caller)
		first_caller = getpid();
	if (first_caller != getpid())
		fake_violation("%s: called in a forked child", function);
	if (fake_in_callback)
		fake_violation("%s: called from a callback", function);
	return (int)fake_faults()->result;
}

// Before a call is made clients enable records: NVIDIA's own sample of an injection does so.
static int check_enabling(const char *function)
{
	bool outer = fake_in_callback;

	fake_in_callback = outer && !fake_in_call;
	int refused = fake_cupti_check(function);
	fake_in_callback = outer;
	return refused;
}

bool fake_cupti_wants(uint32_t kind)
{
	return wanted.kinds[kind % KINDS];
}

bool fake_cupti_wants_call(uint32_t domain, uint32_t id)
{
	if (domain == CUPTI_DOMAIN_RUNTIME)
		return wanted.kinds[CUPTI_KIND_RUNTIME] || wanted.runtime[id];
	return wanted.kinds[CUPTI_KIND_DRIVER] || wanted.driver[id];
}

int cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_INVALID_PARAMETER;
	*version = fake_faults()->garbage ? UINT32_MAX
	                                  : fake_settings_api_version(fake_settings()->cuda);
	// As 13.5 does without a driver.
	if (fake_faults()->result == CUPTI_UNKNOWN)
		*version = 0;
	return fake_faults()->result == CUPTI_UNKNOWN ? CUPTI_UNKNOWN : 0;
}

int cuptiGetResultString(int result, const char **text)
{
	static const struct {
		int result;
		const char *text;
	} texts[] = {
		{ 0, "CUPTI_SUCCESS" },
		{ 1, "CUPTI_ERROR_INVALID_PARAMETER" },
		{ 7, "CUPTI_ERROR_INVALID_OPERATION" },
		{ 12, "CUPTI_ERROR_MAX_LIMIT_REACHED" },
		{ 14, "CUPTI_ERROR_NOT_COMPATIBLE" },
		{ 21, "CUPTI_ERROR_INVALID_KIND" },
		{ 27, "CUPTI_ERROR_NOT_SUPPORTED" },
		{ 29, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE" },
		{ 33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" },
		{ 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
		{ 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
		{ 40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" },
		{ 41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" },
		{ 42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" },
		{ 43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" },
		{ 44, "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED" },
		{ 45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" },
		{ 999, "CUPTI_ERROR_UNKNOWN" },
	};

	for (size_t i = 0; text && i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].result == result) {
			*text = texts[i].text;
			return 0;
		}
	return CUPTI_INVALID_PARAMETER;
}

int cuptiGetTimestamp(uint64_t *ns)
{
	if (!ns)
		return CUPTI_INVALID_PARAMETER;
	*ns = fake_clock_told(clock_now_ns());
	return 0;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
	if (!device || !fake_device_of_context(context, device))
		return CUPTI_INVALID_PARAMETER;
	return 0;
}

int cuptiGetContextId(void *context, uint32_t *id)
{
	uint32_t device;

	if (!id || !fake_device_of_context(context, &device))
		return CUPTI_INVALID_PARAMETER;
	*id = fake_device_context_id(device);
	return 0;
}

int cuptiSetThreadIdType(int type)
{
	int refused = fake_cupti_check(__func__);

	wanted.by_gettid = type == CUPTI_THREAD_ID_SYSTEM;
	return refused;
}

bool fake_cupti_by_gettid(void)
{
	return wanted.by_gettid;
}

int cuptiFinalize(void)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	memset(&wanted, 0, sizeof(wanted));
	fake_subscriber_forget();
	fake_buffers_finalize();
	fake_pc_forget();
	return 0;
}

int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!request || !complete)
		return CUPTI_INVALID_PARAMETER;
	fake_buffers_register(request, complete);
	return 0;
}

int cuptiActivityRegisterTimestampCallback(cupti_clock *clock)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (wanted.kinds[kind])
			fake_violation("%s: records of kind %u are enabled already", __func__,
			               kind);
	wanted.has_clock = true;
	if (fake_faults()->no_clock)
		return (int)fake_faults()->no_clock;
	if (!clock)
		return CUPTI_INVALID_PARAMETER;
	fake_clock_set(clock);
	return 0;
}

static int check_enable(const char *function, uint32_t kind)
{
	if (fake_faults()->denied_kinds >> (kind & 63) & 1)
		return CUPTI_NO_PRIVILEGES;
	if (fake_faults()->refuse)
		return (int)fake_faults()->refuse;
	if (kind >= KINDS || !record_bytes(kind, fake_settings()->cuda))
		return CUPTI_INVALID_KIND;
	if (!wanted.has_clock && !FAKE_OLDER)
		fake_violation("%s: kind %u before the timestamp callback", function, kind);
	if (!fake_buffers_are_registered())
		fake_violation("%s: kind %u before the buffers' callbacks", function, kind);
	if (kind == CUPTI_KIND_MANAGED && !fake_managed_is_configured())
		fake_violation("%s: kind %u before its counters were configured", function, kind);
	if (kind == CUPTI_KIND_KERNEL)
		fake_violation("%s: kind %u makes kernels run one after the other", function, kind);
	return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
	int refused = check_enabling(__func__);

	if (!refused)
		refused = check_enable(__func__, kind);
	if (refused)
		return refused;
	wanted.kinds[kind] = 1;
	fake_device_tell_kind(kind);
	return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (kind >= KINDS)
		return CUPTI_INVALID_KIND;
	wanted.kinds[kind] = 0;
	return 0;
}

static int enable_call(const char *function, uint32_t kind, _Atomic uint8_t *ids, uint32_t count,
                       uint32_t id, uint8_t enable)
{
	int refused = fake_cupti_check(function);

	if (!refused && (!id || id >= count))
		return CUPTI_INVALID_PARAMETER;
	if (!refused && enable)
		refused = check_enable(function, kind);
	if (!refused)
		ids[id] = enable;
	return refused;
}

int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable)
{
	return enable_call(__func__, CUPTI_KIND_RUNTIME, wanted.runtime, FAKE_RUNTIME_IDS, id,
	                   enable);
}

int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable)
{
	return enable_call(__func__, CUPTI_KIND_DRIVER, wanted.driver, FAKE_DRIVER_IDS, id, enable);
}

int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!size || !value || attribute < 0 || attribute > 9)
		return CUPTI_INVALID_PARAMETER;
	// cupti_activity.h: 5, 8 and 9 are bytes, the others are sizes.
	bool is_byte = attribute == CUPTI_ZEROED_OUT_BUFFER || attribute >= 8;
	if (*size != (is_byte ? sizeof(uint8_t) : sizeof(size_t))) {
		fake_violation("%s: %zu bytes for attribute %d", __func__, *size, attribute);
		return CUPTI_INVALID_PARAMETER;
	}
	if (attribute == CUPTI_ZEROED_OUT_BUFFER)
		fake_buffers_promise_zeroed(*(uint8_t *)value != 0);
	return 0;
}

int cuptiActivityConfigureUnifiedMemoryCounter(const struct cupti_managed_setting *settings,
                                               uint32_t count)
{
	int refused = check_enabling(__func__);

	if (refused)
		return refused;
	if (wanted.kinds[CUPTI_KIND_MANAGED])
		fake_violation("%s: its records are enabled already", __func__);
	return fake_managed_configure(settings, count);
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
	int refused = fake_cupti_check(__func__);

	if (!refused)
		fake_buffers_flush_every(ms);
	return refused;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!fake_buffers_are_registered())
		return CUPTI_INVALID_OPERATION;
	if (fake_in_callback || !fake_buffers_flush(flag & CUPTI_FLUSH_FORCED))
		return CUPTI_UNKNOWN;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	if (fake_faults()->result)
		return (int)fake_faults()->result;
	if (!count)
		return CUPTI_INVALID_PARAMETER;
	*count = fake_buffers_dropped();
	return 0;
}
