// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "symbolize/symbolizer.h"
#include "tests/support/expect.h"
#include "tests/unit/elf_builder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static struct symbolizer *start(const struct symbolizer_options *options)
{
	struct error err = { 0 };
	static const struct symbolizer_options none;
	struct symbolizer *s = symbolizer_new(options ? options : &none, &err);

	cr_assert(s != NULL, "%s", err.text);
	return s;
}

static struct symbol_chain resolve(struct symbolizer *s, const struct module *module,
                                   uint64_t address)
{
	struct symbol_chain chain;
	struct error err = { 0 };

	cr_assert(eq(int, symbolizer_resolve(s, module, &address, 1, &chain, &err), 0), "%s",
	          err.text);
	return chain;
}

// ---- this program itself, which is built with -g

static const char *const this_file = __FILE__;
static volatile int sink;

static inline __attribute__((always_inline)) uint64_t innermost(void)
{
	uint64_t here;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(here));
	sink++;
	return here;
}
static const int innermost_line = __LINE__ - 4;

static inline __attribute__((always_inline)) uint64_t middle(void)
{
	return innermost() + 0; // on line middle_line
}
static const int middle_line = __LINE__ - 2;

static __attribute__((noinline)) uint64_t outermost(void)
{
	uint64_t here = middle();
	sink++;
	return here;
}
static const int outermost_line = __LINE__ - 4;

static int note_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; // the first is the program
}

static uint64_t program_base(void)
{
	uint64_t base = 0;

	dl_iterate_phdr(note_base, &base);
	return base;
}

Test(symbolizer, inlined_calls_are_a_chain_with_the_lines_of_the_calls)
{
	static const char *const names[] = { "innermost", "middle", "outermost" };
	const int lines[] = { innermost_line, middle_line, outermost_line };
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module self = { .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };
	// The lea gives the address behind it: step back into it.
	struct symbol_chain chain = resolve(s, &self, outermost() - program_base() - 1);

	cr_assert(eq(u32, chain.count, 3));
	for (uint32_t i = 0; i < 3; i++) {
		const struct symbol *symbol = &chain.symbols[i];
		cr_expect(eq(str, (char *)symbol->function, (char *)names[i]));
		cr_expect(eq(int, symbol->line, lines[i]), "%s", names[i]);
		cr_expect(eq(int, symbol->inlined, i < 2), "%s", names[i]);
		cr_assert(symbol->file != NULL);
		cr_expect(eq(str, (char *)symbol->file, __FILE__));
	}
	cr_expect(eq(int, symbolizer_debug_status(s, &self)->level, DEBUG_LINES));
	cr_expect(eq(str, (char *)symbolizer_debug_status(s, &self)->reason, ""));
}

static uint64_t generated(void);

Test(symbolizer, a_function_is_declared_in_one_file_wherever_its_lines_are)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module self = { .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };
	struct symbol_chain chain = resolve(s, &self, generated() - program_base() - 1);

	cr_assert(eq(u32, chain.count, 1));
	cr_assert(chain.symbols[0].file && chain.symbols[0].declared);
	cr_expect(eq(str, strrchr(chain.symbols[0].file, '/') + 1, "grammar.y"));
	cr_expect(eq(int, chain.symbols[0].line, 7));
	cr_expect(eq(str, (char *)chain.symbols[0].declared, (char *)this_file));
}

// As in a C library: what its callers write, and what it calls itself.
static __attribute__((noinline, used)) uint64_t __internal_call(void)
{
	return innermost() + (uint64_t)(sink & 0);
}
__attribute__((weak, alias("__internal_call"))) uint64_t known_call(void);

// GCC splits a function in two and inlines one part into the other: both have its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
static __attribute__((used)) uint64_t __internal_halves(void)
{
	inline __attribute__((always_inline)) uint64_t __internal_halves(void)
	{
		return innermost() + (uint64_t)(sink & 0);
	}

	return __internal_halves() + (uint64_t)(sink & 0);
}
#pragma GCC diagnostic pop
__attribute__((weak, alias("__internal_halves"))) uint64_t known_halves(void);

static __attribute__((noinline)) uint64_t _without_alias(void)
{
	return innermost() - (uint64_t)(sink & 0);
}

