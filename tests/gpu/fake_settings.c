// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_settings.h"

#include "base/cleanup.h"
#include "tests/gpu/saved_buffers.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

static struct fake_settings settings;
static struct fake_faults faults;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double number(const char *name, double otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtod(value, NULL) : otherwise;
}

// 0 (no record is written) if the file is none: its replay will say so.
static uint32_t replayed_release(const char *path)
{
	cleanup_saved_buffers struct saved_buffers *saved = saved_buffers_read(path, NULL);

	return saved ? saved_buffers_cuda(saved) : 0;
}

static uint32_t cuda_release(void)
{
	const char *value = getenv("FAKE_CUPTI_VERSION");
	char *end;

	if (getenv("FAKE_CUPTI_REPLAY"))
		return replayed_release(getenv("FAKE_CUPTI_REPLAY"));
	if (!value || !*value)
		return 1300;
	unsigned long major = strtoul(value, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return (uint32_t)(major * 100 + minor);
}

static void one_fault(const char *name, const char *value)
{
	uint32_t n = value ? (uint32_t)strtoul(value, NULL, 10) : 0;

	if (!strcmp(name, "busy"))
		snprintf(faults.busy, sizeof(faults.busy), "%s", value ? value : "another tool");
	else if (!strcmp(name, "deny"))
		faults.denied_kinds |= UINT64_C(1) << (n & 63);
	else if (!strcmp(name, "refuse"))
		faults.refuse = n;
	else if (!strcmp(name, "result"))
		faults.result = n;
	else if (!strcmp(name, "no-clock"))
		faults.no_clock = n;
	else if (!strcmp(name, "drop"))
		faults.drop = n;
	else if (!strcmp(name, "short"))
		faults.short_bytes = n;
	else if (!strcmp(name, "unknown-kind"))
		faults.unknown_kind = n;
	else if (!strcmp(name, "bad-kind"))
		faults.bad_kind = n;
	else if (!strcmp(name, "slow-flush"))
		faults.slow_flush_ms = n;
	else if (!strcmp(name, "pc"))
		faults.pc_refused = n;
	else if (!strcmp(name, "managed"))
		faults.managed = n;
	else if (!strcmp(name, "pc-full"))
		faults.pc_full = n;
	else if (!strcmp(name, "misaligned"))
		faults.misaligned = true;
	else if (!strcmp(name, "disorder"))
		faults.disorder = true;
	else if (!strcmp(name, "zero-times"))
		faults.zero_times = true;
	else if (!strcmp(name, "null-buffer"))
		faults.null_buffer = true;
	else if (!strcmp(name, "garbage"))
		faults.garbage = true;
	else
		fake_violation("FAKE_CUPTI_FAULTS: there is no fault \"%s\"", name);
}

static void read_faults(void)
{
	const char *list = getenv("FAKE_CUPTI_FAULTS");
	cleanup_free char *copy = strdup(list ? list : "");
	char *rest = copy;

	for (char *name; (name = strsep(&rest, ","));) {
		char *value = name;
		strsep(&value, "=");
		if (*name)
			one_fault(name, value);
	}
}

static void read_settings(void)
{
	double gbps = number("FAKE_GBPS", 25);

	settings = (struct fake_settings){
		.devices = (uint32_t)number("FAKE_DEVICES", 1),
		.memory_bytes = (uint64_t)number("FAKE_MEMORY_MB", 81920) << 20,
		.kernel_ns = (uint64_t)(number("FAKE_KERNEL_US", 50) * 1000),
		.launch_ns = (uint64_t)(number("FAKE_LAUNCH_US", 0) * 1000),
		.pinned_bytes_per_ns = gbps,
		.pageable_bytes_per_ns = gbps / 2,
		.cuda = cuda_release(),
		.log = getenv("FAKE_CUPTI_LOG"),
		.facts = getenv("FAKE_CUPTI_FACTS"),
		.replay = getenv("FAKE_CUPTI_REPLAY"),
	};
	read_faults();
}

const struct fake_settings *fake_settings(void)
{
	pthread_once(&once, read_settings);
	return &settings;
}

const struct fake_faults *fake_faults(void)
{
	pthread_once(&once, read_settings);
	return &faults;
}

uint64_t fake_settings_kernel_ns(const char *name)
{
	char variable[512];

	if (snprintf(variable, sizeof(variable), "FAKE_KERNEL_US_%s", name) >=
	    (int)sizeof(variable))
		return fake_settings()->kernel_ns;
	return (uint64_t)(number(variable, (double)fake_settings()->kernel_ns / 1000) * 1000);
}

uint32_t fake_settings_api_version(uint32_t cuda)
{
	// The list in cupti_version.h.
	static const struct {
		uint32_t cuda, version;
	} versions[] = {
		{ 1208, 26 }, { 1206, 24 }, { 1205, 23 }, { 1204, 22 }, { 1203, 21 },
		{ 1202, 20 }, { 1200, 19 }, { 1108, 18 }, { 1106, 17 }, { 1105, 16 },
		{ 1102, 15 }, { 1101, 14 }, { 0, 13 },
	};
	size_t i = 0;

	if (cuda >= 1300)
		return cuda * 100 + 1;
	if (cuda >= 1209)
		return 28;
	while (versions[i].cuda > cuda)
		i++;
	return versions[i].version;
}

void fake_violation(const char *format, ...)
{
	// Not by the settings: they are being read when a fault has an unknown name.
	const char *path = getenv("FAKE_CUPTI_LOG");
	cleanup_close int fd =
		path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	int size = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	if (size > (int)sizeof(line) - 2)
		size = (int)sizeof(line) - 2;
	line[size] = '\n';
	if (write(fd >= 0 ? fd : STDERR_FILENO, line, (size_t)size + 1) < 0)
		abort(); // a broken rule that nobody sees
}
