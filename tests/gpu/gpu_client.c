// SPDX-License-Identifier: MIT
/*
 * The smallest honest client of CUPTI: injected by CUDA_INJECTION64_PATH, it counts what it is
 * told, and appends that to the file CLIENT_OUT when the process ends. With the fake GPU it tests
 * the fake; on a real one it shows what there is to see, and CLIENT_SAVE names a file that gets
 * the buffers (see saved_buffers.h).
 *
 *	kernel NAME COUNT US           summed up
 *	copy FROM TO COUNT BYTES       pageable, pinned, device, managed; "peer": between devices
 *	set COUNT BYTES
 *	sync WHAT COUNT                event, wait (of a stream), stream, context
 *	graph COUNT US                 launches of graphs
 *	allocated KIND COUNT BYTES
 *	released KIND COUNT BYTES
 *	jit COUNT                      compilations by the driver
 *	modules COUNT                  that were loaded
 *	calls COUNT                    launches, as the callbacks told
 *	records COUNT
 *	kind:KIND COUNT                other records
 *	and, if there were any: refused FUNCTION=RESULT COUNT, other NAME COUNT, dropped
 *	COUNT, untimed COUNT, disorder COUNT (of kernels in a stream), unknown:KIND COUNT, bad
 *	COUNT (walks that ended in the middle), garbage COUNT (valid sizes beyond the buffer),
 *	missing FUNCTION COUNT
 *
 * CLIENT_KINDS is the list of record kinds to enable, CLIENT_NULL=N refuses every Nth buffer.
 * CLIENT_NESTING also counts launches that were told of in CUPTI's order ("nested", "misnested"),
 * and the kernels that callbacks name ("symbol NAME"). CLIENT_BREAK names a rule to break on
 * purpose, so that a test sees the fake notice.
 */
#include "tests/gpu/gpu_client.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (1 << 20)

struct cupti {
	int (*GetVersion)(uint32_t *);
	int (*Subscribe)(void **, cupti_callback *, void *);
	int (*Subscribe_v2)(void **, cupti_callback *, void *, struct cupti_subscriber *);
	int (*EnableCallback)(uint32_t, void *, uint32_t, uint32_t);
	int (*GetCallbackName)(uint32_t, uint32_t, const char **);
	int (*SetThreadIdType)(int);
	int (*ActivityRegisterTimestampCallback)(cupti_clock *);
	int (*ActivityRegisterCallbacks)(cupti_request *, cupti_complete *);
	int (*ActivityEnable)(uint32_t);
	int (*ActivitySetAttribute)(int, size_t *, void *);
	int (*ActivityFlushPeriod)(uint32_t);
	int (*ActivityFlushAll)(uint32_t);
	int (*ActivityGetNumDroppedRecords)(void *, uint32_t, size_t *);
	saved_next *ActivityGetNextRecord;
};

static struct cupti cupti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct saved_writer *writer;
static atomic_size_t calls, requests;
static uint8_t *_Atomic last; // buffer that CUPTI was given

static bool breaks(const char *rule)
{
	const char *broken = getenv("CLIENT_BREAK");

	return broken && !strcmp(broken, rule);
}

static void request(uint8_t **buffer, size_t *size, size_t *records_max)
{
	const char *refused = getenv("CLIENT_NULL");
	size_t every = refused ? strtoul(refused, NULL, 10) : 0;

	*buffer = NULL;
	*size = *records_max = 0;
	if (every && ++requests % every == 0)
		return;
	if (breaks("twice") && last) {
		*buffer = last;
	} else {
		*buffer = aligned_alloc(CUPTI_BUFFER_ALIGNMENT, BUFFER_BYTES);
		if (*buffer)
			memset(*buffer, 0, BUFFER_BYTES);
		last = *buffer;
	}
	*size = BUFFER_BYTES;
	if (breaks("zeros"))
		(*buffer)[100] = 1;
	if (breaks("alignment"))
		*buffer += 4, *size -= 8;
	if (breaks("reentry"))
		cupti.ActivityFlushPeriod(0);
}

static void walk(uint8_t *buffer, size_t valid)
{
	uint32_t *record = NULL;
	int result;

	while (!(result = cupti.ActivityGetNextRecord(buffer, valid, &record)))
		gpu_client_record(record);
	if (result != CUPTI_END_OF_BUFFER)
		gpu_client_count("bad", NULL, 0);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	if (!buffer)
		return;
	pthread_mutex_lock(&lock);
	if (valid > size) {
		gpu_client_count("garbage", NULL, 0);
		valid = size;
	}
	walk(buffer, valid);
	if (writer && !saved_writer_add(writer, buffer, valid, cupti.ActivityGetNextRecord))
		gpu_client_count("unsaved", NULL, 0);
	pthread_mutex_unlock(&lock);
	if (!getenv("CLIENT_BREAK"))
		free(buffer); // otherwise it may not be what was allocated, or be used still
}

// The runtime's call, in it the driver's, both of one correlation id; what is left where a call was
// entered is there where it ends.
static void check_order(uint32_t domain, const struct cupti_call *call)
{
	static __thread uint32_t step, correlation;
	static const struct {
		uint32_t domain, site;
	} order[] = {
		{ CUPTI_DOMAIN_RUNTIME, CUPTI_ENTER },
		{ CUPTI_DOMAIN_DRIVER, CUPTI_ENTER },
		{ CUPTI_DOMAIN_DRIVER, CUPTI_EXIT },
		{ CUPTI_DOMAIN_RUNTIME, CUPTI_EXIT },
	};
	bool is_right = domain == order[step].domain && call->site == order[step].site;

	if (!step)
		correlation = call->correlation;
	if (call->site == CUPTI_ENTER)
		*call->own = domain;
	pthread_mutex_lock(&lock);
	if (!is_right || call->correlation != correlation || *call->own != domain)
		gpu_client_count("misnested", NULL, 0);
	if (!step && call->symbol)
		gpu_client_count("symbol", call->symbol, 0);
	step = (step + 1) % 4;
	if (!step)
		gpu_client_count("nested", NULL, 0);
	pthread_mutex_unlock(&lock);
}