Test(symbolizer, the_name_that_callers_know_stands_for_the_internal_one)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module self = { .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };
	const uint64_t addresses[] = { known_call(), _without_alias() };
	static const char *const names[] = { "known_call", "_without_alias" };

	for (size_t i = 0; i < 2; i++) {
		struct symbol_chain chain = resolve(s, &self, addresses[i] - program_base() - 1);
		cr_assert(eq(u32, chain.count, 2));
		cr_expect(eq(str, (char *)chain.symbols[0].function, "innermost"));
		cr_expect(eq(str, (char *)chain.symbols[1].function, (char *)names[i]));
	}
}

Test(symbolizer, the_part_of_a_function_that_is_inlined_into_it_has_the_same_name)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module self = { .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };
	struct symbol_chain chain = resolve(s, &self, known_halves() - program_base() - 1);

	cr_assert(eq(u32, chain.count, 3));
	cr_expect(eq(str, (char *)chain.symbols[1].function, "known_halves"));
	cr_expect(eq(str, (char *)chain.symbols[2].function, "known_halves"));
}

Test(symbolizer, many_addresses_at_once_give_what_single_ones_give)
{
	enum {
		COUNT = 3000
	};
	static uint64_t addresses[COUNT];
	static struct symbol_chain batch[COUNT];
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module self = { .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };
	uint64_t first = (uint64_t)(uintptr_t)outermost - program_base() - COUNT / 2;

	for (size_t i = 0; i < COUNT; i++)
		addresses[i] = first + i;
	cr_assert(eq(int, symbolizer_resolve(s, &self, addresses, COUNT, batch, NULL), 0));
	for (size_t i = 0; i < COUNT; i += 7) {
		struct symbol_chain single = resolve(s, &self, addresses[i]);
		cr_assert(eq(u32, single.count, batch[i].count), "%#lx", addresses[i]);
		for (uint32_t k = 0; k < single.count; k++) {
			const struct symbol *a = &single.symbols[k], *b = &batch[i].symbols[k];
			cr_expect(a->function == b->function && a->file == b->file &&
			                  a->line == b->line,
			          "%#lx", addresses[i]);
		}
	}
}

Test(symbolizer, the_vdso_is_named_from_our_own)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module vdso = { .id = 1, .kind = MODULE_VDSO, .path = "[vdso]", .fd = -1 };
	void *handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char *code = handle ? dlsym(handle, "__vdso_clock_gettime") : NULL;

	if (!code)
		cr_skip_test("there is no vDSO here");
	struct symbol_chain chain =
		resolve(s, &vdso, (uint64_t)(uintptr_t)code - getauxval(AT_SYSINFO_EHDR) + 1);
	cr_assert(eq(u32, chain.count, 1));
	cr_expect(ne(ptr, strstr(chain.symbols[0].function, "clock_gettime"), NULL), "%s",
	          chain.symbols[0].function);
}

// ---- files that come and go

static struct elf_builder builder;

static void write_file(const char *path, const void *bytes, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "wb");

	cr_assert(file != NULL, "%s", path);
	cr_assert(eq(sz, fwrite(bytes, 1, size, file), size));
}

// A library with one function, "work", at 0x1000.
static void write_library(const char *path, const char *id)
{
	Elf64_Sym symbols[2] = { [1] = { .st_name = 1,
		                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		                         .st_shndx = 1,
		                         .st_value = 0x1000,
		                         .st_size = 0x100 } };

	elf_builder_init(&builder);
	Elf64_Shdr *text = elf_builder_add(&builder, ".text", SHT_NOBITS, NULL, 0x100);
	text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	text->sh_addr = 0x1000;
	elf_builder_add(&builder, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols))->sh_link = 3;
	elf_builder_add(&builder, ".strtab", SHT_STRTAB, "\0_ZN2ns4workEi", 15);
	elf_builder_add_build_id(&builder, id);
	elf_builder_finish(&builder);
	write_file(path, builder.bytes, builder.used);
}

static char directory[] = "/tmp/symbolizer-test-XXXXXX";
static char library[64];

static void setup(void)
{
	cr_assert(mkdtemp(directory) != NULL);
	snprintf(library, sizeof(library), "%s/lib.so", directory);
	write_library(library, "\1\2\3\4\5\6\7\10");
}

static void teardown(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_assert(eq(int, system(command), 0)); // NOLINT: the path is our own
}

