// SPDX-License-Identifier: MIT
// What the test itself consists of: its functions are looked for in its own file.
#include "symbolize/elf/function_start.h"
#include "tests/support/expect.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Two jump to the third, one by a jump that the assembler does not shorten.
void jumper(void), near_jumper(void), landing(void), comparer(void);
__asm__(".pushsection .text\n"
        ".globl jumper\n"
        "jumper:\n"
        "	.cfi_startproc\n"
        "	nop\n"
        "	.byte 0xe9\n"
        "	.long landing - . - 4\n"
        "	.cfi_endproc\n"
        ".skip 16, 0x90\n"
        ".globl near_jumper\n"
        "near_jumper:\n"
        "	.cfi_startproc\n"
        "	nop\n"
        "	.byte 0xeb\n"
        "	.byte landing - . - 1\n"
        "	.cfi_endproc\n"
        ".skip 16, 0x90\n"
        ".globl landing\n"
        "landing:\n"
        "	.cfi_startproc\n"
        "	nop\n"
        "	nop\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".globl comparer\n"
        "comparer:\n"
        "	.cfi_startproc\n"
        "	lea jumper(%rip), %rcx\n" // without a comparison
        "	lea landing(%rip), %r13\n"
        "	lea -1(%r12), %rsi\n"
        "	cmp %r13, %rax\n"
        "	jne comparer\n"
        "	lea near_jumper(%rip), %rdx\n"
        "	cmp %rax, %rsi\n" // of other registers
        "	ret\n"
        "	.cfi_endproc\n"
        ".popsection\n");

// Where a section begins, behind which a byte stands that is no jump, but might begin one.
void first_there(void), second_there(void);
__asm__(".pushsection .text_first, \"ax\", @progbits\n"
        ".globl first_there\n"
        "first_there:\n"
        "	.cfi_startproc\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".skip 15, 0x90\n"
        ".globl second_there\n"
        "second_there:\n"
        "	.cfi_startproc\n"
        "	movzbl %al, %eax\n"
        "	ret\n"
        ".skip 40, 0x90\n"
        "	.cfi_endproc\n"
        ".popsection\n");

static char path[4096];

static struct function_starts *open_self(void)
{
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct module module = { .id = 1, .kind = MODULE_ELF, .path = path, .fd = -1 };

	cr_assert(length > 0);
	path[length] = '\0';
	struct function_starts *f = function_starts_open(&module);
	cr_assert(f != NULL);
	return f;
}

struct where {
	uint64_t run_time, address, offset;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct where *where = context;

	(void)size;
	where->address = where->run_time - info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && where->address >= segment->p_vaddr &&
		    where->address - segment->p_vaddr < segment->p_memsz)
			where->offset = where->address - segment->p_vaddr + segment->p_offset;
	}
	return 1; // the program is the first
}

static struct where where_of(void (*function)(void))
{
	struct where where = { .run_time = (uint64_t)(uintptr_t)function };

	dl_iterate_phdr(look, &where);
	return where;
}

Test(function_start, every_address_of_a_function_leads_to_where_it_begins)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	struct where where = where_of(landing);

	for (uint64_t i = 0; i < 3; i++)
		cr_expect(eq(u64, function_starts_find(f, where.address + i), where.address));
	cr_expect(ne(u64, function_starts_find(f, where.address - 1), where.address));
	cr_expect(eq(u64, function_starts_find(f, 0), 0));
}

Test(function_start, an_offset_in_the_file_is_an_address_where_there_is_code)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	struct where where = where_of(landing);

	cr_expect(eq(u64, function_starts_address(f, where.offset), where.address));
	cr_expect(eq(u64, function_starts_address(f, 0), 0));
	cr_expect(eq(u64, function_starts_address(f, UINT64_MAX), 0));
}

static bool take(void *context, uint64_t to)
{
	uint64_t *last = context;

	*last = to;
	return true;
}

Test(function_start, a_jump_to_where_another_function_begins_is_found)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	uint64_t to = 0;

	function_starts_jumps(f, where_of(jumper).address, take, &to);
	cr_expect(eq(u64, to, where_of(landing).address));
	to = 0;
	function_starts_jumps(f, where_of(near_jumper).address, take, &to);
	cr_expect(eq(u64, to, where_of(landing).address));
	to = 0;
	function_starts_jumps(f, where_of(landing).address, take, &to);
	cr_expect(eq(u64, to, 0));
	function_starts_jumps(f, UINT64_MAX - 2, take, &to);
	cr_expect(eq(u64, to, 0));
}

static bool count(void *context, uint64_t with)
{
	struct {
		uint64_t last;
		size_t count;
	} *seen = context;

	seen->last = with;
	seen->count++;
	return true;
}

Test(function_start, a_function_whose_address_is_compared_with_is_found)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	struct {
		uint64_t last;
		size_t count;
	} seen = { .count = 0 };

	function_starts_compares(f, where_of(comparer).address, count, &seen);
	cr_expect(eq(sz, seen.count, 1));
	cr_expect(eq(u64, seen.last, where_of(landing).address));
	function_starts_compares(f, where_of(jumper).address, count, &seen);
	function_starts_compares(f, UINT64_MAX - 2, count, &seen);
	cr_expect(eq(sz, seen.count, 1));
}

