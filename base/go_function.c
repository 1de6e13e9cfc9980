// SPDX-License-Identifier: MIT
#include "base/go_function.h"

#include <string.h>

// Where its package's path ends: at the first dot after the last slash before any bracket.
static size_t package_length(const char *name)
{
	size_t end = strcspn(name, "([");
	size_t slash = 0;

	for (size_t i = 0; i < end; i++)
		if (name[i] == '/')
			slash = i;
	const char *dot = memchr(name + slash, '.', end - slash);
	return dot ? (size_t)(dot - name) : 0;
}

bool go_function_is_of(const char *name, const char *package)
{
	size_t length = strlen(package);

	return package_length(name) == length && strncmp(name, package, length) == 0;
}

bool go_function_is_standard(const char *name)
{
	// What the paths of its packages begin with; others' begin with a host, or a module's name.
	static const char *const roots[] = {
		"archive", "bufio",    "builtin",  "bytes",   "cmp",     "compress", "container",
		"context", "crypto",   "database", "debug",   "embed",   "encoding", "errors",
		"expvar",  "flag",     "fmt",      "go",      "hash",    "html",     "image",
		"index",   "internal", "io",       "iter",    "log",     "maps",     "math",
		"mime",    "net",      "os",       "path",    "plugin",  "reflect",  "regexp",
		"runtime", "slices",   "sort",     "strconv", "strings", "structs",  "sync",
		"syscall", "testing",  "text",     "time",    "unicode", "unique",   "unsafe",
		"vendor",  "weak",
	};
	size_t package = package_length(name);
	const char *slash = memchr(name, '/', package);
	size_t length = slash ? (size_t)(slash - name) : package;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strlen(roots[i]) == length && strncmp(name, roots[i], length) == 0)
			return true;
	return false;
}

// Its last part is WORD and a number.
static bool ends_with(const char *name, const char *word)
{
	const char *dot = strrchr(name, '.');
	size_t length = strlen(word);

	if (!dot || strncmp(dot + 1, word, length) != 0)
		return false;
	const char *number = dot + 1 + length;
	return *number && !number[strspn(number, "0123456789")];
}

bool go_function_is_closure(const char *name)
{
	// A closure within a closure: "main.main.func1.2".
	return ends_with(name, "func") || (ends_with(name, "") && strstr(name, ".func"));
}

bool go_function_is_wrapper(const char *name)
{
	return ends_with(name, "gowrap");
}

void go_function_title(const char *name, char *title, size_t size)
{
	size_t used = 0;

	for (; *name && used + 1 < size; name++)
		if (!strchr("(*)", *name))
			title[used++] = *name;
	title[used] = '\0';
}
