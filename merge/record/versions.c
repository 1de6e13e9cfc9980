// SPDX-License-Identifier: MIT
#include "merge/record/versions.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/foreign_file.h"
#include "base/mapped.h"
#include "base/module.h"
#include "base/origin.h"
#include "base/path.h"
#include "merge/table/environment.h"
#include "symbolize/elf/mapped_file.h"

#include <ctype.h>
#include <dirent.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_BYTES 64
#define ROWS_MAX      128        // packages and libraries together
#define TEXT_MAX      (64 << 10) // bytes of a version.py
#define RECORD_MAX    (8 << 20)  // bytes of a list of installed files

// A library by its file's name, and the text that its version follows in its constants.
struct library {
	const char *stem; // what the name begins with
	const char *name, *marker;
};

static const struct library libraries[] = {
	{ "libopenblas", "BLAS: OpenBLAS", "OpenBLAS " },
	{ "libscipy_openblas", "BLAS: OpenBLAS", "OpenBLAS " },
	{ "libmkl_rt.so", "BLAS: MKL", NULL },
	{ "libmkl_core.so", "BLAS: MKL", NULL },
	{ "libblis", "BLAS: BLIS", NULL },
	{ "libflexiblas", "BLAS: FlexiBLAS", NULL },
	{ "libatlas", "BLAS: ATLAS", NULL },
	{ "libtatlas", "BLAS: ATLAS", NULL },
	{ "libsatlas", "BLAS: ATLAS", NULL },
	{ "libarmpl", "BLAS: Arm Performance Libraries", NULL },
	{ "libnvpl_blas", "BLAS: NVPL", NULL },
	{ "libblas.so", "BLAS: reference", NULL },
	{ "libgomp", "OpenMP: GNU", NULL },
	{ "libiomp5", "OpenMP: Intel", NULL },
	{ "libomp.so", "OpenMP: LLVM", NULL },
	{ "libtbb.so", "TBB", NULL },
	{ "libdnnl.so", "oneDNN", NULL },
	{ "libmkldnn.so", "oneDNN", NULL },
	{ "libfftw3", "FFTW", "fftw-" },
	{ "libmpi.so", "MPI", NULL },
	{ "libjemalloc", "malloc: jemalloc", NULL },
	{ "libtcmalloc", "malloc: tcmalloc", NULL },
	{ "libmimalloc", "malloc: mimalloc", NULL },
	{ "libcudart", "CUDA runtime", NULL },
	{ "libcublas.so", "cuBLAS", NULL },
	{ "libcudnn.so", "cuDNN", NULL },
	{ "libnccl", "NCCL", NULL },
	{ "libamdhip64", "HIP runtime", NULL },
	{ "librocblas", "rocBLAS", NULL },
	{ "libMIOpen", "MIOpen", NULL },
	{ "librccl", "RCCL", NULL },
	{ "libc.so.6", "libc: glibc", "release version " },
	{ "libc-2.", "libc: glibc", "release version " },
	{ "ld-musl-", "libc: musl", NULL },
};

// The same of what is linked into others, by how the name of a symbol begins.
static const struct library within[] = {
	{ "mkl_serv_", "BLAS: MKL", NULL },
	{ "openblas_get_num_threads", "BLAS: OpenBLAS", "OpenBLAS " },
};

struct asking {
	FILE *python, *libraries;
	char *seen[ROWS_MAX]; // what there is a row of
	size_t seen_count;
};

// False if KEY was there before, or there is no room for it.
static bool see(struct asking *a, const char *key)
{
	for (size_t i = 0; i < a->seen_count; i++)
		if (strcmp(a->seen[i], key) == 0)
			return false;
	if (a->seen_count == ROWS_MAX || !(a->seen[a->seen_count] = strdup(key)))
		return false;
	a->seen_count++;
	return true;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), end = strlen(with);

	return length >= end && strcmp(text + length - end, with) == 0;
}

// The word at AT, of letters as versions have them; what ends in a period does so before it.
static void take_version(const uint8_t *at, const uint8_t *end, char version[VERSION_BYTES])
{
	size_t length = 0;

	while (at < end && length + 1 < VERSION_BYTES && (isalnum(*at) || strchr(".+-_~", *at)) &&
	       *at)
		version[length++] = (char)*at++;
	while (length && version[length - 1] == '.')
		length--;
	version[length] = '\0';
}

// What follows the first MARKER that a number follows.
static bool find_marked(struct bytes b, const char *marker, char version[VERSION_BYTES])
{
	const uint8_t *at = b.data, *end = b.data + b.size;
	size_t length = strlen(marker);

	while (b.data && (at = memmem(at, (size_t)(end - at), marker, length))) {
		at += length;
		if (at < end && isdigit(*at)) {
			take_version(at, end, version);
			return true;
		}
	}
	return false;
}

