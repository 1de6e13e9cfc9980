// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/reader/target.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[128];

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
}

static void close_all(void)
{
	temporary_remove(directory);
}

TestSuite(target, .init = open_all, .fini = close_all);

static void write_program(const void *bytes, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	cr_assert(fd >= 0);
	cr_assert(write(fd, bytes, size) == (ssize_t)size);
	fchmod(fd, mode);
	close(fd);
}

static void write_elf(const char *loader, mode_t mode)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		char loader[64];
	} elf = { .segment = { .p_type = loader ? PT_INTERP : PT_LOAD } };

	memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
	elf.header.e_ident[EI_CLASS] = ELFCLASS64;
	elf.header.e_machine = EM_X86_64;
	elf.header.e_phoff = sizeof(elf.header);
	elf.header.e_phentsize = sizeof(elf.segment);
	elf.header.e_phnum = 1;
	elf.segment.p_offset = offsetof(__typeof__(elf), loader);
	elf.segment.p_filesz = loader ? strlen(loader) + 1 : 0;
	strcpy(elf.loader, loader ? loader : "");
	write_program(&elf, sizeof(elf), mode);
}

Test(target, the_loader_tells_the_library)
{
	write_elf("/lib64/ld-linux-x86-64.so.2", 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC));
	write_elf("/nix/store/glibc/lib/ld-linux-x86-64.so.2", 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC));
	write_elf("/lib/ld-musl-x86_64.so.1", 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_OTHER_LIBC));
	write_elf(NULL, 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_STATIC));
}

Test(target, a_program_with_other_rights_is_told)
{
	if (geteuid() != 0)
		cr_skip("needs the right to give a file away");
	write_elf("/lib64/ld-linux-x86-64.so.2", 0700);
	cr_assert(eq(int, chown(path, 65534, 65534), 0));
	chmod(path, 04755);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_PRIVILEGED));
	chmod(path, 02755);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_PRIVILEGED));
	chmod(path, 0755);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC));
}

Test(target, scripts_lead_to_their_interpreter)
{
	static const char script[] = "#! /bin/sh -e\nexit\n", plain[] = "exit 3\n",
			  loop[] = "#!/nonexistent/interpreter\n";

	write_program(script, sizeof(script) - 1, 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC));
	write_program(plain, sizeof(plain) - 1, 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC));
	write_program(loop, sizeof(loop) - 1, 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_UNKNOWN));
}

Test(target, commands_are_looked_for_as_execvp_does)
{
	write_elf(NULL, 0700);
	setenv("PATH", "/nonexistent", 1);
	cr_expect(eq(int, (int)target_kind("program"), (int)TARGET_UNKNOWN));
	setenv("PATH", directory, 1);
	cr_expect(eq(int, (int)target_kind("program"), (int)TARGET_STATIC));
	chmod(path, 0600);
	cr_expect(eq(int, (int)target_kind("program"), (int)TARGET_UNKNOWN), "not executable");
}

Test(target, damaged_programs_are_unknown_or_refused_without_harm)
{
	Elf64_Ehdr header = { 0 };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	write_program(&header, sizeof(header), 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_UNKNOWN));
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_machine = EM_X86_64;
	header.e_phentsize = sizeof(Elf64_Phdr);
	header.e_phnum = 65535;
	header.e_phoff = UINT64_MAX - 8;
	write_program(&header, sizeof(header), 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_STATIC));
	write_program(&header, 10, 0700);
	cr_expect(eq(int, (int)target_kind(path), (int)TARGET_GLIBC), "the shell gets it");
}

Test(target, every_kind_but_the_first_has_its_reason)
{
	cr_expect(eq(str, (char *)target_reason(TARGET_GLIBC), ""));
	for (int kind = TARGET_STATIC; kind <= TARGET_UNKNOWN; kind++)
		cr_expect(ne(str, (char *)target_reason((enum target_kind)kind), ""));
}

// An ELF file whose dynamic symbols are named by TEXT of LENGTH, and which says that this is SIZE.
static void write_names(const char *text, size_t length, size_t size)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[2];
		char names[64];
	} file = { .sections = { { .sh_type = SHT_DYNSYM, .sh_link = 1 },
		                 { .sh_type = SHT_STRTAB, .sh_size = size } } };

	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_shoff = offsetof(__typeof__(file), sections);
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	file.header.e_shnum = 2;
	file.sections[1].sh_offset = offsetof(__typeof__(file), names);
	memcpy(file.names, text, length);
	write_program(&file, sizeof(file), 0700);
}

Test(target, an_interpreter_is_known_by_what_it_defines_or_needs)
{
	static const char defines[] = "\0main\0_PyRuntime\0", needs[] = "\0libpython3.12.so.1.0\0";
	static const char other[] = "\0main\0my_PyRuntimeError\0";

	write_names(defines, sizeof(defines), sizeof(defines));
	cr_expect(target_has_python(path));
	write_names(needs, sizeof(needs), sizeof(needs));
	cr_expect(target_has_python(path));
	write_names(other, sizeof(other), sizeof(other));
	cr_expect(not(target_has_python(path)));
	write_names(defines, sizeof(defines), 1000);
	cr_expect(not(target_has_python(path)), "names beyond the end of the file");
	cr_expect(not(target_has_python("/bin/true")));
	cr_expect(not(target_has_python("/nonexistent")));
}
