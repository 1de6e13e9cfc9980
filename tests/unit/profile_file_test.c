// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/file/file.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query_waits.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct fixture f;
static char directory[64];
static char path[128];

static void begin(void)
{
	fixture_init(&f, NULL);
	snprintf(directory, sizeof(directory), "/tmp/profile_file_test.XXXXXX");
	cr_assert(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/run.bneck", directory);
}

static size_t files_left(void)
{
	size_t count = 0;
	DIR *dir = opendir(directory);

	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return count;
}

static void end(void)
{
	char other[sizeof(directory) + 16];

	unlink(path);
	snprintf(other, sizeof(other), "%s/link", directory);
	unlink(other);
	cr_expect(rmdir(directory) == 0, "nothing else is left");
	fixture_fini(&f);
}

TestSuite(profile_file, .init = begin, .fini = end);

// Everything that a profile can hold.
static void fill(void)
{
	struct run run = {
		.command = "./app 'a b'",
		.host = "h",
		.start_realtime_ns = UINT64_C(1700000000) * 1000 * MS,
		.start_ns = 990 * MS,
		.wall_ns = 300 * MS,
		.exit_status = 256,
		.cpus = 2,
		.frequency_hz = 999,
		.kernel_stacks = true,
		.off_cpu_exact = true,
		.peak_rss_bytes = UINT64_C(5) << 30,
		.unseen_name = "su",
		.complete = true,
	};
	struct thread_end exact = { .thread = 1, .time_ns = 1200 * MS, .exact = true };

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	add_process(&f, 2, 200, "child \xff\"'");
	add_thread(&f, 2, 2, 200, "");
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > min h.h:2|work a.c:5");
	add(&f, 1, METRIC_OFF_FILE, 50, "main a.c:1 > read@libc > vfs_read@kernel");
	add(&f, 2, METRIC_ON_CPU, 20, "[cut] > ?@libc > [kernel]");
	add(&f, 2, METRIC_ON_CPU, 10, "?@jit > ?");
	add(&f, 2, METRIC_ON_CPU, 10, "main@libc > {<module> /w/t.py:3} > ~call@libc > work a.c:7");
	add(&f, 2, METRIC_OFF_LOCK, 10, "main@libc > {<module> /w/t.py:3} > {wait /w/t.py:9}");
	exact.ns[METRIC_ON_CPU] = 120 * MS;
	exact.ns[METRIC_OFF_FILE] = 80 * MS;
	exact.gil_held_ns = 70 * MS;
	exact.gil_waited_ns = 10 * MS;
	profile_end_thread(f.profile, &exact);
	profile_end_process(f.profile, 1, 1200 * MS);
	name_all(&f);
}

static void write_profile(void)
{
	struct error err = { 0 };

	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
}

static struct profile *read_profile(void)
{
	struct error err = { 0 };
	struct profile *p = profile_read(path, &err);

	cr_assert(p != NULL, "%s", err.text);
	return p;
}

static const char *refusal(void)
{
	static struct error err;
	struct profile *p = profile_read(path, &err);

	cr_expect(eq(ptr, p, NULL));
	profile_free(p);
	cr_expect(strstr(err.text, path) != NULL, "\"%s\" names the file", err.text);
	return err.text;
}

static void expect_same_answers(const struct profile *a, const struct profile *b)
{
	static const struct query queries[] = {
		{ .by = BY_FUNCTION },
		{ .by = BY_LINE, .sort = SORT_TOTAL },
		{ .by = BY_MODULE },
		{ .by = BY_FILE },
		{ .by = BY_THREAD },
		{ .by = BY_PROCESS },
		{ .on_cpu = true, .to_ns = 20 * MS },
		{ .off_cpu = true, .from_ns = 30 * MS },
		{ .user_code = "a.c" },
		{ .interpreter = true },
	};

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		cleanup(rows) struct rows *left = query_run(a, &queries[i], NULL);
		cleanup(rows) struct rows *right = query_run(b, &queries[i], NULL);
		cleanup_free char *text = strdup(rows_text(left));
		cr_expect(eq(str, (char *)rows_text(right), text), "query %zu", i);
		cr_expect(eq(u64, left->all, right->all));
		cr_expect(eq(u64, left->all_samples, right->all_samples));
		cr_expect(left->count > 0, "query %zu asks for something", i);
	}
}