// The number at ADDRESS, 8 bytes, in the file; 0 if it is not there.
static uint64_t number_at(struct elf_file *elf, uint64_t address)
{
	for (size_t i = 0; i < elf_file_section_count(elf); i++) {
		const struct elf_section *section = elf_file_section(elf, i);
		if (!section->address || address < section->address ||
		    address - section->address >= section->size)
			continue;
		struct cursor c =
			cursor_at(elf_file_contents(elf, section), address - section->address);
		return cursor_number(&c, 8);
	}
	return 0;
}

// What the variable NAME, of 8 bytes, is from the start on; 0 if there is none.
static uint64_t constant(struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_find(elf, ".dynsym");
	Elf_Data *data = section ? elf_file_data(elf, section) : NULL;
	struct bytes names = elf_file_named_contents(elf, ".dynstr");
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *text = bytes_string(names, symbol.st_name);
		if (symbol.st_shndx != SHN_UNDEF && text && strcmp(text, name) == 0)
			return number_at(elf, symbol.st_value);
	}
	return 0;
}

// By the constant that CPython has since 3.11: 0x030b02f0 is 3.11.2, of the final release.
static bool find_hex_version(struct elf_file *elf, char version[VERSION_BYTES])
{
	static const char *const levels[16] = { [0xa] = "a", [0xb] = "b", [0xc] = "rc" };
	uint64_t number = constant(elf, "Py_Version");
	const char *level = levels[number >> 4 & 0xf];

	if (number >> 24 < 3 || number >> 32)
		return false;
	int length =
		snprintf(version, VERSION_BYTES, "%u.%u.%u", (unsigned int)(number >> 24),
	                 (unsigned int)(number >> 16 & 0xff), (unsigned int)(number >> 8 & 0xff));
	if (level)
		snprintf(version + length, VERSION_BYTES - (size_t)length, "%s%u", level,
		         (unsigned int)(number & 0xf));
	return true;
}

// "3.8.18", a text among the constants that begins with the two numbers in PATH. The linker may
// have made it the end of another one, as of the folder "/opt/3.8.18".
static bool find_version_text(struct bytes b, const char *path, bool alone,
                              char version[VERSION_BYTES])
{
	const char *digits = strpbrk(path_base(path), "0123456789");
	char start[16] = "";
	int length = 0;

	if (!digits || sscanf(digits, "%*u.%*u%n", &length) < 0 || length <= 0)
		return false;
	snprintf(start + 1, sizeof(start) - 1, "%.*s.", length, digits);
	size_t size = strlen(start + 1) + alone; // with the end of the text before it
	const uint8_t *at = b.data, *end = b.data + b.size;
	while (b.data && (at = memmem(at, (size_t)(end - at), start + !alone, size))) {
		const uint8_t *from = at + alone;
		take_version(from, end, version);
		size_t found = strlen(version);
		if (from + found < end && !from[found] && found > strlen(start + 1))
			return true;
		at += size;
	}
	return false;
}

// "12.1.105" of "libcudart.so.12.1.105": a single number is that of the interface, no version.
static void version_of_name(const char *path, char version[VERSION_BYTES])
{
	const char *name = path_base(path), *so = strstr(name, ".so.");
	const char *from = so ? so + 4 : NULL;

	version[0] = '\0';
	if (from && isdigit((unsigned char)*from) && strchr(from, '.'))
		snprintf(version, VERSION_BYTES, "%s", from);
}

// As PyPA's normalized names, but for what was given: "Scikit-Learn" is "scikit_learn".
static bool same_package(const char *a, size_t length, const char *b)
{
	size_t i;

	for (i = 0; i < length && b[i]; i++) {
		char left = (char)tolower((unsigned char)a[i]);
		char right = (char)tolower((unsigned char)b[i]);
		left = left == '-' || left == '.' ? '_' : left;
		right = right == '-' || right == '.' ? '_' : right;
		if (left != right)
			return false;
	}
	return i == length && !b[i];
}

// The text of a small file, to be freed; NULL if there is none.
static char *read_text(const char *path)
{
	const struct foreign_rules rules = { .max_bytes = TEXT_MAX };
	struct error err;
	int fd = foreign_open(path, &rules, NULL, &err);
	char *text = fd < 0 ? NULL : calloc(1, TEXT_MAX + 1);
	ssize_t got = text ? read(fd, text, TEXT_MAX) : -1;

	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		return NULL;
	}
	return text;
}

