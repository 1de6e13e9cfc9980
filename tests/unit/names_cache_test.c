// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/names_cache.h"
#include "symbolize/symbolizer.h"
#include "tests/support/expect.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY 7

static char directory[] = "/tmp/names-cache-test-XXXXXX";
static char path[64];

static void make_directory(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
}

static void remove_directory(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(names_cache, .init = make_directory, .fini = remove_directory);

static const struct symbol symbols[] = {
	{ "inner", "/src/a.c", 3, true, "/src/a.h", false },
	{ "outer", "/src/a.c", 9, false, NULL, true },
	{ "other", NULL, 0, false, NULL, false },
};

static void write_file(void)
{
	struct answers answers = { 0 };
	struct names_cache_facts facts = {
		{ DEBUG_LINES, "/usr/lib/debug/a", "", "" },
		true,
	};

	// Not in the order of addresses, and one of which nothing is known.
	cr_assert(answers_add(&answers, 500, (struct symbol_chain){ 1, symbols + 2 }));
	cr_assert(answers_add(&answers, 100, (struct symbol_chain){ 2, symbols }));
	cr_assert(answers_add(&answers, 300, (struct symbol_chain){ 0, NULL }));
	names_cache_write(path, KEY, &answers, &facts);
	answers_fini(&answers);
}

Test(names_cache, what_is_written_is_read)
{
	struct answers answers = { 0 };
	struct names_cache_facts facts;

	write_file();
	cleanup(stored_names) struct stored_names *s =
		names_cache_read(path, KEY, &answers, &facts);
	cr_assert(s != NULL);
	cr_expect(eq(sz, answers.count, 3));
	cr_expect(eq(int, facts.status.level, DEBUG_LINES));
	cr_expect(eq(str, facts.status.source, "/usr/lib/debug/a"));
	cr_expect(eq(str, facts.status.reason, ""));
	cr_expect(facts.has_lines);
	const struct symbol_chain *chain = answers_find(&answers, 100);
	cr_assert(chain && chain->count == 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect(eq(str, chain->symbols[i].function, symbols[i].function));
		cr_expect(eq(str, chain->symbols[i].file, symbols[i].file));
		cr_expect(eq(str, chain->symbols[i].declared, symbols[i].declared));
		cr_expect(eq(int, chain->symbols[i].line, symbols[i].line));
		cr_expect(eq(int, chain->symbols[i].inlined, symbols[i].inlined));
		cr_expect(eq(int, chain->symbols[i].unoptimized, symbols[i].unoptimized));
	}
	cr_expect(eq(sz, answers_find(&answers, 300)->count, 0));
	cr_expect(eq(ptr, answers_find(&answers, 500)->symbols->file, NULL));
	cr_expect(eq(ptr, answers_find(&answers, 200), NULL));
	answers_fini(&answers);
}

static bool can_read(uint64_t key)
{
	struct answers answers = { 0 };
	struct names_cache_facts facts;
	cleanup(stored_names) struct stored_names *s =
		names_cache_read(path, key, &answers, &facts);

	cr_expect(s || !answers.count);
	answers_fini(&answers);
	return s != NULL;
}

Test(names_cache, a_file_of_another_key_or_that_others_may_write_is_not_taken)
{
	write_file();
	cr_expect(can_read(KEY));
	cr_expect(not(can_read(KEY + 1)));
	cr_assert(chmod(path, 0620) == 0);
	cr_expect(not(can_read(KEY)));
	cr_assert(unlink(path) == 0);
	cr_expect(not(can_read(KEY)));
	cr_assert(symlink("/dev/zero", path) == 0);
	cr_expect(not(can_read(KEY)));
}

Test(names_cache, no_damage_of_a_byte_leads_outside)
{
	uint8_t bytes[1024];

	write_file();
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	cr_assert(gt(long, size, 100));
	for (ssize_t i = 0; i < size; i++) {
		uint8_t bad = bytes[i] ^ 0x80;
		cr_assert(pwrite(fd, &bad, 1, i) == 1);
		can_read(KEY); // the sanitizers judge
		cr_assert(pwrite(fd, &bytes[i], 1, i) == 1);
	}
	for (ssize_t cut = 0; cut < size; cut++) {
		cr_assert(ftruncate(fd, cut) == 0);
		cr_expect(not(can_read(KEY)));
		cr_assert(pwrite(fd, bytes, (size_t)size, 0) == size);
	}
}

Test(names_cache, the_oldest_files_go_first)
{
	char name[96];

	for (int i = 0; i < 4; i++) {
		struct timespec times[2] = { { .tv_sec = 100 + i }, { .tv_sec = 100 + i } };
		snprintf(name, sizeof(name), "%s/%d", directory, i);
		cleanup_close int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		cr_assert(fd >= 0 && ftruncate(fd, 1000) == 0 && futimens(fd, times) == 0);
	}
	names_cache_bound(directory, 4000);
	cr_expect(eq(int, access(name, F_OK), 0));
	names_cache_bound(directory, 2500);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s/%d", directory, i);
		cr_expect(eq(int, access(name, F_OK), i < 2 ? -1 : 0), "%s", name);
	}
}