Test(profile_file, a_profile_that_was_read_answers_like_the_one_that_was_written)
{
	fill();
	write_profile();
	cleanup(profile) struct profile *p = read_profile();
	expect_same_answers(f.profile, p);
	cr_expect(profile_is_symbolized(p));

	struct account left, right;
	cr_assert(query_account(f.profile, &left, NULL) == 0 &&
	          query_account(p, &right, NULL) == 0);
	cr_expect(eq(u64, left.lifetime_ns, right.lifetime_ns));
	cr_expect(eq(u64, left.kernel_ns, right.kernel_ns));
	cr_expect(eq(int, memcmp(left.ns, right.ns, sizeof(left.ns)), 0));
	cr_expect(right.exact);
	cr_expect(eq(u64, right.gil_held_ns, 70 * MS));
	cr_expect(eq(u64, right.gil_waited_ns, 10 * MS));

	struct totals before, after;
	query_totals(f.profile, &before);
	query_totals(p, &after);
	cr_expect(eq(int, memcmp(&before, &after, sizeof(before)), 0));

	cleanup(module_rows) struct module_rows *modules = query_modules(p, NULL);
	cr_expect(eq(sz, modules->count, 4));
	cr_expect(eq(int, modules->rows[0].level, DEBUG_LINES));
}

Test(profile_file, the_facts_of_the_run_come_back)
{
	fill();
	write_profile();
	cleanup(profile) struct profile *p = read_profile();
	const struct run *run = profile_run(p);
	cr_expect(eq(str, (char *)run->command, "./app 'a b'"));
	cr_expect(eq(ptr, (void *)run->directory, NULL));
	cr_expect(eq(u64, run->start_realtime_ns, UINT64_C(1700000000) * 1000 * MS));
	cr_expect(eq(int, run->exit_status, 256));
	cr_expect(eq(u64, run->peak_rss_bytes, UINT64_C(5) << 30));
	cr_expect(run->kernel_stacks && run->off_cpu_exact && run->complete);
	cr_expect(eq(str, (char *)run->unseen_name, "su"));
}

Test(profile_file, a_copy_of_a_copy_is_the_same_file)
{
	fill();
	write_profile();
	cleanup(profile) struct profile *p = read_profile();
	struct stat first, second;
	cr_assert(stat(path, &first) == 0);
	cr_assert(profile_write(p, path, NULL) == 0);
	cr_assert(stat(path, &second) == 0);
	cr_expect(eq(i64, first.st_size, second.st_size));
	cleanup(profile) struct profile *again = read_profile();
	expect_same_answers(f.profile, again);
}

static size_t read_file(char *bytes, size_t size)
{
	FILE *file = fopen(path, "rb");

	cr_assert(file != NULL);
	size_t count = fread(bytes, 1, size, file);
	fclose(file);
	return count;
}

Test(profile_file, what_is_prepared_ahead_changes_nothing_of_the_file)
{
	static char one[1 << 20], other[1 << 20];
	char text[32];

	fill();
	// The second time the texts are too many for what is prepared.
	for (int round = 0; round < 2; round++) {
		write_profile();
		size_t size = read_file(one, sizeof(one));
		profile_write_prepare();
		profile_write_prepare();
		write_profile();
		cr_expect(eq(sz, read_file(other, sizeof(other)), size));
		cr_expect(memcmp(one, other, size) == 0);
		write_profile(); // once prepared, once used
		cr_expect(eq(sz, read_file(other, sizeof(other)), size));
		for (int i = 0; i < 1100; i++) {
			snprintf(text, sizeof(text), "text %d", i);
			strings_add(f.profile->strings, text);
		}
	}
	profile_free(read_profile());
}