// Whether what was installed as ENTRY brought files whose paths, below SITE, begin with START.
static bool brings(const char *site, const char *entry, const char *start)
{
	const struct foreign_rules rules = { .max_bytes = RECORD_MAX };
	char path[PATH_MAX], line[PATH_MAX];
	struct error err;
	struct stat st;
	struct mapped m = { 0 };

	snprintf(path, sizeof(path), "%s/%s/RECORD", site, entry);
	snprintf(line, sizeof(line), "\n%s", start);
	size_t length = strlen(line);
	int fd = foreign_open(path, &rules, &st, &err);
	if (fd < 0)
		return false;
	bool found = false;
	if (st.st_size && mapped_open(&m, fd, (size_t)st.st_size, MAPPED_READ, &err) == 0)
		found = memmem(m.data, m.size, line, length) ||
		        (m.size > length && memcmp(m.data, start, length - 1) == 0);
	mapped_close(&m);
	close(fd);
	return found;
}

// The version in "numpy-1.24.2.dist-info", "six-1.16.0-py3.11.egg-info"; NULL if ENTRY is neither.
static const char *version_in(const char *entry, size_t *length)
{
	const char *dash = strchr(entry, '-');

	if (!dash || (!ends(entry, ".dist-info") && !ends(entry, ".egg-info")))
		return NULL;
	const char *end = entry + strlen(entry) - strlen(".egg-info");
	end = ends(entry, ".dist-info") ? end - 1 : end;
	const char *python = strstr(dash, "-py");
	end = python && python < end ? python : end;
	*length = end > dash ? (size_t)(end - dash - 1) : 0;
	return dash + 1;
}

// By the lists of installed files; "" if none has such a path, or several have.
static void version_by_files(const char *site, const char *start, char *version, size_t size)
{
	DIR *folder = opendir(site);
	unsigned int found = 0;

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		size_t length = 0;
		const char *text = version_in(entry->d_name, &length);
		if (!text || !brings(site, entry->d_name, start))
			continue;
		snprintf(version, size, "%.*s", found++ ? 0 : (int)length, text);
	}
	if (folder)
		closedir(folder);
}

static void version_by_name(const char *site, const char *name, char *version, size_t size)
{
	DIR *folder = opendir(site);

	version[0] = '\0';
	for (struct dirent *entry; folder && !*version && (entry = readdir(folder));) {
		size_t length = 0;
		const char *text = version_in(entry->d_name, &length);
		if (text && same_package(entry->d_name, (size_t)(text - entry->d_name) - 1, name))
			snprintf(version, size, "%.*s", (int)length, text);
	}
	if (folder)
		closedir(folder);
}

void versions_of_package(const char *site, const char *name, char *version, size_t size)
{
	char start[NAME_MAX + 2];

	snprintf(start, sizeof(start), "%s/", name);
	version_by_name(site, name, version, size);
	if (!*version)
		version_by_files(site, start, version, size);
}

// What follows the folder of all packages in PATH; NULL if it is in none.
static const char *below_site(const char *path)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		const char *root = strstr(path, roots[i]);
		if (root)
			return root + strlen(roots[i]);
	}
	return NULL;
}

// A library in a folder that several packages share, as NVIDIA's do, has the version of that which
// brought it. Those that a package keeps for itself ("numpy.libs") have versions of their own.
static void version_of_file(const char *path, char version[VERSION_BYTES])
{
	const char *below = below_site(path), *slash = below ? strchr(below, '/') : NULL;
	char site[PATH_MAX], part[PATH_MAX];

	if (!slash || (size_t)(below - path) >= sizeof(site))
		return;
	snprintf(site, sizeof(site), "%.*s", (int)(below - path - 1), path);
	snprintf(part, sizeof(part), "%.*s", (int)(slash - below), below);
	if (ends(part, ".libs"))
		return;
	version_by_name(site, part, version, VERSION_BYTES);
	snprintf(part, sizeof(part), "%s,", below);
	if (*version)
		version[0] = '\0';
	else
		version_by_files(site, part, version, VERSION_BYTES);
}

static bool has_symbol(struct elf_file *elf, const char *start)
{
	struct bytes names = elf_file_named_contents(elf, ".dynstr");

	return names.data && memmem(names.data, names.size, start, strlen(start));
}

static void put_library(struct asking *a, struct elf_file *elf, const struct library *library,
                        const char *path)
{
	char version[VERSION_BYTES], key[PATH_MAX + 64];

	snprintf(key, sizeof(key), "%s %s", library->name, path);
	if (!see(a, key))
		return;
	version_of_name(path, version);
	if (library->marker)
		find_marked(elf_file_named_contents(elf, ".rodata"), library->marker, version);
	if (!*version && starts(path_base(path), library->stem))
		version_of_file(path, version);
	environment_print(a->libraries,
	                  &(struct environment_row){ "library", library->name, version, path });
}

