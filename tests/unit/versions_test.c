// SPDX-License-Identifier: MIT
// A folder of packages made by hand, with libraries that are this machine's C library by other
// names.
#include "merge/record/versions.h"

#include "base/cleanup.h"
#include "base/module.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/versions_test_XXXXXX";
static char site[128];

static void make(const char *name, const char *contents)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", site, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	cr_assert(ne(ptr, file, NULL));
	fputs(contents, file);
	fclose(file);
}

static void begin(void)
{
	cr_assert(ne(ptr, mkdtemp(root), NULL));
	snprintf(site, sizeof(site), "%s/lib/python3.11/site-packages", root);
	make("numpy-1.24.2.egg-info", "");
	make("Scikit_Learn-1.3.0.dist-info/RECORD", "sklearn/__init__.py,,\nsklearn/a.so,,\n");
	make("nvidia_cudnn_cu12-8.9.2.26.dist-info/RECORD",
	     "nvidia/__init__.py,,\nnvidia/cudnn/lib/libcudnn.so.8,sha256=x,1\n");
	make("nvidia_nccl_cu12-2.18.1.dist-info/RECORD", "nvidia/__init__.py,,\n");
	make("torch-2.1.0+cu121.dist-info/RECORD", "torch/version.py,,\n");
	make("torch/version.py", "__version__ = '2.1.0+cu121'\ndebug = False\n"
	                         "cuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n");
	make("torch_cpu-1.0.dist-info/RECORD", "");
	make("torch_cpu/version.py", "cuda = None\n");
	make("six-1.16.0-py3.11.egg-info", "");
}

static void end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert(eq(int, system(command), 0));
}

TestSuite(versions, .init = begin, .fini = end);

static const char *version(const char *package)
{
	static char text[64];

	versions_of_package(site, package, text, sizeof(text));
	return text;
}

Test(versions, a_package_has_that_of_the_folder_that_pip_left_beside_it)
{
	cr_expect_str_eq(version("numpy"), "1.24.2");
	cr_expect_str_eq(version("six"), "1.16.0");
	cr_expect_str_eq(version("torch"), "2.1.0+cu121");
	cr_expect_str_eq(version("num"), "");
}

Test(versions, a_folder_of_another_name_is_found_in_the_lists_of_files)
{
	cr_expect_str_eq(version("sklearn"), "1.3.0");
	cr_expect_str_eq(version("sk"), "");
	cr_expect_str_eq(version("nvidia"), ""); // of several
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (strstr(info->dlpi_name, "libc.so.6"))
		snprintf(context, 512, "%s", info->dlpi_name);
	return 0;
}

// The rows of a run that has mapped the C library as each of NAMES in the site.
static char *rows(const char *const *names)
{
	char libc[512] = "", path[512];
	cleanup(modules) struct modules *modules = modules_new();
	char *text = NULL;
	size_t size;

	dl_iterate_phdr(find_libc, libc);
	cr_assert(ne(chr, libc[0], '\0'));
	for (; *names; names++) {
		make(*names, "");
		snprintf(path, sizeof(path), "%s/%s", site, *names);
		unlink(path);
		cr_assert(eq(int, symlink(libc, path), 0));
		const struct module module = { .kind = MODULE_ELF, .path = path, .fd = -1 };
		cr_assert(ne(ptr, modules_add(modules, &module, NULL), NULL));
	}
	FILE *out = open_memstream(&text, &size);
	versions_print(out, modules);
	fclose(out);
	return text;
}

static void expect_row(const char *text, const char *kind, const char *name, const char *value,
                       const char *path)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s\t%s\t%s\t%s%s\n", kind, name, value, site, path);
	cr_expect(strstr(text, line) != NULL, "no \"%s\" in\n%s", line, text);
}

Test(versions, packages_say_what_they_are_built_with)
{
	static const char *const names[] = { "torch/_C.so",     "torch_cpu/_C.so",
		                             "numpy/core/a.so", "numpy/core/b.so",
		                             "strange/c.so",    NULL };
	cleanup_free char *text = rows(names);

	expect_row(text, "python", "torch", "2.1.0+cu121, built with CUDA 12.1", "/torch");
	expect_row(text, "python", "torch_cpu", "1.0, built without CUDA", "/torch_cpu");
	expect_row(text, "python", "numpy", "1.24.2", "/numpy");
	cr_expect(strstr(text, "strange") == NULL);
	cr_expect(strstr(strstr(text, "numpy\t") + 1, "numpy\t") == NULL, "twice:\n%s", text);
}

Test(versions, libraries_have_that_of_their_constants_their_names_or_their_packages)
{
	static const char *const names[] = { "a/libc.so.6",
		                             "a/libcudart.so.12.1.105",
		                             "nvidia/cudnn/lib/libcudnn.so.8",
		                             "torch/lib/libgomp.so.1",
		                             "a/libnothing.so",
		                             NULL };
	cleanup_free char *text = rows(names);

	expect_row(text, "library", "libc: glibc", gnu_get_libc_version(), "/a/libc.so.6");
	expect_row(text, "library", "CUDA runtime", "12.1.105", "/a/libcudart.so.12.1.105");
	expect_row(text, "library", "cuDNN", "8.9.2.26", "/nvidia/cudnn/lib/libcudnn.so.8");
	// What a package brought for itself is not of the package's version.
	expect_row(text, "library", "OpenMP: GNU", "", "/torch/lib/libgomp.so.1");
	cr_expect(strstr(text, "nothing") == NULL);
}

Test(versions, what_is_gone_is_left_out)
{
	cleanup(modules) struct modules *modules = modules_new();
	const struct module module = { .kind = MODULE_ELF, .path = "/nowhere/libc.so.6", .fd = -1 };
	char *text = NULL;
	size_t size;

	modules_add(modules, &module, NULL);
	FILE *out = open_memstream(&text, &size);
	versions_print(out, modules);
	fclose(out);
	cr_expect_str_eq(text, "");
	free(text);
}
