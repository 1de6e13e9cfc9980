// SPDX-License-Identifier: MIT
#include "symbolize/elf/debuginfod.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"

#include <dlfcn.h>
#include <errno.h>

#define FILE_NS  (30 * NS_PER_SEC)
#define TOTAL_NS (90 * NS_PER_SEC)

// As in elfutils/debuginfod.h, which need not be there to build us.
struct client;
typedef int (*progress_function)(struct client *client, long done, long size);

struct debuginfod {
	void *library;
	struct client *client;
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	int (*find_debuginfo)(struct client *client, const unsigned char *id, int size,
	                      char **path);
	void (*set_progress)(struct client *client, progress_function function);
	void (*set_user_data)(struct client *client, void *data);
	void (*progress)(void *context, const char *what);
	void *context;
	const char *module;
	uint64_t file_end_ns, spent_ns;
};

static bool load(struct debuginfod *d)
{
	const struct {
		const char *name;
		void **function;
	} functions[] = {
		{ "debuginfod_begin", (void **)&d->begin },
		{ "debuginfod_end", (void **)&d->end },
		{ "debuginfod_find_debuginfo", (void **)&d->find_debuginfo },
		{ "debuginfod_set_progressfn", (void **)&d->set_progress },
		{ "debuginfod_set_user_data", (void **)&d->set_user_data },
	};

	d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; d->library && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!(*functions[i].function = dlsym(d->library, functions[i].name)))
			return false;
	return d->library != NULL;
}

// The library calls back with its client alone, and how to get at our data is in the library.
static struct debuginfod *data_of(struct client *client)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *(*get_user_data)(struct client *) = NULL;

	if (!library)
		return NULL;
	*(void **)&get_user_data = dlsym(library, "debuginfod_get_user_data");
	struct debuginfod *d = get_user_data ? get_user_data(client) : NULL;
	dlclose(library);
	return d;
}

// Called now and then while the library waits. Anything but 0 makes it give up.
static int on_progress(struct client *client, long done, long size)
{
	const struct debuginfod *d = data_of(client);
	char what[256];

	if (!d || clock_now_ns() > d->file_end_ns || stop_is_wanted())
		return 1;
	if (!d->progress)
		return 0;
	if (size > 0)
		snprintf(what, sizeof(what), "%s: fetching debug information, %ld of %ld MB",
		         d->module, done >> 20, size >> 20);
	else
		snprintf(what, sizeof(what), "%s: asking the debuginfod servers", d->module);
	d->progress(d->context, what);
	return 0;
}

struct debuginfod *debuginfod_new(void (*progress)(void *context, const char *what), void *context,
                                  struct error *err)
{
	cleanup(debuginfod) struct debuginfod *d = calloc(1, sizeof(*d));
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!d) {
		error_set(err, ENOMEM, "could not ask the debuginfod servers");
		return NULL;
	}
	d->progress = progress;
	d->context = context;
	if (!urls || !*urls) {
		error_set(err, 0, "cannot ask the debuginfod servers: none is named");
		error_hint(err, "Set DEBUGINFOD_URLS, e.g. to https://debuginfod.debian.net.");
		return NULL;
	}
	if (!load(d) || !(d->client = d->begin())) {
		error_set(err, 0, "cannot ask the debuginfod servers: no libdebuginfod.so.1");
		error_hint(err, "Install libdebuginfod1 (Debian) or elfutils-debuginfod-client.");
		return NULL;
	}
	d->set_user_data(d->client, d);
	d->set_progress(d->client, on_progress);
	return steal(d);
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	// The library stays loaded: it holds threads and state of libcurl.
	free(d);
}

int debuginfod_fetch(struct debuginfod *d, struct bytes build_id, const char *module,
                     struct error *err)
{
	if (d->spent_ns >= TOTAL_NS)
		return error_set(err, ETIMEDOUT, "the debuginfod servers are too slow");

	uint64_t left_ns = TOTAL_NS - d->spent_ns, start_ns = clock_now_ns();
	char *path = NULL;
	d->module = module;
	d->file_end_ns = start_ns + (left_ns < FILE_NS ? left_ns : FILE_NS);
	int fd = d->find_debuginfo(d->client, build_id.data, (int)build_id.size, &path);
	uint64_t end_ns = clock_now_ns();
	d->spent_ns += end_ns - start_ns;
	free(path);
	if (fd >= 0)
		return fd;
	if (end_ns > d->file_end_ns)
		return error_set(err, ETIMEDOUT, "the debuginfod servers took too long");
	return error_set(err, -fd, "the debuginfod servers do not have it");
}
