// SPDX-License-Identifier: MIT
#include "symbolize/frame/demangle.h"

#include "base/array.h"
#include "base/strings.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

// A mangled name of a hundred bytes can stand for gigabytes of text.
#define READABLE_MAX ((size_t)32 * 1024)
#define MANGLED_MAX  ((size_t)4096)

struct demangler {
	struct strings *mangled;
	struct strings *readable;
	const char **answers; // of the mangled name with this number, from 1
	size_t capacity;
};

struct output {
	char bytes[READABLE_MAX];
	size_t used;
	jmp_buf too_long;
};

struct demangler *demangler_new(void)
{
	cleanup(demangler) struct demangler *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->mangled = strings_new();
	d->readable = strings_new();
	return d->mangled && d->readable ? steal(d) : NULL;
}

void demangler_free(struct demangler *d)
{
	if (!d)
		return;
	strings_free(d->mangled);
	strings_free(d->readable);
	free(d->answers);
	free(d);
}

static void take_output(const char *text, size_t length, void *context)
{
	struct output *output = context;

	// The library cannot be told to stop. What it may hold here is a few bytes of a
	// non-ASCII identifier, which are lost.
	if (length > sizeof(output->bytes) - output->used)
		longjmp(output->too_long, 1);
	memcpy(output->bytes + output->used, text, length);
	output->used += length;
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

// The Rust demangler refuses what is C++, so it goes first: its legacy names are valid C++ ones.
static bool demangle(const char *name, struct output *output)
{
	// The library's own limit refuses every name above 1024 bytes, as templates make them;
	// MANGLED_MAX bounds how deep it goes.
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	output->used = 0;
	if (setjmp(output->too_long))
		return false;
	if (rust_demangle_callback(name, options, take_output, output) && output->used)
		return true;
	output->used = 0;
	return cplus_demangle_v3_callback(name, options, take_output, output) && output->used;
}

// The byte that "%2e" at AT stands for; 0 if that is none.
static unsigned char escaped_byte(const char *at)
{
	unsigned int byte = 0;

	for (int i = 1; i < 3 && at[0] == '%'; i++) {
		char c = at[i];
		if (c >= '0' && c <= '9')
			byte = byte << 4 | (unsigned int)(c - '0');
		else if (c >= 'a' && c <= 'f')
			byte = byte << 4 | (unsigned int)(c - 'a' + 10);
		else
			return 0;
	}
	return byte > ' ' && byte != 0x7f ? (unsigned char)byte : 0;
}

// Go escapes the dots in the last part of a package's path, and what is no ASCII: the symbol of
// "gopkg.in/yaml.v3.Marshal" is "gopkg.in/yaml%2ev3.Marshal". NULL if there is no memory.
static const char *unescape(struct demangler *d, const char *name)
{
	char text[MANGLED_MAX];
	size_t length = 0;
	bool found = false;

	for (const char *at = name; *at; at++) {
		unsigned char byte = escaped_byte(at);
		text[length++] = byte ? (char)byte : *at;
		at += byte ? 2 : 0;
		found |= byte != 0;
	}
	return found ? strings_get(d->readable, strings_add_bytes(d->readable, text, length))
	             : name;
}

// What Cython makes of a function: its entry for Python, its body, that of a generator, or a C
// function (cdef, cpdef).
enum cython {
	CYTHON_ENTRY,
	CYTHON_BODY,
	CYTHON_GENERATOR,
	CYTHON_C
};

// "3mod_rest": where the part behind its length ends; NULL: AT begins with no such part.
static const char *scope_end(const char *at, const char **part)
{
	size_t length = 0;

	*part = at;
	while (**part >= '0' && **part <= '9' && length < MANGLED_MAX)
		length = 10 * length + (size_t)(*(*part)++ - '0');
	if (*part == at || !length || strnlen(*part, length) < length)
		return NULL;
	return (*part)[length] == '_' && (*part)[length + 1] ? *part + length : NULL;
}

// The last part of all but C functions has a count before it, which may look like the length of
// its first word: "3get_x". Classes are modules' parts with a length, as "3Cls_1get".
static bool is_scope(enum cython kind, const char *part, const char *rest)
{
	bool counted = *rest >= '0' && *rest <= '9';

	if (kind == CYTHON_C)
		return true;
	return counted || (kind == CYTHON_BODY &&
	                   ((*part >= 'A' && *part <= 'Z') || strncmp(rest, "__", 2) == 0));
}

// "__pyx_pw_3mod_5func" is "mod.func". NULL if there is no memory.
static const char *name_of_cython(struct demangler *d, const char *name)
{
	static const struct {
		const char *prefix;
		enum cython kind;
	} kinds[] = { { "__pyx_pw_", CYTHON_ENTRY },
		      { "__pyx_pf_", CYTHON_BODY },
		      { "__pyx_gb_", CYTHON_GENERATOR },
		      { "__pyx_f_", CYTHON_C } };
	const char *at = NULL, *end, *part;
	enum cython kind = CYTHON_C;
	char text[MANGLED_MAX];
	size_t used = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !at; i++) {
		size_t length = strlen(kinds[i].prefix);
		if (strncmp(name, kinds[i].prefix, length) == 0) {
			at = name + length;
			kind = kinds[i].kind;
		}
	}
	if (!at)
		return name;
	while ((end = scope_end(at, &part)) && (!used || is_scope(kind, part, end + 1))) {
		memcpy(text + used, part, (size_t)(end - part));
		used += (size_t)(end - part);
		text[used++] = '.';
		at = end + 1;
	}
	while (kind != CYTHON_C && *at >= '0' && *at <= '9')
		at++;
	if (!used || !*at)
		return name;
	size_t rest = strcspn(at, ".");
	memcpy(text + used, at, rest);
	return strings_get(d->readable, strings_add_bytes(d->readable, text, used + rest));
}

static const char *make_readable(struct demangler *d, const char *name)
{
	bool escaped = strchr(name, '%') && strchr(name, '.');

	if (strlen(name) >= MANGLED_MAX)
		return name;
	if (strncmp(name, "__pyx_", 6) == 0)
		return name_of_cython(d, name);
	if (!is_mangled(name) && !escaped)
		return name;
	if (!is_mangled(name))
		return unescape(d, name);
	cleanup_free struct output *output = malloc(sizeof(*output));
	if (!output)
		return NULL;
	if (!demangle(name, output))
		return name;
	uint32_t id = strings_add_bytes(d->readable, output->bytes, output->used);
	return strings_get(d->readable, id);
}

const char *demangler_name(struct demangler *d, const char *name, size_t length)
{
	uint32_t id = strings_add_bytes(d->mangled, name, length);
	size_t known = d->capacity;

	if (!id || !array_reserve(&d->answers, &d->capacity, (size_t)id + 1))
		return NULL;
	if (d->capacity > known)
		memset(d->answers + known, 0, (d->capacity - known) * sizeof(*d->answers));
	if (!d->answers[id])
		d->answers[id] = make_readable(d, strings_get(d->mangled, id));
	return d->answers[id];
}