static void put_libraries(struct asking *a, struct elf_file *elf, const char *path)
{
	const char *name = path_base(path);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (starts(name, libraries[i].stem)) {
			put_library(a, elf, &libraries[i], path);
			return;
		}
	// Python's own modules are many, and small: a whole BLAS is not in one.
	if (elf_file_image(elf).size < 8 << 20)
		return;
	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
		if (has_symbol(elf, within[i].stem))
			put_library(a, elf, &within[i], path);
}

static void put_python(struct asking *a, struct elf_file *elf, const char *path)
{
	struct bytes constants = elf_file_named_contents(elf, ".rodata");
	char version[VERSION_BYTES];

	if (!find_hex_version(elf, version) && !find_version_text(constants, path, true, version) &&
	    !find_version_text(constants, path, false, version))
		return;
	if (see(a, path))
		environment_print(a->python,
		                  &(struct environment_row){ "python", "Python", version, path });
}

// The value of "KEY = 'VALUE'", or "KEY: TYPE = 'VALUE'", in a line of TEXT. False if there is
// none; then *THERE says whether there is the line.
static bool assigned(const char *text, const char *key, char value[VERSION_BYTES], bool *there)
{
	size_t length = strlen(key);

	*there = false;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *end = strchrnul(line, '\n'),
			   *equals = memchr(line, '=', (size_t)(end - line));
		if (strncmp(line, key, length) != 0 || !strchr(" :=", line[length]) || !equals)
			continue;
		*there = true;
		equals += strspn(equals, "= ");
		if (*equals != '\'' && *equals != '"')
			continue;
		take_version((const uint8_t *)equals + 1, (const uint8_t *)end, value);
		return true;
	}
	return false;
}

// What PyTorch's version.py and its like say beyond the version.
static void describe_build(const char *folder, char *words, size_t size)
{
	static const struct {
		const char *key, *name;
	} parts[] = { { "cuda", "CUDA" }, { "hip", "HIP" }, { "xpu", "XPU" } };
	char path[PATH_MAX + 16], value[VERSION_BYTES];
	size_t used = 0;
	bool there, none = false;

	words[0] = '\0';
	snprintf(path, sizeof(path), "%s/version.py", folder);
	cleanup_free char *text = read_text(path);
	for (size_t i = 0; text && i < sizeof(parts) / sizeof(parts[0]) && used < size; i++) {
		if (assigned(text, parts[i].key, value, &there))
			used += (size_t)snprintf(words + used, size - used, "%s %s %s",
			                         used ? " and" : ", built with", parts[i].name,
			                         value);
		none |= i == 0 && there;
	}
	if (!used && none)
		snprintf(words, size, ", built without CUDA");
}

// A package whose library is at PATH, once: by the folder right in that of all packages.
static void put_package(struct asking *a, const char *path)
{
	char site[PATH_MAX], folder[PATH_MAX], version[VERSION_BYTES], build[128];
	char value[sizeof(version) + sizeof(build)];
	const char *below = below_site(path), *slash = below ? strchr(below, '/') : NULL;

	if (!slash || (size_t)(slash - path) >= sizeof(folder))
		return;
	snprintf(site, sizeof(site), "%.*s", (int)(below - path - 1), path);
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	if (ends(folder, ".libs") || !see(a, folder))
		return;
	const char *name = folder + (below - path);
	versions_of_package(site, name, version, sizeof(version));
	if (!*version)
		return;
	describe_build(folder, build, sizeof(build));
	snprintf(value, sizeof(value), "%s%s", version, build);
	environment_print(a->python, &(struct environment_row){ "python", name, value, folder });
}

// Else what lies beside it is not to be found: in another mount namespace, or replaced.
static bool is_at_path(const struct module *module)
{
	struct stat st;

	return stat(module->path, &st) == 0 &&
	       (!module->inode || module->device != st.st_dev || module->inode == st.st_ino);
}

static void take_module(struct asking *a, const struct module *module)
{
	char root[MAPPED_ROOT_BYTES];
	struct error err;
	cleanup(elf_file) struct elf_file *elf = mapped_file_open(module, root, &err);

	if (!elf)
		return;
	if (origin_is_python(module->path))
		put_python(a, elf, module->path);
	if (is_at_path(module))
		put_package(a, module->path);
	put_libraries(a, elf, module->path);
}

void versions_print(FILE *out, const struct modules *modules)
{
	cleanup_free char *libraries_text = NULL;
	size_t size;
	struct asking a = { .python = out, .libraries = open_memstream(&libraries_text, &size) };

	for (uint32_t id = 1; a.libraries && id <= modules_count(modules); id++)
		if (modules_get(modules, id)->kind == MODULE_ELF)
			take_module(&a, modules_get(modules, id));
	if (a.libraries && fclose(a.libraries) == 0)
		fputs(libraries_text, out);
	for (size_t i = 0; i < a.seen_count; i++)
		free(a.seen[i]);
}