struct jumps {
	uint64_t from[4], to[4];
	size_t count;
};

static void note(void *context, uint64_t from, uint64_t to)
{
	struct jumps *jumps = context;

	if (jumps->count < 4) {
		jumps->from[jumps->count] = from;
		jumps->to[jumps->count] = to;
	}
	jumps->count++;
}

Test(function_start, all_jumps_to_a_function_are_found_in_the_whole_file)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	const uint64_t wanted[] = { where_of(jumper).address, where_of(landing).address };
	struct jumps jumps = { .count = 0 };

	function_starts_jumps_to(f, wanted, 2, note, &jumps);
	cr_assert(eq(sz, jumps.count, 2));
	cr_expect(eq(u64, jumps.from[0], where_of(jumper).address));
	cr_expect(eq(u64, jumps.from[1], where_of(near_jumper).address));
	cr_expect(eq(u64, jumps.to[0], wanted[1]));
	cr_expect(eq(u64, jumps.to[1], wanted[1]));
	function_starts_jumps_to(f, wanted, 0, note, &jumps);
	cr_expect(eq(sz, jumps.count, 2));
}

Test(function_start, what_is_no_jump_leads_nowhere)
{
	cleanup(function_starts) struct function_starts *f = open_self();
	const uint64_t wanted = where_of(first_there).address;
	struct jumps jumps = { .count = 0 };

	cr_assert(eq(u64, function_starts_find(f, wanted), wanted));
	cr_assert(eq(u64, function_starts_find(f, where_of(second_there).address),
	             where_of(second_there).address));
	function_starts_jumps_to(f, &wanted, 1, note, &jumps);
	cr_expect(eq(sz, jumps.count, 0));
}

#define STARTS_MAX 20000

static uint64_t starts[STARTS_MAX];

struct sum {
	uint64_t hash;
	size_t count;
};

static void sum_up(void *context, uint64_t from, uint64_t to)
{
	struct sum *sum = context;

	sum->hash = sum->hash * 31 + from * 7 + to;
	sum->count++;
}

// All jumps between functions of the C library, which is too large to be looked through each time.
static struct sum jumps_of_libc(const char *directory)
{
	Dl_info info = { 0 };
	struct sum sum = { 0 };
	size_t count = 0;

	cr_assert(dladdr((const void *)(uintptr_t)getenv, &info) != 0);
	const struct module libc = {
		.id = 1, .kind = MODULE_ELF, .path = info.dli_fname, .fd = -1
	};
	cleanup(function_starts) struct function_starts *f = function_starts_open(&libc);
	cr_assert(f != NULL);
	function_starts_keep_in(f, directory);
	for (uint64_t at = 0; at < 2 << 20; at += 16) {
		uint64_t start = function_starts_find(f, at);
		if (start && count < STARTS_MAX && (!count || starts[count - 1] != start))
			starts[count++] = start;
	}
	function_starts_jumps_to(f, starts, count, sum_up, &sum);
	return sum;
}

// The only file in DIRECTORY, open.
static int open_kept(const char *directory)
{
	DIR *folder = opendir(directory);
	int fd = -1;

	cr_assert(folder != NULL);
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strstr(entry->d_name, "-jumps-"))
			fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
	closedir(folder);
	return fd;
}

Test(function_start, jumps_within_a_large_library_are_kept_from_run_to_run)
{
	char root[] = "/tmp/function_start_test.XXXXXX", directory[64], command[96];
	const struct sum all = jumps_of_libc(NULL);

	cr_assert(mkdtemp(root) != NULL);
	snprintf(directory, sizeof(directory), "%s/sections", root);
	cr_expect(gt(sz, all.count, 100));
	for (int i = 0; i < 2; i++) { // found, and kept from the first time
		const struct sum kept = jumps_of_libc(directory);
		cr_expect(eq(sz, kept.count, all.count));
		cr_expect(eq(u64, kept.hash, all.hash));
	}
	cleanup_close int fd = open_kept(directory);
	cr_assert(ge(int, fd, 0));
	uint32_t wrong[64];
	memset(wrong, 0xff, sizeof(wrong));
	cr_assert(eq(int, (int)pwrite(fd, wrong, sizeof(wrong), 8), (int)sizeof(wrong)));
	cr_expect(eq(sz, jumps_of_libc(directory).count, all.count - 32)); // what is wrong there
	cr_assert(eq(int, (int)pwrite(fd, wrong, sizeof(wrong), 0), (int)sizeof(wrong)));
	cr_expect(eq(sz, jumps_of_libc(directory).count, all.count)); // it is looked for again
	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect(eq(int, system(command), 0));
}

Test(function_start, what_is_no_file_has_none)
{
	const struct module none = { .id = 1, .kind = MODULE_ELF, .path = "/nowhere", .fd = -1 };
	const struct module text = { .id = 1, .kind = MODULE_ELF, .path = "/etc/passwd", .fd = -1 };
	const struct module jit = { .id = 1, .kind = MODULE_JIT, .path = "[jit 1]", .fd = -1 };

	cr_expect(function_starts_open(&none) == NULL);
	cr_expect(function_starts_open(&text) == NULL);
	cr_expect(function_starts_open(&jit) == NULL);
}
