// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/kallsyms.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kallsyms *read_text(const char *text, struct error *err)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	cleanup_close int fd = mkstemp(path);

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	cleanup(kallsyms) struct kallsyms *k = kallsyms_new(path);
	int failed = kallsyms_load(k, err);
	unlink(path);
	return failed ? NULL : steal(k);
}

Test(kallsyms, an_address_belongs_to_the_function_that_starts_before_it)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t helper\n"
				   "ffffffff81000080 D some_data\n"
				   "ffffffffc0000000 t ext4_readdir\t[ext4]\n"
				   "ffffffff81000200 W weak_one\n";
	struct error err = { 0 };
	cleanup(kallsyms) struct kallsyms *k = read_text(text, &err);

	cr_assert(k != NULL, "%s", err.text);
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {
		{ 0xffffffff81000000, "_text" },
		{ 0xffffffff81000090, "_text" },
		{ 0xffffffff81000100, "helper" },
		{ 0xffffffff81000201, "weak_one" },
		{ 0xffffffffc0000123, "ext4_readdir [ext4]" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = kallsyms_find(k, rows[i].address);
		cr_assert(name != NULL, "%#lx", rows[i].address);
		cr_expect(eq(str, (char *)name, (char *)rows[i].name), "%#lx", rows[i].address);
	}
	cr_expect(eq(ptr, (void *)kallsyms_find(k, 0x1000), NULL));
	cr_expect(not(kallsyms_are_hidden(k)));
}

Test(kallsyms, a_list_longer_than_a_block_is_read_whole)
{
	enum {
		LINES = 50000,
		LINE_BYTES = 40
	};
	cleanup_free char *text = malloc(LINES * LINE_BYTES + 1);
	struct error err = { 0 };
	size_t bytes = 0;

	for (unsigned i = 0; i < LINES; i++)
		bytes += (size_t)snprintf(text + bytes, LINE_BYTES,
		                          "ffffffff81%06x t function_%u\n", i * 16, i);
	cleanup(kallsyms) struct kallsyms *k = read_text(text, &err);
	cr_assert(k != NULL, "%s", err.text);
	cr_expect(eq(sz, kallsyms_count(k), LINES));
	for (unsigned i = 0; i < LINES; i += 999) {
		char name[32];
		snprintf(name, sizeof(name), "function_%u", i);
		const char *found = kallsyms_find(k, 0xffffffff81000000 + i * 16 + 1);
		cr_expect(eq(str, (char *)found, name));
	}
}

Test(kallsyms, a_kernel_that_hides_its_addresses_is_seen_to)
{
	cleanup(kallsyms) struct kallsyms *k =
		read_text("0000000000000000 T _text\n0000000000000000 t helper\n", NULL);

	cr_assert(k != NULL);
	cr_expect(kallsyms_are_hidden(k));
	cr_expect(eq(ptr, (void *)kallsyms_find(k, 0xffffffff81000000), NULL));
}

Test(kallsyms, lines_that_are_no_symbols_are_passed_over)
{
	cleanup(kallsyms) struct kallsyms *k =
		read_text("\nrubbish\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
	                  "123456789012345678901234567890 T big\nffffffff81000000 T good",
	                  NULL);

	cr_assert(k != NULL);
	cr_expect(eq(str, (char *)kallsyms_find(k, 0xffffffff81000000), "good"));
}

Test(kallsyms, a_missing_file_is_an_error)
{
	struct error err = { 0 };

	for (int background = 0; background < 2; background++) {
		cleanup(kallsyms) struct kallsyms *k = kallsyms_new("/nonexistent/kallsyms");
		if (background)
			kallsyms_start(k);
		for (int again = 0; again < 2; again++) {
			err = (struct error){ 0 };
			cr_expect(eq(int, kallsyms_load(k, &err), -1));
			cr_expect(eq(int, err.errnum, ENOENT));
		}
		cr_expect(eq(sz, kallsyms_count(k), 0));
	}
}