Test(profile_file, a_checkpoint_can_be_symbolized_after_reading)
{
	struct module *module;

	add(&f, 1, METRIC_ON_CPU, 5, "main a.c:1 > work a.c:2");
	module = modules_get(f.modules, 1);
	module->build_id_size = 20;
	module->build_id[19] = 7;
	module->inode = 77;
	write_profile();
	cleanup(profile) struct profile *p = read_profile();
	cr_expect(not(profile_is_symbolized(p)));
	cleanup(rows) struct rows *before = query_run(p, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(before), "[app] 5/5"));
	cr_assert(profile_symbolize(p, &f.symbolizer, NULL) == 0);
	cleanup(rows) struct rows *after = query_run(p, &(struct query){ 0 }, NULL);
	cr_expect(eq(str, (char *)rows_text(after), "work 5/5, main 0/5"));
	cr_expect(eq(str, (char *)after->rows[0].module, "/usr/bin/app"));
}

static void tell_span(uint32_t thread, uint64_t to_ms, enum thread_state state,
                      enum thread_state next)
{
	const struct span_event span = { .thread = thread,
		                         .from_ns = 1000 * MS,
		                         .to_ns = to_ms * MS,
		                         .state = state,
		                         .next = next,
		                         .cause = METRIC_OFF_LOCK };

	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
}

// The main thread waits for thread 2, which lacks a CPU for half of it, from 1.1 to 1.2 s, at
// ADDRESS of the program.
static void wait_at(uint64_t address, struct frame made)
{
	const struct wait_share by = { 1200 * MS, 2, HELD_BY_OWNER };
	const struct wait_event wait = { .thread = 1,
		                         .begin_ns = 1100 * MS,
		                         .end_ns = 1200 * MS,
		                         .address = address,
		                         .module = 1,
		                         .made = made,
		                         .kind = HELD_MUTEX,
		                         .count = 1,
		                         .parts = &by };

	add_thread(&f, 2, 1, 102, "keeper");
	tell_span(1, 1000, THREAD_READY, THREAD_RUNS);
	tell_span(2, 1000, THREAD_READY, THREAD_RUNS);
	f.now_ns = 1050 * MS;
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3 > init a.c:9");
	tell_span(1, 1100, THREAD_RUNS, THREAD_BLOCKED);
	tell_span(2, 1150, THREAD_RUNS, THREAD_READY);
	tell_span(2, 1200, THREAD_READY, THREAD_RUNS);
	tell_span(1, 1200, THREAD_BLOCKED, THREAD_RUNS);
	profile_take(f.profile, &(struct sampled){ .kind = SAMPLED_WAIT, .wait = &wait });
	profile_end_wall(f.profile, 1500 * MS);
}

static void expect_wait(const struct profile *p, const char *name, const char *file, int line)
{
	cleanup(wait_rows) struct wait_rows *rows = query_waits(p, 0, 0, NULL);

	cr_assert(rows && rows->count == 1);
	const struct wait_row *row = &rows->rows[0];
	cr_expect(eq(str, (char *)(row->resource ? row->resource : "(none)"), (char *)name));
	cr_expect(eq(str, (char *)(row->resource_file ? row->resource_file : "(none)"),
	             (char *)file));
	cr_expect(eq(int, row->resource_line, line));
	cr_expect(eq(int, row->made, line != 0));
	cr_expect(eq(u64, row->wall_ns, 100 * MS));
	cr_expect(eq(u64, row->wall_ready_ns, 50 * MS));
	uint64_t half_ns = 1150 * MS - profile_start_ns(p);
	cleanup(wait_rows) struct wait_rows *half = query_waits(p, half_ns, 0, NULL);
	cr_assert(half && half->count == 1 && !half->whole_run);
	cr_expect(lt(i64, llabs((int64_t)half->rows[0].ns - (int64_t)(50 * MS)), half->step_ns));
	cr_expect(eq(u64, half->rows[0].count, 1));
}

Test(profile_file, locks_are_named_before_or_after_the_file_was_written)
{
	struct frame frames[64];

	wait_at(0x9000, (struct frame){ 0 });
	write_profile();
	cleanup(profile) struct profile *p = read_profile();
	expect_wait(p, "(none)", "(none)", 0);
	cr_assert(profile_symbolize(p, &f.symbolizer, NULL) == 0);
	expect_wait(p, "data", "app.c", 0);

	end();
	begin();
	wait_at(0x9028, (struct frame){ 0 });
	name_all(&f);
	write_profile();
	cleanup(profile) struct profile *named = read_profile();
	expect_wait(named, "data+40", "app.c", 0);

	end();
	begin();
	frames_of(&f, "main a.c:3 > init a.c:9", frames);
	wait_at(0x1000, (struct frame){ frames[1].address, frames[1].module, FRAME_RETURN });
	name_all(&f);
	write_profile();
	cleanup(profile) struct profile *made = read_profile();
	expect_wait(made, "main", "a.c", 3);
}