static struct module library_module(void)
{
	return (struct module){ .id = 1,
		                .kind = MODULE_ELF,
		                .path = library,
		                .fd = -1,
		                .build_id = { 1, 2, 3, 4, 5, 6, 7, 8 },
		                .build_id_size = 8 };
}

Test(files, a_symbol_table_gives_names_and_its_lack_of_lines_is_said, .init = setup,
     .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module module = library_module();
	struct symbol_chain chain = resolve(s, &module, 0x1010);
	const struct debug_status *status = symbolizer_debug_status(s, &module);

	cr_assert(eq(u32, chain.count, 1));
	cr_expect(eq(str, (char *)chain.symbols[0].function, "ns::work(int)"));
	cr_expect(eq(int, chain.symbols[0].line, 0));
	cr_expect(eq(int, status->level, DEBUG_SYMBOLS));
	cr_expect(eq(str, (char *)status->source, library));
	cr_expect(eq(str, (char *)status->reason, "no debug information"));
	cr_expect(eq(str, (char *)status->remedy, "compile with -g"));
}

Test(files, a_file_that_has_changed_is_refused, .init = setup, .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module module = library_module();

	write_library(library, "\1\2\3\4\5\6\7\11");
	cr_expect(eq(u32, resolve(s, &module, 0x1010).count, 0));
	const struct debug_status *status = symbolizer_debug_status(s, &module);
	cr_expect(eq(int, status->level, DEBUG_NONE));
	cr_expect(ne(ptr, strstr(status->reason, "has changed since"), NULL), "%s", status->reason);
	cr_expect(eq(str, (char *)status->remedy, "profile again"));
}

// All that a program of a distribution has is the table of what it imports.
Test(files, imports_are_no_names_of_the_files_own, .init = setup, .fini = teardown)
{
	static const struct {
		uint16_t section;
		int level;
	} rows[] = { { SHN_UNDEF, DEBUG_NONE }, { 1, DEBUG_DYNAMIC } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Elf64_Sym symbols[2] = { [1] = { .st_name = 1,
			                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			                         .st_shndx = rows[i].section,
			                         .st_value = rows[i].section ? 0x1000 : 0 } };
		elf_builder_init(&builder);
		Elf64_Shdr *text = elf_builder_add(&builder, ".text", SHT_NOBITS, NULL, 0x100);
		text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		text->sh_addr = 0x1000;
		elf_builder_add(&builder, ".dynsym", SHT_DYNSYM, symbols, sizeof(symbols))
			->sh_link = 3;
		elf_builder_add(&builder, ".dynstr", SHT_STRTAB, "\0malloc", 8);
		elf_builder_finish(&builder);
		write_file(library, builder.bytes, builder.used);
		cleanup(symbolizer) struct symbolizer *s = start(NULL);
		struct module module = { .id = 1, .kind = MODULE_ELF, .path = library, .fd = -1 };
		resolve(s, &module, 0x1000);
		cr_expect(eq(int, (int)symbolizer_debug_status(s, &module)->level, rows[i].level));
	}
}