static void module_event(uint32_t id, const struct cupti_resource_event *event)
{
	const struct cupti_module *module = event->descriptor;

	if (id != CUPTI_MODULE_LOADED || !module->cubin || !module->bytes)
		return;
	pthread_mutex_lock(&lock);
	gpu_client_count("modules", NULL, 0);
	pthread_mutex_unlock(&lock);
}

static void called(void *own, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_call *call = data;

	(void)own;
	if (domain == CUPTI_DOMAIN_RESOURCE) {
		module_event(id, data);
		return;
	}
	if (domain == CUPTI_DOMAIN_RUNTIME && call->site == CUPTI_ENTER)
		calls++;
	if (getenv("CLIENT_NESTING"))
		check_order(domain, call);
	if (breaks("touch") && last)
		last[100] = 0xee;
}

static bool check(const char *function, int result)
{
	if (!result)
		return true;
	gpu_client_refused(function, result);
	return false;
}

#define CALL(function, ...) check(#function, cupti.function(__VA_ARGS__))

#define FIND(function)      find((void **)&cupti.function, "cupti" #function)
static void *library;

static bool find(void **function, const char *name)
{
	*function = dlsym(library, name);
	if (!*function)
		gpu_client_count("missing", name, 0);
	return *function;
}

static bool load(void)
{
	library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		library = dlopen("libcupti.so.13", RTLD_NOW);
	if (!library)
		return false;
	// What is new is done without; without the rest there is nothing to be seen.
	FIND(Subscribe_v2);
	FIND(SetThreadIdType);
	FIND(ActivityFlushPeriod);
	FIND(ActivityRegisterTimestampCallback);
	return FIND(GetVersion) && FIND(Subscribe) && FIND(EnableCallback) &&
	       FIND(GetCallbackName) && FIND(ActivityRegisterCallbacks) && FIND(ActivityEnable) &&
	       FIND(ActivitySetAttribute) && FIND(ActivityFlushAll) &&
	       FIND(ActivityGetNumDroppedRecords) && FIND(ActivityGetNextRecord);
}

static bool subscribe(void **handle)
{
	char other[CUPTI_OTHER_NAME_MIN] = "";
	struct cupti_subscriber who = { sizeof(who), "gpu_client", other, sizeof(other) };

	if (!cupti.Subscribe_v2)
		return CALL(Subscribe, handle, called, NULL);
	if (CALL(Subscribe_v2, handle, called, NULL, &who))
		return true;
	if (*other)
		gpu_client_count("other", other, 0);
	return false;
}

static void enable_calls(void *handle, uint32_t domain, const char *kernel, const char *graph)
{
	const char *name;

	for (uint32_t id = 1; !cupti.GetCallbackName(domain, id, &name); id++)
		if (!strncmp(name, kernel, strlen(kernel)) || !strncmp(name, graph, strlen(graph)))
			CALL(EnableCallback, 1, handle, domain, id);
}

static void enable_kinds(void)
{
	const char *kinds = getenv("CLIENT_KINDS");

	for (char *end; kinds && *kinds; kinds = *end ? end + 1 : end) {
		unsigned long kind = strtoul(kinds, &end, 10);
		if (end == kinds)
			break;
		CALL(ActivityEnable, (uint32_t)kind);
	}
}

static void finish(void)
{
	size_t dropped = 0;

	CALL(ActivityFlushAll, CUPTI_FLUSH_FORCED);
	CALL(ActivityGetNumDroppedRecords, NULL, 0, &dropped);
	pthread_mutex_lock(&lock);
	gpu_client_print(getenv("CLIENT_OUT"), calls, dropped);
	saved_writer_close(writer);
	writer = NULL;
	pthread_mutex_unlock(&lock);
}

static void finish_without(void)
{
	gpu_client_print(getenv("CLIENT_OUT"), 0, 0);
}

static void open_writer(void)
{
	const char *path = getenv("CLIENT_SAVE"), *cuda = getenv("FAKE_CUPTI_VERSION");
	unsigned int major = 13, minor = 0;

	if (cuda)
		sscanf(cuda, "%u.%u", &major, &minor); // NOLINT(cert-err34-c)
	if (path)
		writer = saved_writer_open(path, major * 100 + minor, NULL);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);
	void *handle;

	atexit(finish_without);
	if (!load() || !subscribe(&handle))
		return 1;
	open_writer();
	if (cupti.SetThreadIdType)
		CALL(SetThreadIdType, CUPTI_THREAD_ID_SYSTEM);
	CALL(ActivitySetAttribute, CUPTI_ZEROED_OUT_BUFFER, &size, &zeroed);
	if (cupti.ActivityRegisterTimestampCallback && !breaks("order"))
		CALL(ActivityRegisterTimestampCallback, clock_now_ns);
	if (!CALL(ActivityRegisterCallbacks, request, complete))
		return 1;
	enable_calls(handle, CUPTI_DOMAIN_RUNTIME, "cudaLaunchKernel", "cudaGraphLaunch");
	CALL(EnableCallback, 1, handle, CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_LOADED);
	if (getenv("CLIENT_NESTING"))
		enable_calls(handle, CUPTI_DOMAIN_DRIVER, "cuLaunchKernel", "cuGraphLaunch");
	enable_kinds();
	if (cupti.ActivityFlushPeriod)
		CALL(ActivityFlushPeriod, 50);
	atexit(finish);
	return 1;
}