Test(profile_file, an_empty_profile_can_be_written)
{
	cleanup(profile) struct profile *empty = profile_new(f.modules, NULL, NULL);

	cr_assert(profile_write(empty, path, NULL) == 0);
	cleanup(profile) struct profile *p = read_profile();
	cleanup(rows) struct rows *rows = query_run(p, &(struct query){ 0 }, NULL);
	cr_expect(eq(sz, rows->count, 0));
}

Test(profile_file, a_file_is_private_and_keeps_the_mode_that_it_had)
{
	struct stat st;

	fill();
	write_profile();
	cr_assert(stat(path, &st) == 0);
	cr_expect(eq(int, (int)(st.st_mode & 0777), 0600));
	cr_assert(chmod(path, 0644) == 0);
	write_profile();
	cr_assert(stat(path, &st) == 0);
	cr_expect(eq(int, (int)(st.st_mode & 0777), 0644));
	cr_expect(eq(sz, files_left(), 1), "the temporary name is gone");
}

Test(profile_file, a_link_is_followed_and_stays_a_link)
{
	char link[128];
	struct stat st;

	fill();
	write_profile();
	snprintf(link, sizeof(link), "%s/link", directory);
	cr_assert(symlink("run.bneck", link) == 0);
	cr_assert(profile_write(f.profile, link, NULL) == 0);
	cr_assert(lstat(link, &st) == 0);
	cr_expect(eq(int, S_ISLNK(st.st_mode), 1));
}

Test(profile_file, what_is_no_file_is_never_replaced)
{
	struct error err = { 0 };
	struct stat st;

	cr_expect(eq(int, profile_write(f.profile, "/dev/null", &err), -1));
	cr_expect(eq(str, err.text, "cannot write \"/dev/null\": it is not a regular file"));
	cr_assert(stat("/dev/null", &st) == 0);
	cr_expect(eq(int, S_ISCHR(st.st_mode), 1));
	cr_expect(eq(int, profile_write(f.profile, directory, &err), -1));
	cr_expect(eq(int, err.errnum, EISDIR));
}

Test(profile_file, a_directory_that_is_missing_is_named_with_a_hint)
{
	struct error err = { 0 };

	cr_expect(eq(int, profile_write(f.profile, "/nonexistent/x.bneck", &err), -1));
	cr_expect(eq(str, err.text, "could not write \"/nonexistent/x.bneck\""));
	cr_expect(eq(int, err.errnum, ENOENT));
	cr_expect(ne(str, err.hint, ""));
}

// Runs a write as nobody, or with a disk that is full; returns its errno.
static int write_in_child(bool as_nobody)
{
	pid_t child = fork();

	if (child == 0) {
		struct error err = { 0 };
		struct rlimit tiny = { 4096, 4096 };
		signal(SIGXFSZ, SIG_IGN);
		if (as_nobody ? setuid(65534) < 0 : setrlimit(RLIMIT_FSIZE, &tiny) < 0)
			_exit(99);
		int result = profile_write(f.profile, path, &err);
		_exit(result == 0 ? 0 : *err.hint ? err.errnum : 98);
	}
	int status;
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(profile_file, a_full_disk_leaves_the_old_file_and_nothing_else)
{
	fill();
	write_profile();
	cr_expect(eq(int, write_in_child(false), EFBIG));
	cleanup(profile) struct profile *p = read_profile();
	expect_same_answers(f.profile, p);
	cr_expect(eq(sz, files_left(), 1));
}

Test(profile_file, no_permission_leaves_the_old_file_and_nothing_else)
{
	if (geteuid() != 0)
		cr_skip("only root can become somebody else");
	fill();
	write_profile();
	cr_assert(chmod(directory, 0755) == 0);
	cr_expect(eq(int, write_in_child(true), EACCES));
	cleanup(profile) struct profile *p = read_profile();
	cr_expect(eq(sz, files_left(), 1));
}

static void put_file(const void *bytes, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "wb");

	cr_assert(file && fwrite(bytes, 1, size, file) == size);
}

