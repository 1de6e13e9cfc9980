// SPDX-License-Identifier: MIT
#include "base/origin.h"

#include <stddef.h>
#include <string.h>

// By hand, as this is asked of each frame of each path: most differ in one of the first letters.
static bool begins_with(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix) {
		text++;
		prefix++;
	}
	return !*prefix;
}

static bool begins_with_one(const char *text, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (begins_with(text, *prefixes))
			return true;
	return false;
}

// PARTS begin with a slash.
static bool holds_one(const char *path, const char *const *parts)
{
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		if (begins_with_one(at, parts))
			return true;
	return false;
}

// A language's runtime, as the program that users start: "node", "perl5.36.0", "java".
static bool is_runtime(const char *module)
{
	static const char *const names[] = { "node",    "nodejs", "deno", "bun", "java",
		                             "perl",    "ruby",   "php",  "lua", "luajit",
		                             "Rscript", "julia",  NULL };
	const char *slash = strrchr(module, '/');
	const char *name = slash ? slash + 1 : module;

	if (!strstr(module, "/bin/"))
		return false;
	for (size_t i = 0; names[i]; i++) {
		size_t length = strlen(names[i]);
		if (strncmp(name, names[i], length) == 0 &&
		    !name[length + strspn(name + length, "0123456789.")])
			return true;
	}
	return false;
}

bool origin_is_foreign(const char *module, const char *file)
{
	static const char *const modules[] = { "[",         "/lib/",       "/lib64/",
		                               "/usr/lib/", "/usr/lib64/", "/usr/libexec/",
		                               NULL };
	static const char *const sources[] = { "/usr/include/", "/usr/src/", "/usr/lib/",
		                               "/usr/share/nodejs/", "/usr/local/go/src/",
		                               "/rustc/", "../sysdeps/", "./nptl/", "<frozen ",
		                               "node:",
		                               // What NumPy makes by exec().
		                               "<__array_function__ ", NULL };
	// Wherever an interpreter or a virtual environment was put.
	static const char *const installed[] = { "/site-packages/", "/dist-packages/",
		                                 "/node_modules/", "/pkg/mod/", "/lib/python3.",
		                                 "/lib64/python3.", "/bin/python3", "/libpython3.",
		                                 "/libbottleneck-agent.",
		                                 // Of compilers, that may write it as
		                                 // "/usr/bin/../lib/gcc/x/12/../include/c++/12/".
		                                 "/include/c++/", NULL };

	// What was compiled at run time is in no file: its source decides.
	if (module && file && strncmp(module, "[jit", 4) == 0)
		module = NULL;
	if (!module && !file)
		return true;
	if (module && (begins_with_one(module, modules) || holds_one(module, installed) ||
	               is_runtime(module)))
		return true;
	return file && (begins_with_one(file, sources) || holds_one(file, installed));
}

bool origin_is_installed(const char *module)
{
	static const char *const programs[] = { "/usr/bin/", "/bin/",         "/usr/sbin/",
		                                "/sbin/",    "/usr/libexec/", NULL };
	// Where programs keep those that they start: a compiler its passes, Git its commands.
	static const char *const helpers[] = { "/usr/lib/", "/usr/lib64/", "/lib/", NULL };

	return module &&
	       (begins_with_one(module, programs) ||
	        (begins_with_one(module, helpers) && !strstr(module, ".so") &&
	         !strstr(module, "/site-packages/") && !strstr(module, "/dist-packages/")));
}

bool origin_is_python(const char *module)
{
	return module && (strstr(module, "/bin/python3") || strstr(module, "/libpython3."));
}

static const char *base_of(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;

	return slash ? slash + 1 : module;
}

// MODULE's name is one of NAMES, maybe with a version.
static bool is_named(const char *module, const char *const *names)
{
	const char *name = base_of(module);
	bool library = name && strncmp(name, "lib", 3) == 0 && strstr(name, ".so");

	if (!name || !(library || strstr(module, "/bin/")))
		return false;
	name += library ? 3 : 0;
	for (size_t i = 0; names[i]; i++) {
		size_t length = strlen(names[i]);
		if (strncmp(name, names[i], length) != 0)
			continue;
		// "libruby-3.1.so.3.1", "perl5.36.0"
		const char *rest = name + length;
		rest += strspn(rest, "0123456789.-");
		rest += library && strncmp(rest, "so", 2) == 0 ? 2 : 0;
		if (!rest[strspn(rest, "0123456789.")])
			return true;
	}
	return false;
}

bool origin_is_shell(const char *module)
{
	static const char *const names[] = { "sh", "bash", "dash", "zsh", "ksh", NULL };

	return is_named(module, names);
}

bool origin_is_interpreter(const char *module)
{
	static const char *const names[] = { "perl", "ruby", "php",   "lua",  "luajit",
		                             "R",    "tcl",  "tclsh", "wish", "guile",
		                             "awk",  "gawk", "mawk",  NULL };

	return is_named(module, names) || origin_is_shell(module);
}

bool origin_is_libc(const char *module)
{
	const char *name = base_of(module);

	return name && (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
	                strncmp(name, "libpthread", 10) == 0);
}

bool origin_is_openmp(const char *module)
{
	const char *name = base_of(module);

	return name && (strncmp(name, "libgomp", 7) == 0 || strncmp(name, "libomp", 6) == 0 ||
	                strncmp(name, "libiomp", 7) == 0);
}
