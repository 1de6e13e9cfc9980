// SPDX-License-Identifier: MIT
// The test itself is the file: its exported functions jump to others that its dynamic symbols do
// not name.
#include "symbolize/elf/jump_names.h"

#include "tests/support/expect.h"

#include <link.h>

#define FUNCTION(name, code)                                                                       \
	__asm__(".pushsection .text\n"                                                             \
	        ".type " #name ", @function\n" #name ":\n"                                         \
	        ".cfi_startproc\n" code "	ret\n"                                                   \
	        ".cfi_endproc\n"                                                                   \
	        ".skip 16, 0x90\n"                                                                 \
	        ".popsection\n")
#define EXPORTED(name, code)                                                                       \
	__asm__(".globl " #name);                                                                  \
	FUNCTION(name, code)
#define FAR(name)  ".byte 0xe9\n.long " #name " - . - 4\n"
#define NEAR(name) ".byte 0xeb\n.byte " #name " - . - 1\n"

extern const char first[] __attribute__((visibility("hidden")));
FUNCTION(first, "nop\n");
FUNCTION(taken_near, "nop\n");
FUNCTION(taken_twice, "nop\n");
FUNCTION(taken_late, "nop\n");
FUNCTION(taken_by_nobody, "nop\n");
EXPORTED(jumps_far, "endbr64\n" FAR(first));
EXPORTED(jumps_near, NEAR(taken_near));
EXPORTED(jumps_there, FAR(taken_twice));
EXPORTED(jumps_there_too, FAR(taken_twice));
EXPORTED(jumps_late, "nop\n" FAR(taken_late));

static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; // the program is the first
}

#define STRIDE 18 // of the functions without a name: nop, ret, and what is skipped

Test(jump_names, a_function_is_named_by_the_one_exported_function_that_jumps_to_it)
{
	static const char *const expected[] = { "jumps_far", "jumps_near", NULL, NULL, NULL };
	cleanup(elf_file) struct elf_file *elf = elf_file_open("/proc/self/exe", NULL);
	struct symbol_name names[5] = { 0 };
	uint64_t base = 0, addresses[5];

	cr_assert(ne(ptr, elf, NULL));
	dl_iterate_phdr(find_base, &base);
	for (size_t i = 0; i < 5; i++)
		addresses[i] = (uint64_t)(uintptr_t)first - base + i * STRIDE + 1;
	cr_assert(eq(int, jump_names_find(elf, addresses, 5, names), 0));
	for (size_t i = 0; i < 5; i++) {
		char name[64] = "";
		if (names[i].text)
			snprintf(name, sizeof(name), "%.*s", (int)names[i].length, names[i].text);
		cr_expect(eq(str, name, (char *)(expected[i] ? expected[i] : "")), "%zu", i);
		if (names[i].text)
			cr_expect(eq(u64, names[i].start, addresses[i] - 1));
	}
}

Test(jump_names, names_that_are_known_stay)
{
	cleanup(elf_file) struct elf_file *elf = elf_file_open("/proc/self/exe", NULL);
	struct symbol_name name = { .text = "known", .length = 5 };
	uint64_t base = 0;

	cr_assert(ne(ptr, elf, NULL));
	dl_iterate_phdr(find_base, &base);
	uint64_t address = (uint64_t)(uintptr_t)first - base;
	cr_assert(eq(int, jump_names_find(elf, &address, 1, &name), 0));
	cr_expect(eq(str, (char *)name.text, "known"));
}
