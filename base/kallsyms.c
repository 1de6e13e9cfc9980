// SPDX-License-Identifier: MIT
#include "base/kallsyms.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCK_BYTES ((size_t)1 << 20)
#define TEXT_MAX    ((size_t)1 << 30) // so that offsets fit

struct function {
	uint64_t address;
	uint32_t name; // offset in TEXT
};

struct kallsyms {
	char *path;
	char *text; // as it was read; then only the names, packed
	size_t size, capacity;
	struct function *functions;
	size_t count, function_capacity;
	bool hidden;
	bool loaded, started;
	struct error error; // why it could not be loaded
	pthread_t thread;
	int nice;
	atomic_bool unwanted;
};

struct kallsyms *kallsyms_new(const char *path)
{
	cleanup(kallsyms) struct kallsyms *k = calloc(1, sizeof(*k));

	if (k)
		k->path = strdup(path);
	return k && k->path ? steal(k) : NULL;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	if (k->started) {
		atomic_store(&k->unwanted, true);
		pthread_join(k->thread, NULL);
	}
	free(k->path);
	free(k->text);
	free(k->functions);
	free(k);
}

// /proc gives some kilobytes at a time, whatever is asked for.
static int read_blocks(struct kallsyms *k, int fd)
{
	while (k->size < TEXT_MAX && !atomic_load(&k->unwanted)) {
		if (k->capacity - k->size <= BLOCK_BYTES / 2 &&
		    !array_reserve(&k->text, &k->capacity, k->capacity + BLOCK_BYTES))
			return error_set(&k->error, ENOMEM, "could not read \"%s\"", k->path);
		ssize_t got = read(fd, k->text + k->size, k->capacity - k->size - 1);
		if (got < 0 && errno != EINTR)
			return error_set(&k->error, errno, "could not read \"%s\"", k->path);
		if (got == 0)
			break;
		k->size += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int read_text(struct kallsyms *k)
{
	cleanup_close int fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_set(&k->error, errno, "could not open \"%s\"", k->path);
	return read_blocks(k, fd);
}

// False if there is none, or one of more than 64 bits.
static bool parse_hex(const char **text, const char *end, uint64_t *value)
{
	const char *p = *text;

	for (*value = 0; p < end && p - *text < 16; p++) {
		unsigned int digit = (unsigned char)*p;
		if (digit - '0' < 10u)
			digit -= '0';
		else if ((digit | 32u) - 'a' < 6u)
			digit = (digit | 32u) - 'a' + 10u;
		else
			break;
		*value = *value << 4 | digit;
	}
	bool found = p > *text;
	*text = p;
	return found;
}

// t, T, w and W: code.
static bool is_code(char type)
{
	return (type | 32) == 't' || (type | 32) == 'w';
}

/* "ffffffff81371a30 t name" or, of a module, "... t name\t[module]": the name to KEPT. */
static int keep_line(struct kallsyms *k, const char *line, const char *end, size_t *kept)
{
	uint64_t address;

	if (!parse_hex(&line, end, &address) || end - line < 4 || line[0] != ' ' || line[2] != ' ')
		return 0;
	k->hidden &= address == 0;
	if (!address || !is_code(line[1]))
		return 0;
	line += 3;
	size_t length = (size_t)(end - line);
	if (!array_reserve(&k->functions, &k->function_capacity, k->count + 1))
		return error_set(&k->error, ENOMEM, "could not read \"%s\"", k->path);
	k->functions[k->count++] = (struct function){ address, (uint32_t)*kept };
	// Shorter than what has been read of it, so it lies before all that has not been.
	char *name = memmove(k->text + *kept, line, length);
	char *tab = memchr(name, '\t', length);
	if (tab)
		*tab = ' ';
	name[length] = '\0';
	*kept += length + 1;
	return 0;
}

static int parse(struct kallsyms *k)
{
	const char *line = k->text, *end = k->text + k->size;
	size_t kept = 0;

	k->hidden = true;
	if (!k->size)
		return 0;
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		const char *next = stop + 1;
		if (keep_line(k, line, stop, &kept) < 0)
			return -1;
		line = next;
	}
	char *less = realloc(k->text, kept + 1);
	k->text = less ? less : k->text;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

// The kernel comes in order; its modules, above it, mostly do not.
static void sort(struct kallsyms *k)
{
	struct function *f = k->functions;
	size_t ordered = 1;

	while (ordered < k->count && f[ordered - 1].address <= f[ordered].address)
		ordered++;
	if (ordered >= k->count)
		return;
	qsort(f + ordered, k->count - ordered, sizeof(*f), by_address);
	if (f[ordered].address < f[ordered - 1].address)
		qsort(f, k->count, sizeof(*f), by_address);
}

static void load(struct kallsyms *k)
{
	if (read_text(k) < 0 || atomic_load(&k->unwanted) || parse(k) < 0)
		k->count = 0;
	else
		sort(k);
	k->loaded = true;
}

static void *load_in_background(void *context)
{
	struct kallsyms *k = context;

	// SCHED_RESET_ON_FORK takes from us what our caller has, and he may come to wait for us.
	setpriority(PRIO_PROCESS, 0, k->nice); // of this thread alone
	load(k);
	return NULL;
}

void kallsyms_start(struct kallsyms *k)
{
	sigset_t all, old;

	if (k->loaded || k->started)
		return;
	// Signals are for those who wait for them.
	k->nice = getpriority(PRIO_PROCESS, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	k->started = pthread_create(&k->thread, NULL, load_in_background, k) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int kallsyms_load(struct kallsyms *k, struct error *err)
{
	if (k->started) {
		pthread_join(k->thread, NULL);
		k->started = false;
	}
	if (!k->loaded)
		load(k);
	if (!k->error.text[0])
		return 0;
	if (err)
		*err = k->error;
	return -1;
}

const char *kallsyms_path(const struct kallsyms *k)
{
	return k->path;
}

bool kallsyms_are_hidden(const struct kallsyms *k)
{
	return k->hidden;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->count;
}

struct kallsym kallsyms_at(const struct kallsyms *k, size_t index)
{
	const struct function *function = &k->functions[index];

	return (struct kallsym){ function->address, k->text + function->name };
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (k->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	while (low > 1 && k->functions[low - 2].address == k->functions[low - 1].address)
		low--;
	return k->text + k->functions[low - 1].name;
}