// Whatever is known of its functions, they are none of the script's.
Test(symbolizer, nobody_is_told_to_get_the_symbols_of_an_interpreter)
{
	static const struct {
		const char *path;
		bool interpreter;
	} rows[] = { { "/usr/bin/lua5.9", true },
		     { "/usr/lib/libruby-9.1.so.9.1", true },
		     { "/usr/bin/no-such-program", false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup(symbolizer) struct symbolizer *s = start(NULL);
		struct module module = { .path = (char *)rows[i].path,
			                 .kind = MODULE_ELF,
			                 .fd = -1 };
		resolve(s, &module, 0x1000);
		const char *remedy = symbolizer_debug_status(s, &module)->remedy;
		cr_expect(eq(int, strstr(remedy, "dbgsym") != NULL, !rows[i].interpreter), "%s: %s",
		          rows[i].path, remedy);
		cr_expect(eq(int, strstr(remedy, "script") != NULL, rows[i].interpreter), "%s: %s",
		          rows[i].path, remedy);
	}
}

Test(files, without_a_build_id_another_inode_is_another_file, .init = setup, .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct stat st;

	cr_assert(eq(int, stat(library, &st), 0));
	struct module same = { .id = 1,
		               .kind = MODULE_ELF,
		               .path = library,
		               .fd = -1,
		               .device = st.st_dev,
		               .inode = st.st_ino };
	struct module other = same;
	other.id = 2;
	other.inode++;
	cr_expect(eq(u32, resolve(s, &same, 0x1010).count, 1));
	cr_expect(eq(u32, resolve(s, &other, 0x1010).count, 0));
}

Test(files, a_deleted_file_is_read_through_its_descriptor, .init = setup, .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	cleanup_close int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct module module = library_module();

	unlink(library);
	write_library(library, "\1\2\3\4\5\6\7\11"); // another build has its name now
	module.fd = fd;
	cr_expect(eq(u32, resolve(s, &module, 0x1010).count, 1));
}

Test(files, a_file_that_is_gone_is_said_to_be, .init = setup, .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module module = library_module();

	unlink(library);
	cr_expect(eq(u32, resolve(s, &module, 0x1010).count, 0));
	const char *reason = symbolizer_debug_status(s, &module)->reason;
	cr_expect(ne(ptr, strstr(reason, "No such file"), NULL), "%s", reason);
}

Test(files, the_debug_file_of_a_file_that_is_gone_is_enough, .init = setup, .fini = teardown)
{
	char path[128], debug[64];
	struct module module = library_module();

	snprintf(debug, sizeof(debug), "%s/debug", directory);
	struct symbolizer_options options = { .debug_directories = debug };
	cleanup(symbolizer) struct symbolizer *s = start(&options);
	mkdir(debug, 0700);
	snprintf(path, sizeof(path), "%s/.build-id", debug);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.build-id/01", debug);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.build-id/01/02030405060708.debug", debug);
	cr_assert(eq(int, rename(library, path), 0));
	cr_expect(eq(u32, resolve(s, &module, 0x1010).count, 1));
}

Test(files, a_module_that_is_no_elf_file_is_an_answer_and_no_error, .init = setup, .fini = teardown)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module module = library_module();

	write_file(library, "#!/bin/sh\necho something that is no ELF file\n", 42);
	cr_expect(eq(u32, resolve(s, &module, 0x1010).count, 0));
	cr_expect(ne(ptr, strstr(symbolizer_debug_status(s, &module)->reason, "not an ELF file"),
	             NULL));
}

Test(files, debuginfod_is_asked_only_if_wanted_and_says_what_it_lacks, .init = setup,
     .fini = teardown)
{
	char url[128], path[128];
	struct module module = library_module();

	if (!dlopen("libdebuginfod.so.1", RTLD_NOW))
		cr_skip_test("there is no libdebuginfod");
	snprintf(path, sizeof(path), "%s/cache", directory);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	snprintf(url, sizeof(url), "file://%s", directory);
	snprintf(path, sizeof(path), "%s/buildid", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/buildid/0102030405060708", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/buildid/0102030405060708/debuginfo", directory);
	cr_assert(eq(int, rename(library, path), 0));
	for (int i = 0; i < 3; i++) {
		struct symbolizer_options options = { .debuginfod = i > 0,
			                              .debug_directories = "/nonexistent" };
		setenv("DEBUGINFOD_URLS", i == 1 ? "" : url, 1);
		cleanup(symbolizer) struct symbolizer *s = start(&options);
		cr_expect(eq(u32, resolve(s, &module, 0x1010).count, i == 2), "round %d", i);
		const char *reason = symbolizer_debug_status(s, &module)->reason;
		cr_expect(eq(int, strstr(reason, "none is named") != NULL, i == 1), "%s", reason);
	}
}

// ---- code that is in no file

Test(files, code_made_at_run_time_is_named_by_its_map, .init = setup, .fini = teardown)
{
	struct symbolizer_options options = { .jit_directory = directory };
	cleanup(symbolizer) struct symbolizer *s = start(&options);
	struct module jit = {
		.id = 1, .kind = MODULE_JIT, .path = "[jit 4711]", .pid = 4711, .fd = -1
	};
	static const char text[] = "1000 100 JS:*fit /srv/a b/app.js:12:30\n2000 10 Builtin:Map\n";
	char path[96];

	snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	write_file(path, text, strlen(text));
	struct symbol_chain chain = resolve(s, &jit, 0x1010);
	cr_assert(eq(u32, chain.count, 1));
	cr_expect(eq(str, (char *)resolve(s, &jit, 0x2001).symbols[0].function, "Builtin:Map"));
	cr_expect(eq(u32, resolve(s, &jit, 0x3000).count, 0));
	cr_expect(eq(int, symbolizer_debug_status(s, &jit)->level, DEBUG_SYMBOLS));
	cr_expect(eq(int, chain.symbols[0].line, 12));
}