static int note_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; // the first is the program
}

// What a function of this program, built with -g, is called.
static struct symbol_chain ask(struct symbolizer *s, struct debug_status *status)
{
	static const struct module module = {
		.id = 1, .kind = MODULE_ELF, .fd = -1, .path = "/proc/self/exe"
	};
	uint64_t base = 0;
	struct symbol_chain chain;
	struct error err;

	dl_iterate_phdr(note_base, &base);
	uint64_t address = (uint64_t)(uintptr_t)ask - base;
	cr_assert(symbolizer_resolve(s, &module, &address, 1, &chain, &err) == 0);
	*status = *symbolizer_debug_status(s, &module);
	return chain;
}

// Writes NEW over what the only file in DIRECTORY has as OLD, which is as long.
static void replace_in_file(const char *old, const char *new)
{
	char bytes[4096], name[300] = "";
	DIR *d = opendir(directory);

	for (const struct dirent *entry; d && (entry = readdir(d));)
		if (entry->d_name[0] != '.')
			snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name);
	if (d)
		closedir(d);
	cleanup_close int fd = open(name, O_RDWR | O_CLOEXEC);
	cr_assert(fd >= 0, "nothing was kept");
	ssize_t size = read(fd, bytes, sizeof(bytes));
	char *at = size > 0 ? memmem(bytes, (size_t)size, old, strlen(old) + 1) : NULL;
	cr_assert(at != NULL);
	cr_assert(pwrite(fd, new, strlen(new), at - bytes) == (ssize_t)strlen(new));
}

Test(names_cache, a_second_symbolizer_says_what_the_first_one_found)
{
	struct symbolizer_options options = { .names_directory = directory, .names_worth_ns = 1 };
	struct debug_status first, second;
	struct symbol found;
	struct error err;
	struct symbolizer *looks = symbolizer_new(&options, &err);
	struct symbol_chain chain = ask(looks, &first);

	cr_assert(chain.count && chain.symbols->function && chain.symbols->file);
	cr_expect(eq(str, chain.symbols->function, "ask"));
	cr_expect(eq(int, first.level, DEBUG_LINES));
	found = *chain.symbols;
	found.file = strdup(found.file);
	symbolizer_free(looks);
	replace_in_file("ask", "ASK"); // else it may have looked it up again
	cleanup(symbolizer) struct symbolizer *again = symbolizer_new(&options, &err);
	chain = ask(again, &second);
	cr_assert(eq(u32, chain.count, 1));
	cr_expect(eq(str, chain.symbols->function, "ASK"));
	cr_expect(eq(str, chain.symbols->file, found.file));
	cr_expect(eq(int, chain.symbols->line, found.line));
	cr_expect(eq(int, second.level, first.level));
	cr_expect(eq(str, second.source, first.source));
	cr_expect(eq(str, second.reason, first.reason));
	free((char *)found.file);
}

// A program of a package, without debug information and no more than an address of it.
static bool ask_for_true(struct debug_status *status)
{
	static const struct module module = {
		.id = 1, .kind = MODULE_ELF, .fd = -1, .path = "/usr/bin/true"
	};
	struct symbolizer_options options = { .names_directory = directory };
	const uint64_t address = 0x2000;
	struct symbol_chain chain;
	struct error err;
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, &err);

	if (access(module.path, R_OK) < 0)
		return false;
	cr_assert(symbolizer_resolve(s, &module, &address, 1, &chain, &err) == 0);
	*status = *symbolizer_debug_status(s, &module);
	return status->level != DEBUG_LINES && strstr(status->remedy, "install");
}

Test(names_cache, what_was_searched_for_among_all_packages_is_kept_however_fast_the_names_were)
{
	struct debug_status first, second;

	if (!ask_for_true(&first))
		cr_skip_test("/usr/bin/true is not what it is elsewhere");
	replace_in_file(first.remedy + 1, "NSTALL"); // else it may have searched again
	cr_expect(ask_for_true(&second) == false);
	cr_expect(eq(str, second.reason, first.reason));
	cr_expect(eq(str, second.remedy + 7, first.remedy + 7));
	cr_expect(strncmp(second.remedy + 1, "NSTALL", 6) == 0);
}