static unsigned char *get_file(size_t *size)
{
	cleanup_fclose FILE *file = fopen(path, "rb");
	unsigned char *bytes = malloc(1 << 20);

	*size = fread(bytes, 1, 1 << 20, file);
	return bytes;
}

static const char *ending(const char *text)
{
	return strstr(text, "\" ") ? strstr(text, "\" ") + 2 : text;
}

Test(profile_file, files_that_are_no_profiles_are_refused_in_words)
{
	struct error err = { 0 };

	cr_expect(eq(ptr, profile_read(path, &err), NULL));
	cr_expect(eq(int, err.errnum, ENOENT));
	cr_expect(eq(ptr, profile_read(directory, &err), NULL));
	cr_expect(eq(int, err.errnum, EISDIR));
	put_file("", 0);
	cr_expect(eq(str, (char *)ending(refusal()), "is empty"));
	put_file("SQLite", 6);
	cr_expect(eq(str, (char *)ending(refusal()), "is damaged: it is cut off"));
	put_file("#!/bin/sh\nexit 0\n", 17);
	cr_expect(eq(str, (char *)ending(refusal()), "is not a profile"));
}

static void change(const char *sql)
{
	sqlite3 *db;

	cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
	cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
	          sqlite3_errmsg(db));
	sqlite3_close(db);
}

Test(profile_file, another_database_is_refused_in_words)
{
	change("CREATE TABLE bookmark(x)");
	cr_expect(eq(str, (char *)ending(refusal()),
	             "is not a profile, but an SQLite database of something else"));
}

Test(profile_file, a_newer_schema_is_refused_in_words)
{
	char sql[64], words[100];

	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", FILE_SCHEMA + 1);
	snprintf(words, sizeof(words),
	         "was written by a newer bottleneck (schema %d, this one reads %d)",
	         FILE_SCHEMA + 1, FILE_SCHEMA);
	fill();
	write_profile();
	change(sql);
	cr_expect(eq(str, (char *)ending(refusal()), words));
}

Test(profile_file, the_manual_has_the_number_of_the_schema)
{
	FILE *manual = fopen(TESTS_DIR "/../man/bottleneck-profile.5", "r");
	char line[512], number[80];
	bool found = false;

	cr_assert(ne(ptr, manual, NULL));
	snprintf(number, sizeof(number), "the schema version, currently %d.", FILE_SCHEMA);
	while (fgets(line, sizeof(line), manual))
		found |= strstr(line, number) != NULL;
	fclose(manual);
	cr_expect(found, "no \"%s\"", number);
}

Test(profile_file, changes_to_a_profile_are_noticed)
{
	static const char *const changes[] = {
		"DELETE FROM thread",
		"DROP TABLE cell_chunk",
		"DELETE FROM checksum",
		"UPDATE string SET text='x' WHERE id=1",
		"UPDATE module SET path='/x' WHERE id=1",
		"UPDATE module SET build_id=zeroblob(200) WHERE id=1",
		"UPDATE module SET kind=-1 WHERE id=1",
		"UPDATE process SET parent=4000000000000",
		"UPDATE thread SET process=77",
		"UPDATE thread SET estimated='x'",
		"UPDATE node_chunk SET rows=rows+1",
		"UPDATE node_chunk SET rows=-1",
		"UPDATE node_chunk SET rows=1<<40",
		"UPDATE node_chunk SET data=x'00'",
		"UPDATE node_chunk SET data=(SELECT data FROM cell_chunk)",
		"UPDATE cell_chunk SET data=NULL",
		"INSERT INTO cell_chunk SELECT 2, rows, data FROM cell_chunk",
		"INSERT INTO node_chunk SELECT 2, rows, data FROM node_chunk",
		"INSERT INTO location_chunk SELECT 2, rows, data FROM location_chunk",
		"UPDATE run SET value=0 WHERE key='bin_ns'",
		"UPDATE run SET value=-1 WHERE key='bin_ns'",
		"UPDATE run SET value=-1 WHERE key='origin_ns'",
		"UPDATE run SET value=1<<40 WHERE key='cpus'",
		"UPDATE run SET key=NULL WHERE key='cpus'",
		"ALTER TABLE thread ADD COLUMN more",
		"DROP TABLE run; CREATE VIEW run AS WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL"
		" SELECT i+1 FROM x) SELECT 'cpus' AS key, i AS value FROM x",
		"DROP TABLE run; CREATE TABLE run(key TEXT, value, PRIMARY KEY(key)) WITHOUT ROWID",
		"DROP TABLE run; CREATE VIRTUAL TABLE run USING fts4(key, value);"
		" INSERT INTO run VALUES('cpus', 1)",
		"CREATE VIRTUAL TABLE beside USING fts4(key, value)",
		"CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END",
		// A row that says that it is a table, of a text that makes another thing.
		"DROP TABLE run; CREATE TABLE beside(key TEXT, value);"
		" PRAGMA writable_schema=ON;"
		" UPDATE sqlite_schema SET name='run' WHERE name='beside';"
		" INSERT INTO sqlite_schema VALUES('table', 'zzz', 'zzz', 0,"
		" 'CREATE VIRTUAL TABLE run USING fts4(key, value)')",
	};

	fill();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		write_profile();
		change(changes[i]);
		cr_expect(strstr(refusal(), "is damaged: ") != NULL, "%s: \"%s\"", changes[i],
		          refusal());
	}
}

