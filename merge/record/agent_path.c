// SPDX-License-Identifier: MIT
#include "merge/record/agent_path.h"

#include "base/error.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BOTTLENECK_LIBDIR
#define BOTTLENECK_LIBDIR "lib"
#endif

// From the directory of the program; a relocated tree keeps these.
static const char *const places[] = {
	"../" BOTTLENECK_LIBDIR "/bottleneck", "../lib/bottleneck",
	"../tracer", // the build tree
};

static int own_directory(char *buffer, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", buffer, size - 1);

	if (length <= 0)
		return -1;
	buffer[length] = '\0';
	char *slash = strrchr(buffer, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	return 0;
}

int agent_path_find(char *buffer, size_t size, struct error *err)
{
	char directory[PATH_MAX], wanted[PATH_MAX + 128], real[PATH_MAX];

	if (own_directory(directory, sizeof(directory)) < 0)
		return error_set(err, errno, "could not find bottleneck's own directory");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(wanted, sizeof(wanted), "%s/%s/" PROTOCOL_AGENT_LIBRARY, directory,
		         places[i]);
		if (!realpath(wanted, real) || access(real, R_OK) < 0)
			continue;
		if ((size_t)snprintf(buffer, size, "%s", real) < size)
			return 0;
	}
	error_set(err, 0, "could not find " PROTOCOL_AGENT_LIBRARY);
	return error_hint(err, "Install bottleneck whole: the library belongs into "
	                       "../" BOTTLENECK_LIBDIR "/bottleneck beside the program's bin.");
}
