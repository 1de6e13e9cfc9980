// SPDX-License-Identifier: MIT
// elf_mutation FILE [PART...]: a real file, and then the files that hold parts of its debug
// information, damaged in many ways, the PARTs in place. The symbolizer may say less of them, or
// nonsense, but never crash, and never take long. The seeds are fixed.
#include "base/clock.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/symbolizer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#define COUNT    400
#define LIMIT_NS (20 * NS_PER_SEC) /* with sanitizers, on a machine that is busy */
#define MUTANTS  150

struct random {
	uint64_t state;
};

static uint64_t next(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

struct spot {
	uint64_t start, size;
};

// Where to do harm: the sections that we read, and the headers.
static struct spot choose_spot(struct elf_file *elf, size_t file_size, struct random *r)
{
	for (int tries = 0; elf && tries < 50; tries++) {
		const struct elf_section *section =
			elf_file_section(elf, next(r) % elf_file_section_count(elf));
		bool is_ours = strncmp(section->name, ".debug", 6) == 0 ||
		               strstr(section->name, "sym") || strstr(section->name, "str") ||
		               strncmp(section->name, ".gnu_debug", 10) == 0 ||
		               strncmp(section->name, ".note", 5) == 0;
		if (is_ours && section->size && section->offset + section->size <= file_size)
			return (struct spot){ section->offset, section->size };
	}
	return (struct spot){ 0, 64 };
}

static void damage(uint8_t *bytes, struct spot spot, struct random *r)
{
	static const uint8_t evil[] = { 0x00, 0xff, 0x80, 0x7f, 0x01, 0xfe };
	unsigned int count = 1 + (unsigned int)(next(r) % 16);

	for (unsigned int i = 0; i < count; i++) {
		uint8_t *at = bytes + spot.start + next(r) % spot.size;
		uint64_t how = next(r) % 3;
		if (how == 0)
			*at ^= (uint8_t)(1U << next(r) % 8);
		else if (how == 1)
			*at = evil[next(r) % sizeof(evil)];
		else
			*at = (uint8_t)next(r);
	}
}

// The code of the file that is asked about.
struct code {
	const char *path;
	uint64_t start, step;
};

// Asks about the file PATH, or about what FD is open on. The result is how much was known.
static int resolve(const struct code *code, const char *path, int fd)
{
	struct symbolizer_options options = { .debug_directories = getenv("DEBUG_DIRECTORIES") };
	static uint64_t addresses[COUNT];
	static struct symbol_chain chains[COUNT];
	struct module module = { .id = 1, .kind = MODULE_ELF, .path = path, .fd = fd };
	int known = 0;

	for (size_t i = 0; i < COUNT; i++)
		addresses[i] = code->start + i * code->step;
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, NULL);
	if (!s || symbolizer_resolve(s, &module, addresses, COUNT, chains, NULL) < 0)
		return -1;
	for (size_t i = 0; i < COUNT; i++)
		known += (int)chains[i].count;
	return known;
}

static bool write_bytes(int fd, const uint8_t *bytes, size_t size)
{
	return fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
}

static int resolve_mutant(const struct code *code, const char *part, const uint8_t *bytes,
                          size_t size)
{
	if (strcmp(part, code->path) != 0) {
		cleanup_close int fd = open(part, O_WRONLY | O_TRUNC | O_CLOEXEC);
		return write_bytes(fd, bytes, size) ? resolve(code, code->path, -1) : -1;
	}
	cleanup_close int fd = memfd_create("mutant", MFD_CLOEXEC);
	return write_bytes(fd, bytes, size) ? resolve(code, part, fd) : -1;
}

static uint8_t *read_all(const char *path, size_t *size)
{
	cleanup_fclose FILE *file = fopen(path, "rb");

	if (!file || fseek(file, 0, SEEK_END) != 0)
		return NULL;
	*size = (size_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size + 1);
	if (bytes && fread(bytes, 1, *size, file) == *size)
		return bytes;
	free(bytes);
	return NULL;
}

static bool find_code(const char *path, struct code *code)
{
	cleanup(elf_file) struct elf_file *elf = elf_file_open(path, NULL);
	const struct elf_section *text = elf ? elf_file_find(elf, ".text") : NULL;

	if (!text)
		return false;
	*code = (struct code){ path, text->address, text->size / COUNT + 1 };
	return true;
}

static int mutate(const struct code *code, const char *part, uint64_t seed)
{
	size_t size;
	cleanup_free uint8_t *original = read_all(part, &size);
	cleanup_free uint8_t *mutant = original ? malloc(size) : NULL;
	struct random random = { seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
	uint64_t slowest_ns = 0;
	bool good = true;

	if (!mutant)
		return -1;
	cleanup(elf_file) struct elf_file *elf =
		elf_file_from_memory((struct bytes){ original, size }, NULL, NULL);
	int whole = resolve(code, code->path, -1);
	for (int i = 0; i < MUTANTS && good; i++) {
		size_t cut = i % 5 == 0 ? next(&random) % size : size;
		memcpy(mutant, original, size);
		damage(mutant, choose_spot(elf, size, &random), &random);
		uint64_t start_ns = clock_now_ns();
		good = resolve_mutant(code, part, mutant, cut) >= 0;
		uint64_t took_ns = clock_now_ns() - start_ns;
		slowest_ns = took_ns > slowest_ns ? took_ns : slowest_ns;
	}
	if (strcmp(part, code->path) != 0)
		good &= resolve_mutant(code, part, original, size) == whole;
	printf("%s: %d frames whole; %d mutants, the slowest took %.3f s\n", part, whole, MUTANTS,
	       (double)slowest_ns / 1e9);
	return good && whole > 0 && slowest_ns < LIMIT_NS ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct code code;
	int status = argc > 1 ? 0 : 2;

	if (argc > 1 && !find_code(argv[1], &code)) {
		fprintf(stderr, "%s: has no code\n", argv[1]);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (mutate(&code, argv[i], (uint64_t)i) < 0)
			status = 1;
	return status;
}
