// SPDX-License-Identifier: MIT
#include "symbolize/elf/read_file.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FIRST_BYTES ((size_t)64 * 1024)

// 0 if it is no file: in /tmp anyone could put a FIFO or a link to a device.
static size_t first_room(int fd, size_t max)
{
	struct stat st;
	size_t room = FIRST_BYTES;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if ((size_t)st.st_size > room)
		room = (size_t)st.st_size + 1;
	return room < max ? room : max;
}

char *read_file(const char *path, size_t max, size_t *size, struct error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		error_set(err, errno, "could not open \"%s\"", path);
		return NULL;
	}
	size_t room = first_room(fd, max), used = 0;
	if (!room) {
		error_set(err, 0, "\"%s\" is not a file", path);
		return NULL;
	}
	cleanup_free char *text = malloc(room + 1);
	while (text) {
		ssize_t got = read(fd, text + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			error_set(err, errno, "could not read \"%s\"", path);
			return NULL;
		}
		used += (size_t)got;
		if (got == 0 || used == max)
			break;
		if (used < room)
			continue;
		room = room * 2 < max ? room * 2 : max;
		char *grown = realloc(text, room + 1);
		if (!grown)
			free(text);
		text = grown;
	}
	if (!text) {
		error_set(err, ENOMEM, "could not read \"%s\"", path);
		return NULL;
	}
	text[used] = '\0';
	*size = used;
	return steal(text);
}