Test(kallsyms, in_the_background_the_same_is_read)
{
	cleanup(kallsyms) struct kallsyms *here = kallsyms_new(TESTS_DIR "/data/kallsyms.txt");
	cleanup(kallsyms) struct kallsyms *there = kallsyms_new(TESTS_DIR "/data/kallsyms.txt");

	kallsyms_start(there);
	cr_assert(eq(int, kallsyms_load(here, NULL), 0));
	cr_assert(eq(int, kallsyms_load(there, NULL), 0));
	cr_assert(gt(sz, kallsyms_count(here), 20));
	cr_assert(eq(sz, kallsyms_count(there), kallsyms_count(here)));
	for (size_t i = 0; i < kallsyms_count(here); i++) {
		struct kallsym a = kallsyms_at(here, i), b = kallsyms_at(there, i);
		cr_expect(eq(u64, a.address, b.address));
		cr_expect(eq(str, (char *)a.name, (char *)b.name));
		cr_expect(i == 0 || kallsyms_at(here, i - 1).address <= a.address);
	}
}

Test(kallsyms, nobody_has_to_wait_for_what_is_not_wanted_any_more)
{
	for (int i = 0; i < 20; i++) {
		struct kallsyms *k = kallsyms_new(KALLSYMS_PATH);
		kallsyms_start(k);
		kallsyms_free(k);
	}
}

// A list in a file and, beside it, the cache of it.
struct list {
	char path[64], cache[80];
};

static void write_file(const char *path, const char *mode, const char *text)
{
	cleanup_fclose FILE *file = fopen(path, mode);

	cr_assert(file && fputs(text, file) >= 0);
}

#define FILLER "fffffff%08x t filler_%u\n"

// Longer than what the list is recognized by, so that what comes behind can change unseen.
static struct list make_list(void)
{
	struct list list = { "/tmp/kallsyms-XXXXXX", "" };
	cleanup_close int fd = mkstemp(list.path);

	cr_assert(fd >= 0);
	snprintf(list.cache, sizeof(list.cache), "%s.cache", list.path);
	for (unsigned int i = 0; i < 200; i++)
		cr_assert(gt(int, dprintf(fd, FILLER, 0x10000000 + i * 16, i), 0));
	dprintf(fd, "ffffffffc0000000 t one [ext4]\nffffffffc0000100 t two [ext4]\n"
	            "ffffffffc0000200 t three [nvme]\nffffffffc0000300 t prog [bpf]\n");
	return list;
}

static void remove_list(const struct list *list)
{
	unlink(list->path);
	unlink(list->cache);
}

static struct kallsyms *load_list(const struct list *list)
{
	struct kallsyms *k = kallsyms_new(list->path);

	cr_assert(k && kallsyms_set_cache(k, list->cache) == 0);
	cr_assert(eq(int, kallsyms_load(k, NULL), 0));
	return k;
}

static void save_list(const struct list *list)
{
	cleanup(kallsyms) struct kallsyms *k = load_list(list);

	kallsyms_save(k);
	cr_assert(eq(int, access(list->cache, R_OK), 0));
}

Test(kallsyms, what_was_read_is_kept_for_the_next_time)
{
	struct list list = make_list();
	struct stat st;

	save_list(&list);
	cr_assert(eq(int, stat(list.cache, &st), 0));
	cr_expect(eq(int, st.st_mode & 0777, 0600));
	// Would be seen, were the list read again.
	write_file(list.path, "a", "fffffff10000c7f t new_one\n");
	cleanup(kallsyms) struct kallsyms *k = load_list(&list);
	cr_expect(eq(sz, kallsyms_count(k), 203));
	cr_expect(eq(str, (char *)kallsyms_find(k, 0xfffffff10000001), "filler_0"));
	cr_expect(eq(str, (char *)kallsyms_find(k, 0xffffffffc0000080), "one [ext4]"));
	cr_expect(eq(sz, kallsyms_count(k), 203));
	remove_list(&list);
}