// Stacks have at most STACK_MAX_FRAMES; what is deeper would grow with its square in other formats.
Test(profile_file, a_call_path_that_is_too_deep_is_refused)
{
	static struct frame frames[STACK_MAX_FRAMES];
	struct stack stack = { .thread = 1,
		               .frames = frames,
		               .metric = METRIC_ON_CPU,
		               .time_ns = 1100 * MS,
		               .weight_ns = MS };

	for (size_t i = 0; i < STACK_MAX_FRAMES; i++)
		frames[i] = (struct frame){ 0x1000 + i, 0, FRAME_EXACT };
	fill();
	stack.count = STACK_MAX_FRAMES;
	profile_add_stack(f.profile, &stack);
	write_profile();
	profile_free(read_profile());
	struct paths *paths = &f.profile->paths;
	for (uint32_t node = paths->count, i = 0; i < 2048; i++)
		node = paths_child(paths, node, paths_node(paths, node)->location);
	write_profile();
	cr_expect(strstr(refusal(), "deeper than any can be") != NULL, "\"%s\"", refusal());
}

Test(profile_file, a_file_that_is_cut_off_anywhere_is_refused)
{
	size_t size;

	fill();
	write_profile();
	cleanup_free unsigned char *bytes = get_file(&size);
	for (size_t cut = 1; cut < size; cut += 1 + size / 97) {
		put_file(bytes, cut);
		cr_expect(strstr(refusal(), "is damaged: ") || cut < 16, "%zu bytes", cut);
	}
}

Test(profile_file, a_flipped_bit_is_refused_or_changes_nothing)
{
	size_t size, refused = 0;
	unsigned seed = 12345;

	fill();
	write_profile();
	cleanup_free unsigned char *bytes = get_file(&size);
	for (int i = 0; i < 3000; i++) {
		struct error err = { 0 };
		size_t bit = (size_t)rand_r(&seed) % (size * 8);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		put_file(bytes, size);
		cleanup(profile) struct profile *p = profile_read(path, &err);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		refused += p == NULL;
		if (p)
			expect_same_answers(f.profile, p);
		else
			cr_expect(ne(str, err.text, ""));
	}
	cr_expect(gt(sz, refused, 300), "%zu of 3000", refused);
}

Test(profile_file, scrambled_files_do_no_harm)
{
	size_t size;
	unsigned seed = 99;

	fill();
	write_profile();
	cleanup_free unsigned char *bytes = get_file(&size);
	cleanup_free unsigned char *mutant = malloc(size);
	for (int i = 0; i < 2000; i++) {
		memcpy(mutant, bytes, size);
		for (int n = 1 + rand_r(&seed) % 20; n > 0; n--)
			mutant[100 + (size_t)rand_r(&seed) % (size - 100)] =
				(unsigned char)rand_r(&seed);
		put_file(mutant, size);
		struct error err = { 0 };
		cleanup(profile) struct profile *p = profile_read(path, &err);
		cr_expect(p || *err.text);
	}
}
