// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_library.h"

#include "base/path.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUPTI_VERSION_MIN 13 // CUDA 11.0

#define NOT_RECORDED      "GPU activity was not recorded: "

// What the file is called, newest first.
static const struct candidate {
	int major; // of CUDA; 0: any
	const char *name;
} candidates[] = {
	{ 13, "libcupti.so.13" },   { 12, "libcupti.so.12" },   { 11, "libcupti.so.11.8" },
	{ 11, "libcupti.so.11.7" }, { 11, "libcupti.so.11.6" }, { 11, "libcupti.so.11.5" },
	{ 11, "libcupti.so.11.4" }, { 11, "libcupti.so.11.3" }, { 11, "libcupti.so.11.2" },
	{ 11, "libcupti.so.11.1" }, { 11, "libcupti.so.11.0" }, { 0, "libcupti.so" },
};

// An object that the process has, by the first letters of its file's name.
struct search {
	const char *beginning;
	char path[PATH_MAX];
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	const char *path = info->dlpi_name ? info->dlpi_name : "";

	(void)size;
	if (strncmp(path_base(path), search->beginning, strlen(search->beginning)) != 0 ||
	    strlen(path) >= sizeof(search->path))
		return 0;
	strcpy(search->path, path);
	return 1;
}

static bool find_loaded(struct search *search)
{
	return loader_each(look, search) != 0;
}

static void *open_loaded(void)
{
	struct search search = { .beginning = "libcupti.so" };

	return find_loaded(&search) ? loader_open(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void *open_named(void)
{
	const char *path = getenv(CUPTI_LIBRARY_ENV);

	return path && *path ? loader_open(path, RTLD_LAZY) : NULL;
}

// In DIRECTORY, which ends with a slash; "": wherever the loader looks. Of MAJOR; 0: of any.
static void *open_in(const char *directory, int major)
{
	char path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		const struct candidate *c = &candidates[i];
		int length = snprintf(path, sizeof(path), "%s%s", directory, c->name);
		if ((!major || !c->major || c->major == major) && (size_t)length < sizeof(path))
			library = loader_open(path, RTLD_LAZY);
	}
	return library;
}

// Toolkits and Python packages have it in one of these, seen from the runtime's directory.
static void *open_beside(const char *runtime, int major)
{
	static const char *const places[] = { "", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
		                              "../../CUPTI/lib64/" };
	const char *slash = strrchr(runtime, '/');
	char directory[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; slash && !library && i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(directory, sizeof(directory), "%.*s%s",
		                      (int)(slash + 1 - runtime), runtime, places[i]);
		if ((size_t)length < sizeof(directory))
			library = open_in(directory, major);
	}
	return library;
}

static void *open_installed(int major)
{
	static const char *const patterns[] = { "/usr/local/cuda/lib64/",
		                                "/usr/local/cuda/extras/CUPTI/lib64/",
		                                "/usr/local/cuda-*/lib64/",
		                                "/usr/local/cuda-*/extras/CUPTI/lib64/" };
	void *library = NULL;
	glob_t found;

	for (size_t i = 0; !library && i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = found.gl_pathc; !library && j > 0; j--)
			library = open_in(found.gl_pathv[j - 1], major);
		globfree(&found);
	}
	return library;
}

// "…/libcudart.so.13" is 13; 0 if it does not say.
static int major_of(const char *runtime)
{
	const char *number = strstr(runtime, ".so.");

	int major = 0;

	if (!number)
		return 0;
	// glibc's atoi() is another function since 2.38, which other C libraries do not have.
	for (number += strlen(".so."); *number >= '0' && *number <= '9' && major < 1000; number++)
		major = major * 10 + (*number - '0');
	return major;
}

// Without a runtime of its own a program gets what the driver can serve.
static int driver_major(void)
{
	void *driver = loader_open("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*get)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
	int version = 0;

	if (get && get(&version) != 0)
		version = 0;
	if (driver)
		dlclose(driver);
	return version / 1000;
}

static void *open_any(void)
{
	struct search runtime = { .beginning = "libcudart.so" };
	bool has_runtime = find_loaded(&runtime);
	int major = has_runtime ? major_of(runtime.path) : driver_major();
	void *library = open_loaded();

	if (!library)
		library = open_named();
	if (!library && has_runtime)
		library = open_beside(runtime.path, major);
	if (!library)
		library = open_in("", major);
	return library ? library : open_installed(major);
}

// The name of what is missing; NULL if nothing is.
static const char *take_functions(struct cupti_functions *f, void *library)
{
#define TAKE(field, name, parameters, needed)                                                      \
	f->field = (int(*) parameters)dlsym(library, #name);                                       \
	if ((needed) && !f->field)                                                                 \
		return #name;
	CUPTI_FUNCTIONS(TAKE)
#undef TAKE
	return NULL;
}

bool cupti_library_open(struct cupti_functions *f, char *why, size_t size)
{
	void *library = open_any();
	uint32_t version = 0;

	if (!library) {
		snprintf(why, size,
		         NOT_RECORDED "there is no libcupti; install the CUDA toolkit's, or "
		                      "name one in " CUPTI_LIBRARY_ENV);
		return false;
	}
	const char *missing = take_functions(f, library);
	if (missing) {
		snprintf(why, size,
		         NOT_RECORDED "libcupti has no %s; name another one in " CUPTI_LIBRARY_ENV,
		         missing);
		return false;
	}
	// From CUDA 13.5 on it does not tell its version without a driver; nor does the rest work
	// then, and says so.
	if (f->get_version(&version) != CUPTI_OK || version >= CUPTI_VERSION_MIN)
		return true;
	snprintf(why, size,
	         NOT_RECORDED "libcupti is older than CUDA 11 (version %u); name another "
	                      "one in " CUPTI_LIBRARY_ENV,
	         version);
	return false;
}

struct bounds_search {
	uintptr_t inside;
	struct cupti_bounds found;
};

static int look_for_bounds(struct dl_phdr_info *info, size_t size, void *context)
{
	struct bounds_search *search = context;

	(void)size;
	if (!loaded_holds(info, search->inside))
		return 0;
	struct loaded_span span = loaded_span(info);
	search->found = (struct cupti_bounds){ span.start, span.end };
	return 1;
}

struct cupti_bounds cupti_library_bounds(const struct cupti_functions *f)
{
	struct bounds_search search = { (uintptr_t)f->enable, { 0, 0 } };

	loader_each(look_for_bounds, &search);
	return search.found;
}

const char *cupti_result_text(const struct cupti_functions *f, int result)
{
	const char *text = NULL;

	if (!f->get_result_string || f->get_result_string(result, &text) != CUPTI_OK || !text)
		return "";
	return text;
}
