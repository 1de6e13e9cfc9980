// SPDX-License-Identifier: MIT
#include "tests/gpu/gpu_run.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct paths {
	char dir[64];
	char truth[96], seen[96], broken[96], facts[96];
};

static void make_paths(struct paths *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/gpu_run.XXXXXX");
	cr_assert(mkdtemp(p->dir), "no directory for what the program says");
	snprintf(p->truth, sizeof(p->truth), "%s/truth", p->dir);
	snprintf(p->seen, sizeof(p->seen), "%s/seen", p->dir);
	snprintf(p->broken, sizeof(p->broken), "%s/broken", p->dir);
	snprintf(p->facts, sizeof(p->facts), "%s/facts", p->dir);
}

static void remove_paths(const struct paths *p)
{
	unlink(p->truth);
	unlink(p->seen);
	unlink(p->broken);
	unlink(p->facts);
	rmdir(p->dir);
}

// The last word's number, which is cut off; false if it is none.
static bool cut_number(char *line, uint64_t *number)
{
	char *space = strrchr(line, ' '), *end;

	if (!space || !isdigit((unsigned char)space[1]))
		return false;
	uint64_t value = strtoull(space + 1, &end, 10);
	if (*end)
		return false;
	*space = '\0';
	*number = value;
	return true;
}

static void add_line(struct gpu_rows *rows, char *line)
{
	uint64_t last, first = 0;
	size_t i = 0;

	line[strcspn(line, "\n")] = '\0';
	if (!cut_number(line, &last))
		return;
	bool has_two = cut_number(line, &first);
	while (i < rows->count && strcmp(rows->rows[i].key, line))
		i++;
	cr_assert(i < GPU_ROWS_MAX);
	struct gpu_row *r = &rows->rows[i];
	if (i == rows->count)
		snprintf(rows->rows[rows->count++].key, sizeof(r->key), "%s", line);
	r->count += has_two ? first : last;
	r->amount += has_two ? last : 0;
}

// Lines that begin with PREFIX, without it.
static void read_rows(const char *path, const char *prefix, struct gpu_rows *rows)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	char line[600];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, prefix, strlen(prefix)))
			add_line(rows, line + strlen(prefix));
}

static void read_text(const char *path, char *text, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	size_t got = file ? fread(text, 1, size - 1, file) : 0;

	text[got] = '\0';
}

static void set(const char *name, const char *value)
{
	setenv(name, value, 1);
}

// In the child: never returns.
static void become(const char *program, const char *const *settings, const struct paths *p)
{
	const char *fake = "fake";
	char path[PATH_MAX], library[PATH_MAX];
	int out = open(p->truth, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (; settings && *settings; settings++)
		if (!strncmp(*settings, "FAKE=", 5))
			fake = *settings + 5;
		else
			putenv((char *)*settings);
	snprintf(library, sizeof(library), "%s/%s", GPU_DIR, fake);
	set("LD_LIBRARY_PATH", library);
	set("CUDA_INJECTION64_PATH", GPU_DIR "/libgpu_client.so");
	set("CLIENT_OUT", p->seen);
	set("FAKE_CUPTI_LOG", p->broken);
	set("FAKE_CUPTI_FACTS", p->facts);
	snprintf(path, sizeof(path), "%s%s", *program == '/' ? "" : GPU_DIR "/programs/", program);
	if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	execl(path, path, (char *)NULL);
	_exit(127);
}

struct gpu_run *gpu_run(const char *program, const char *const *settings)
{
	struct gpu_run *run = calloc(1, sizeof(*run));
	struct paths p;

	cr_assert(run);
	make_paths(&p);
	uint64_t begin = clock_now_ns();
	pid_t child = fork();
	if (!child)
		become(program, settings, &p);
	cr_assert(child > 0 && waitpid(child, &run->status, 0) == child);
	run->seconds = (double)(clock_now_ns() - begin) / 1e9;
	read_rows(p.truth, "truth ", &run->truth);
	read_rows(p.seen, "", &run->seen);
	read_rows(p.facts, "", &run->facts);
	read_text(p.broken, run->broken, sizeof(run->broken));
	remove_paths(&p);
	return run;
}

const struct gpu_row *gpu_row(const struct gpu_rows *rows, const char *key)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->rows[i].key, key))
			return &rows->rows[i];
	return NULL;
}

// What the client tells of besides, or only if asked.
static bool is_compared(const char *key)
{
	static const char *const prefixes[] = { "kernel ",   "copy ", "set", "sync ",  "allocated ",
		                                "released ", "calls", "jit", "modules" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(key, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static void expect_in(const struct gpu_rows *wanted, const struct gpu_rows *in, const char *what,
                      const char *missing)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct gpu_row *w = &wanted->rows[i];
		if (!is_compared(w->key))
			continue;
		const struct gpu_row *r = gpu_row(in, w->key);
		cr_expect(r && r->count == w->count && r->amount == w->amount,
		          "%s: \"%s\" %lu %lu %s: %lu %lu", what, w->key, w->count, w->amount,
		          missing, r ? r->count : 0, r ? r->amount : 0);
	}
}

void gpu_run_expect(const struct gpu_run *run, const char *what)
{
	cr_expect(run->status == 0, "%s: status %d", what, run->status);
	cr_expect(!*run->broken, "%s: broke rules: %s", what, run->broken);
	cr_expect(run->truth.count > 0, "%s: said nothing", what);
	expect_in(&run->truth, &run->seen, what, "is the truth, seen was");
	expect_in(&run->seen, &run->truth, what, "was seen, the truth is");
}
