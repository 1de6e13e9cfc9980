// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "symbolize/dwarf/package.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>

static char directory[] = "/tmp/package-test-XXXXXX";

static void write_list(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	cleanup_fclose FILE *file = fopen(path, "w");
	cr_assert(file != NULL);
	fputs(text, file);
}

static void remove_lists(void)
{
	static const char *const names[] = { "zlib1g:amd64.list", "libold.list", "notes.md5sums" };

	for (size_t i = 0; i < 3; i++) {
		char path[256];
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

Test(package, the_owner_is_the_package_whose_list_has_the_whole_line)
{
	char name[64] = "unset";

	cr_assert(mkdtemp(directory) != NULL);
	write_list("zlib1g:amd64.list", "/.\n/usr/lib/libz.so.1.2.13\n/usr/share/doc\n");
	write_list("libold.list", "/lib/libold.so.1\n/usr/lib/libz.so\n");
	write_list("notes.md5sums", "/usr/lib/other.so\n");
	cr_expect(package_of(directory, "/usr/lib/libz.so.1.2.13", name, sizeof(name)));
	cr_expect(eq(str, name, "zlib1g"));
	cr_expect(package_of(directory, "/usr/lib/libz.so", name, sizeof(name)));
	cr_expect(eq(str, name, "libold"));
	// Listed before /lib became a link to /usr/lib.
	cr_expect(package_of(directory, "/usr/lib/libold.so.1", name, sizeof(name)));
	cr_expect(eq(str, name, "libold"));
	cr_expect(not(package_of(directory, "/usr/lib/libz.so.1", name, sizeof(name))));
	cr_expect(not(package_of(directory, "/usr/lib/other.so", name, sizeof(name))));
	remove_lists();
	cr_expect(not(package_of(directory, "/usr/lib/libz.so", name, sizeof(name))));
}

Test(package, debug_packages_have_the_names_that_Debian_gives_them)
{
	char name[64];

	package_debug_name("zlib1g", name, sizeof(name));
	cr_expect(eq(str, name, "zlib1g-dbgsym"));
	package_debug_name("libc6", name, sizeof(name));
	cr_expect(eq(str, name, "libc6-dbg"));
}
