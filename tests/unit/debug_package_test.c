// SPDX-License-Identifier: MIT
#include "symbolize/elf/debug_package.h"

#include "tests/support/expect.h"
#include "tests/support/temporary.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char root[PATH_MAX];

static void make(const char *directory)
{
	char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s%s", root, directory);
	cr_assert(mkdir(path, 0755) == 0);
}

static void list(const char *package, const char *files)
{
	char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s.list", root, package);
	FILE *file = fopen(path, "w");
	cr_assert(file != NULL);
	fputs(files, file);
	fclose(file);
}

static void begin(void)
{
	temporary_make(root, sizeof(root));
	make("/var");
	make("/var/lib");
	make("/var/lib/dpkg");
	make("/var/lib/dpkg/info");
	list("libc6:amd64", "/.\n/lib\n/lib/x86_64-linux-gnu/libm.so.6\n"
	                    "/lib/x86_64-linux-gnu/libc.so.6\n");
	list("libopenblas0:amd64", "/usr/share/doc/libopenblas0\n");
	list("libopenblas0-pthread:amd64",
	     "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0\n"
	     "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so\n");
	list("perl-base", "/usr/bin/perl5.36.0\n/usr/bin/perl");
	list("libssl3:amd64", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3\n");
	list("libevil\n$(x)", "/usr/lib/libevil.so.1\n");
}

static void end(void)
{
	static const char *const directories[] = { "/var/lib/dpkg/info", "/var/lib/dpkg",
		                                   "/var/lib", "/var", "" };
	char path[PATH_MAX * 2];

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, directories[i]);
		temporary_remove(path);
	}
}

TestSuite(debug_package, .init = begin, .fini = end);

static const char *find(const char *path)
{
	static char name[160];

	return debug_package_find(root, path, name, sizeof(name)) ? name : "";
}

Test(debug_package, it_is_that_of_the_package_that_owns_the_file)
{
	cr_expect_str_eq(find("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"),
	                 "libopenblas0-pthread-dbgsym");
	cr_expect_str_eq(find("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so"),
	                 "libopenblas0-pthread-dbgsym", "a longer name than the package's");
	cr_expect_str_eq(find("/usr/bin/perl"), "perl-base-dbgsym", "a line without its end");
	cr_expect_str_eq(find("/usr/lib/x86_64-linux-gnu/libcrypto.so.3"), "libssl3-dbgsym");
}

Test(debug_package, the_closest_name_is_read_first)
{
	char package[16];

	// More than are read.
	for (int i = 0; i < 100; i++) {
		snprintf(package, sizeof(package), "python3-%d", i);
		list(package, "/usr/share/doc\n");
	}
	list("python3.11-minimal", "/usr/bin/python3.11\n");
	list("python3.11", "/usr/share/doc/python3.11\n");
	cr_expect_str_eq(find("/usr/bin/python3.11"), "python3.11-minimal-dbgsym");
}

Test(debug_package, the_c_librarys_has_another_name_and_lib_may_be_usr_lib)
{
	cr_expect_str_eq(find("/lib/x86_64-linux-gnu/libc.so.6"), "libc6-dbg");
	cr_expect_str_eq(find("/usr/lib/x86_64-linux-gnu/libm.so.6"), "libc6-dbg");
}

Test(debug_package, what_no_list_has_is_not_known)
{
	cr_expect_str_eq(find("/usr/bin/per"), "");
	cr_expect_str_eq(find("/usr/bin/perl5"), "");
	cr_expect_str_eq(find("/opt/x/libopenblas.so.0"), "");
	cr_expect_str_eq(find("/usr/lib/libevil.so.1"), "", "no name of a package");
	cr_expect_str_eq(find("libc.so.6"), "");
}

Test(debug_package, where_there_are_no_lists_none_is_known)
{
	char name[160];

	cr_expect(not(debug_package_find("/proc", "/usr/bin/perl", name, sizeof(name))));
}