Test(files, a_map_that_is_kept_comes_before_the_one_that_was_left, .init = setup, .fini = teardown)
{
	static const char left[] = "1000 100 left\n2000 10 later\n", kept[] = "1000 100 kept\n";
	struct module jit = {
		.id = 1, .kind = MODULE_JIT, .path = "[jit 4711]", .pid = 4711, .fd = -1
	};
	char path[128], inside[96];

	snprintf(inside, sizeof(inside), "%s/kept", directory);
	cr_assert(eq(int, mkdir(inside, 0700), 0));
	struct symbolizer_options options = { .jit_directory = directory, .kept_maps = inside };
	cleanup(symbolizer) struct symbolizer *s = start(&options);
	snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	write_file(path, left, strlen(left));
	snprintf(path, sizeof(path), "%s/perf-4711.map", inside);
	write_file(path, kept, strlen(kept));
	cr_expect(eq(str, (char *)resolve(s, &jit, 0x1010).symbols[0].function, "kept"));
	cr_expect(eq(str, (char *)resolve(s, &jit, 0x2004).symbols[0].function, "later"));
	cr_expect(eq(str, (char *)symbolizer_debug_status(s, &jit)->reason, ""));
	cr_expect(eq(u32, resolve(s, &jit, 0x3000).count, 0));
	cr_expect(ne(ptr, strstr(symbolizer_debug_status(s, &jit)->reason, "1 of 1 places"), NULL));
}

// In a PID namespace a process names its files by the number that it has there.
Test(files, a_map_is_found_by_the_number_that_the_process_has_where_it_lives, .init = setup,
     .fini = teardown)
{
	static const char inside[] = "1000 100 inside\n", here[] = "1000 100 here\n",
			  other[] = "1000 100 other\n";
	struct module jit = { .id = 1,
		              .kind = MODULE_JIT,
		              .path = "[jit 4711]",
		              .pid = 4711,
		              .inner_pid = 3,
		              .fd = -1 };
	struct symbolizer_options options = { .jit_directory = directory };
	char path[128], place[96];

	snprintf(place, sizeof(place), "%s/place", directory);
	cr_assert(eq(int, mkdir(place, 0700), 0));
	snprintf(path, sizeof(path), "%s/perf-3.map", place);
	write_file(path, inside, strlen(inside));
	snprintf(path, sizeof(path), "%s/perf-3.map", directory);
	write_file(path, here, strlen(here));
	snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	write_file(path, other, strlen(other));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "here", "inside", "other" };
		cleanup(symbolizer) struct symbolizer *s = start(&options);
		cleanup_close int fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
		jit.fd = i == 1 ? fd : -1;
		jit.inner_pid = i < 2 ? 3 : 0;
		struct symbol_chain chain = resolve(s, &jit, 0x1010);
		cr_assert(eq(u32, chain.count, 1), "%s", names[i]);
		cr_expect(eq(str, (char *)chain.symbols[0].function, (char *)names[i]));
	}
}

// Numbers are given again, small ones in each new namespace.
Test(files, the_map_of_an_older_process_of_that_number_is_refused_and_named, .init = setup,
     .fini = teardown)
{
	static const char text[] = "1000 100 stale\n";
	struct module jit = {
		.id = 1, .kind = MODULE_JIT, .path = "[jit 4711]", .pid = 4711, .fd = -1
	};
	struct symbolizer_options options = { .jit_directory = directory };
	char path[96];

	snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	write_file(path, text, strlen(text));
	for (int i = 0; i < 2; i++) {
		cleanup(symbolizer) struct symbolizer *s = start(&options);
		// Files may have a clock of whole seconds.
		jit.born_ns = clock_ns(CLOCK_REALTIME) + (i ? 2 * NS_PER_SEC : 0);
		cr_expect(eq(u32, resolve(s, &jit, 0x1010).count, i ? 0 : 1));
		const struct debug_status *status = symbolizer_debug_status(s, &jit);
		cr_expect(eq(int, strstr(status->reason, "is older than its process") != NULL, i),
		          "%s", status->reason);
	}
}

