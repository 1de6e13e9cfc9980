// SPDX-License-Identifier: MIT
#include "base/kallsyms.h"

#include "base/array.h"
#include "base/error.h"
#include "base/kallsyms_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCK_BYTES ((size_t)16 << 10)
#define TEXT_MAX    ((size_t)1 << 30) // so that offsets fit

struct kallsyms {
	char *path;
	struct kallsyms_table table; // its text is what was read, and then only the names, packed
	bool hidden;
	bool loaded, started;
	char *cache; // file; NULL: none
	uint64_t key;
	bool from_cache;
	struct kallsyms_table cached; // the table before, whose names are still in use
	struct error error;           // why it could not be loaded
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

int kallsyms_set_cache(struct kallsyms *k, const char *file)
{
	k->cache = strdup(file);
	return k->cache ? 0 : -1;
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
	free(k->cache);
	kallsyms_table_fini(&k->cached);
	kallsyms_table_fini(&k->table);
	free(k);
}

// /proc gives some kilobytes at a time, whatever is asked for.
static int read_blocks(struct kallsyms *k, int fd)
{
	struct kallsyms_table *t = &k->table;

	while (t->text_bytes < TEXT_MAX && !atomic_load(&k->unwanted)) {
		if (t->text_capacity - t->text_bytes <= BLOCK_BYTES / 2 &&
		    !array_reserve(&t->text, &t->text_capacity, t->text_capacity + BLOCK_BYTES))
			return error_set(&k->error, ENOMEM, "could not read \"%s\"", k->path);
		ssize_t got =
			read(fd, t->text + t->text_bytes, t->text_capacity - t->text_bytes - 1);
		if (got < 0 && errno != EINTR)
			return error_set(&k->error, errno, "could not read \"%s\"", k->path);
		if (got == 0)
			break;
		t->text_bytes += got > 0 ? (size_t)got : 0;
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
	struct kallsyms_table *t = &k->table;
	uint64_t address;

	if (!parse_hex(&line, end, &address) || end - line < 4 || line[0] != ' ' || line[2] != ' ')
		return 0;
	k->hidden &= address == 0;
	if (!address || !is_code(line[1]))
		return 0;
	line += 3;
	size_t length = (size_t)(end - line);
	if (!array_reserve(&t->functions, &t->capacity, t->count + 1))
		return error_set(&k->error, ENOMEM, "could not read \"%s\"", k->path);
	t->functions[t->count++] = (struct kallsyms_function){ address, (uint32_t)*kept, 0 };
	// Shorter than what has been read of it, so it lies before all that has not been.
	char *name = memmove(t->text + *kept, line, length);
	char *tab = memchr(name, '\t', length);
	if (tab)
		*tab = ' ';
	name[length] = '\0';
	*kept += length + 1;
	return 0;
}

static int parse(struct kallsyms *k)
{
	struct kallsyms_table *t = &k->table;
	const char *line = t->text, *end = t->text + t->text_bytes;
	size_t kept = 0;

	k->hidden = true;
	if (!t->text_bytes)
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
	char *less = realloc(t->text, kept + 1);
	t->text = less ? less : t->text;
	t->text_bytes = kept;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct kallsyms_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

// The kernel comes in order; its modules, above it, mostly do not.
static void sort(struct kallsyms *k)
{
	struct kallsyms_function *f = k->table.functions;
	size_t ordered = 1, count = k->table.count;

	while (ordered < count && f[ordered - 1].address <= f[ordered].address)
		ordered++;
	if (ordered >= count)
		return;
	qsort(f + ordered, count - ordered, sizeof(*f), by_address);
	if (f[ordered].address < f[ordered - 1].address)
		qsort(f, count, sizeof(*f), by_address);
}

static void load_list(struct kallsyms *k)
{
	if (read_text(k) < 0 || atomic_load(&k->unwanted) || parse(k) < 0)
		k->table.count = 0;
	else
		sort(k);
}

static void load(struct kallsyms *k)
{
	if (k->cache)
		k->key = kallsyms_cache_key(k->path);
	k->from_cache = k->key && kallsyms_cache_read(k->cache, k->key, &k->table);
	if (!k->from_cache)
		load_list(k);
	k->loaded = true;
}

// In place of what the cache holds, the list itself.
static void load_again(struct kallsyms *k)
{
	k->cached = k->table;
	k->table = (struct kallsyms_table){ 0 };
	k->from_cache = false;
	load_list(k);
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
	// Signals are for those who wait for them. A fault is the affair of who makes it.
	k->nice = getpriority(PRIO_PROCESS, 0);
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
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
	return k->table.count;
}

static const char *name_at(const struct kallsyms *k, size_t index)
{
	return kallsyms_table_name(&k->table, index);
}

struct kallsym kallsyms_at(const struct kallsyms *k, size_t index)
{
	return (struct kallsym){ k->table.functions[index].address, name_at(k, index) };
}

size_t kallsyms_before(const struct kallsyms *k, uint64_t address)
{
	return array_search(k->table.count, i, k->table.functions[i].address <= address);
}

// The kernel itself and each of its modules are in one piece: between two functions of one of
// them there can be no code that has come since.
static bool is_sure(const struct kallsyms *k, size_t before)
{
	if (!k->from_cache)
		return true;
	if (!before || before == k->table.count)
		return false;
	const char *owner = strchr(name_at(k, before - 1), '[');
	const char *next = strchr(name_at(k, before), '[');
	return owner && next ? strcmp(owner, next) == 0 : owner == next;
}

const char *kallsyms_find(struct kallsyms *k, uint64_t address)
{
	size_t before = kallsyms_before(k, address);

	if (!is_sure(k, before)) {
		load_again(k);
		before = kallsyms_before(k, address);
	}
	if (!before)
		return NULL;
	const struct kallsyms_function *f = k->table.functions;
	while (before > 1 && f[before - 2].address == f[before - 1].address)
		before--;
	return name_at(k, before - 1);
}

void kallsyms_save(struct kallsyms *k)
{
	bool was_cached = k->from_cache || k->cached.count;

	if (k->loaded && !k->started && k->key && !was_cached && k->table.count)
		kallsyms_cache_write(k->cache, k->key, &k->table);
}