Test(kallsyms, where_code_may_have_come_since_the_list_itself_is_read)
{
	// Beyond all, between two modules, and before all.
	static const uint64_t unsure[] = { 0xffffffffc0000400, 0xffffffffc0000180, 0x1000 };
	static const char *const names[] = { "later [bpf]", "two [ext4]", NULL };

	for (size_t i = 0; i < 3; i++) {
		struct list list = make_list();
		save_list(&list);
		write_file(list.path, "a", "ffffffffc0000380 t later [bpf]\n");
		cleanup(kallsyms) struct kallsyms *k = load_list(&list);
		const char *sure = kallsyms_find(k, 0xfffffff10000010);
		const char *name = kallsyms_find(k, unsure[i]);
		cr_expect(name == names[i] || (name && strcmp(name, names[i]) == 0), "%zu", i);
		cr_expect(eq(sz, kallsyms_count(k), 205), "%zu", i);
		cr_expect(eq(str, (char *)sure, "filler_1"), "%zu", i); // lives on
		remove_list(&list);
	}
}

Test(kallsyms, a_cache_of_another_list_or_of_others_is_not_taken)
{
	struct list list = make_list();

	for (int i = 0; i < 3; i++) {
		save_list(&list);
		if (i == 0)
			write_file(list.path, "r+", "fffffff10000000 t renamed0\n");
		else if (i == 1)
			cr_assert(eq(int, chmod(list.cache, 0644), 0));
		else if (geteuid() == 0)
			cr_assert(eq(int, chown(list.cache, 1, 1), 0));
		write_file(list.path, "a", "fffffff10000c7f t new_one\n");
		cleanup(kallsyms) struct kallsyms *k = load_list(&list);
		if (i < 2 || geteuid() == 0)
			cr_expect(eq(sz, kallsyms_count(k), (size_t)205 + (size_t)i), "%d", i);
		unlink(list.cache);
	}
	remove_list(&list);
}

Test(kallsyms, a_damaged_cache_is_not_taken)
{
	struct list list = make_list();
	static char good[16384], bad[16384];

	save_list(&list);
	cleanup_close int fd = open(list.cache, O_RDWR);
	ssize_t size = read(fd, good, sizeof(good));
	cr_assert(gt(long, size, 32 + 203 * 16));
	for (ssize_t at = 0; at < size; at += 3) {
		memcpy(bad, good, (size_t)size);
		bad[at] = (char)~bad[at];
		cr_assert(eq(long, pwrite(fd, bad, (size_t)size, 0), size));
		cleanup(kallsyms) struct kallsyms *k = load_list(&list);
		// A letter of a name may pass. Nothing is read beyond the end, whatever it says.
		for (size_t i = 0; i < kallsyms_count(k); i++)
			cr_assert(lt(sz, strlen(kallsyms_at(k, i).name), (size_t)size));
		if (at < 32)
			cr_expect(eq(sz, kallsyms_count(k), 204), "%zd", at);
	}
	for (ssize_t cut = 0; cut < size; cut += 97) {
		cr_assert(eq(int, ftruncate(fd, 0), 0));
		cr_assert(eq(long, pwrite(fd, good, (size_t)cut, 0), cut));
		cleanup(kallsyms) struct kallsyms *k = load_list(&list);
		cr_expect(eq(sz, kallsyms_count(k), 204), "%zd", cut);
	}
	remove_list(&list);
}

Test(kallsyms, a_place_that_cannot_be_written_is_no_error)
{
	struct list list = make_list();

	snprintf(list.cache, sizeof(list.cache), "/nonexistent/kallsyms");
	cleanup(kallsyms) struct kallsyms *k = load_list(&list);
	kallsyms_save(k);
	cr_expect(eq(sz, kallsyms_count(k), 204));
	remove_list(&list);
}