Test(files, without_a_map_it_is_said_what_there_is_none_of, .init = setup, .fini = teardown)
{
	struct symbolizer_options options = { .jit_directory = directory };
	cleanup(symbolizer) struct symbolizer *s = start(&options);
	struct module jit = {
		.id = 1, .kind = MODULE_JIT, .path = "[jit 4711]", .pid = 4711, .fd = -1
	};

	cr_expect(eq(u32, resolve(s, &jit, 0x1010).count, 0));
	cr_expect(eq(str, (char *)symbolizer_debug_status(s, &jit)->reason,
	             "no perf-4711.map and no jitdump"));
}

// /tmp is everybody's: what is there may be a trap of another user's.
Test(files, a_map_that_may_be_a_trap_is_refused_and_named, .init = setup, .fini = teardown)
{
	static const char text[] = "1000 100 JS:*evil /etc/shadow:1:1\n";
	static const char *const kinds[] = { "symbolic link", "hard link", "600 MB", "fifo",
		                             "belongs to uid 65534" };
	static const char *const words[] = { "is a symbolic link", "is a hard link to another file",
		                             "has 600 MB, and at most 512 MB are read",
		                             "is not a regular file", "belongs to uid 65534" };
	char path[96], target[96];

	snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	snprintf(target, sizeof(target), "%s/target", directory);
	for (int i = 0; i < 5; i++) {
		struct symbolizer_options options = { .jit_directory = directory };
		cleanup(symbolizer) struct symbolizer *s = start(&options);
		struct module jit = {
			.id = 1, .kind = MODULE_JIT, .path = "[jit 4711]", .pid = 4711, .fd = -1
		};
		unlink(path);
		write_file(target, text, strlen(text));
		if (i == 0)
			cr_assert(eq(int, symlink(target, path), 0));
		else if (i == 1)
			cr_assert(eq(int, link(target, path), 0));
		else if (i == 3)
			cr_assert(eq(int, mkfifo(path, 0600), 0));
		else
			write_file(path, text, strlen(text));
		if (i == 2)
			cr_assert(eq(int, truncate(path, 600 << 20), 0));
		if (i == 4 && chown(path, 65534, 65534) < 0)
			continue; // only root can give files away
		cr_expect(eq(u32, resolve(s, &jit, 0x1010).count, 0), "%s", kinds[i]);
		const struct debug_status *status = symbolizer_debug_status(s, &jit);
		cr_expect(strstr(status->reason, words[i]) != NULL, "%s: %s", kinds[i],
		          status->reason);
		cr_expect(strstr(status->reason, path) != NULL, "%s", status->reason);
		cr_expect(strstr(status->remedy, "remove that file") != NULL, "%s", status->remedy);
	}
}

Test(files, kernel_addresses_are_named_or_the_remedy_is, .init = setup, .fini = teardown)
{
	static const char *const texts[] = {
		"ffffffff81000000 T start_kernel\n",
		"0000000000000000 T start_kernel\n",
	};
	struct module kernel = { .id = 1, .kind = MODULE_KERNEL, .path = "[kernel]", .fd = -1 };
	char path[96];

	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	for (int i = 0; i < 2; i++) {
		struct symbolizer_options options = { .kallsyms = path };
		cleanup(symbolizer) struct symbolizer *s = start(&options);
		write_file(path, texts[i], strlen(texts[i]));
		struct symbol_chain chain = resolve(s, &kernel, 0xffffffff81000010);
		const struct debug_status *status = symbolizer_debug_status(s, &kernel);
		cr_expect(eq(u32, chain.count, i == 0));
		cr_expect(eq(int, status->level, i == 0 ? DEBUG_SYMBOLS : DEBUG_NONE));
		cr_expect(eq(int, strstr(status->remedy, "kptr_restrict") != NULL, i == 1));
		cr_expect(eq(int, strstr(status->remedy, "perf_event_paranoid") != NULL, i == 1));
	}
}

Test(symbolizer, a_module_that_was_never_asked_for_has_no_status)
{
	cleanup(symbolizer) struct symbolizer *s = start(NULL);
	struct module module = { .id = 7, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 };

	cr_expect(eq(int, symbolizer_debug_status(s, &module)->level, DEBUG_NONE));
}

// As a parser generator writes it: lines of another file inside a function. The last one here, for
// all lines below count as the other file's.
static __attribute__((noinline)) uint64_t generated(void)
{
	uint64_t here;

#line 7 "grammar.y"
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(here));
	sink++;
	return here;
}
