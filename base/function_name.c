// SPDX-License-Identifier: MIT
#include "base/function_name.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The length of "operator<<" and its like, whose brackets are no brackets; 0 for anything else.
static size_t operator_length(const char *text)
{
	static const char *const signs[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>",
		                             "<=",  ">=",  "->",  "()",  "<",  ">" };
	size_t word = strlen("operator");

	if (strncmp(text, "operator", word) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strncmp(text + word, signs[i], strlen(signs[i])) == 0)
			return word + strlen(signs[i]);
	return word;
}

// Where the bracket that opens at TEXT ends, behind its partner; NULL if it has none.
static const char *skip_bracket(const char *text, char opening, char closing)
{
	int depth = 0;

	for (const char *p = text; *p; p++) {
		depth += *p == opening;
		if (*p == closing && p[-1] != '-' && --depth == 0)
			return p + 1;
	}
	return NULL;
}

// Python's "<module>" and "f.<locals>.<lambda>"; Rust's "<T as Drop>::drop" is no such name.
static bool is_python_name(const char *text, char before)
{
	const char *end = *text == '<' && (!before || before == '.') ? strchr(text, '>') : NULL;

	return end && (!end[1] || end[1] == '.');
}

static bool is_fixed_part(const char *text, char before)
{
	return strncmp(text, "(anonymous namespace)", 21) == 0 || strncmp(text, "()", 2) == 0 ||
	       strncmp(text, "<lambda", 7) == 0 || is_python_name(text, before);
}

// Rust's "core::ptr::read::<u8>" and "a::<impl B>::c": without its bracket a part is empty.
// Returns the length of FOLDED; REST is what follows.
static size_t drop_empty_part(const char *folded, size_t length, const char *rest)
{
	bool part = length > 2 && folded[length - 1] == ':' && folded[length - 2] == ':' &&
	            (!*rest || strncmp(rest, "::", 2) == 0 || strchr("( ", *rest));

	return part ? length - 2 : length;
}

static char *fold(const char *text, char opening, const char *mark)
{
	char *folded = malloc(2 * strlen(text) + 8), before = '\0';
	char closing = opening == '<' ? '>' : ')';
	size_t at = 0;

	while (folded && *text) {
		const char *behind = *text == opening && !is_fixed_part(text, before)
		                             ? skip_bracket(text, opening, closing)
		                             : NULL;
		size_t verbatim = operator_length(text);
		if (behind) {
			if (mark)
				at += (size_t)sprintf(folded + at, "%c%s%c", opening, mark,
				                      closing);
			else
				at = drop_empty_part(folded, at, behind);
			text = behind;
			before = closing;
			continue;
		}
		for (verbatim = verbatim ? verbatim : 1; verbatim; verbatim--)
			folded[at++] = before = *text++;
	}
	if (folded)
		folded[at] = '\0';
	return folded;
}

// What a library calls its string says nothing to anybody.
static void shorten_strings(char *text)
{
	static const char *const known[][2] = {
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		  "std::string" },
		{ "std::basic_string_view<char, std::char_traits<char> >", "std::string_view" },
		{ "__cxx11::", "" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t from = strlen(known[i][0]), to = strlen(known[i][1]);
		for (char *p = text; (p = strstr(p, known[i][0])); p += to) {
			memcpy(p, known[i][1], to);
			memmove(p + to, p + from, strlen(p + from) + 1);
		}
	}
}

// "pthread_cond_wait@@GLIBC_2.3.2": which of its versions it was tells nobody anything.
static void drop_version(char *text)
{
	char *at = strchr(text, '@');

	if (at && at > text && (at[1] == '@' || (at[1] >= 'A' && at[1] <= 'Z')) && !strchr(at, ' '))
		*at = '\0';
}

const char *function_name_part(const char *text)
{
	for (int depth = 0; *text; text++) {
		size_t verbatim = operator_length(text);
		if (verbatim) {
			text += verbatim - 1;
			continue;
		}
		depth += (*text == '<' || *text == '(') - (*text == '>' || *text == ')');
		if (!depth && text[0] == ':' && text[1] == ':')
			return text;
	}
	return text;
}

// "bool a::less" → "a::less"; of a function with its parameters only, as only those have a type.
static const char *skip_type(const char *text)
{
	const char *name = text;

	for (int depth = 0; *text; text++) {
		if (operator_length(text))
			break;
		depth += (*text == '<' || *text == '(') - (*text == '>' || *text == ')');
		if (!depth && *text == ' ' && text[1] && text[1] != '(' && text[1] != '[')
			name = text + 1;
	}
	return name;
}

// The end of the parameters; NULL if the last bracket is that of a type between "<" and ">".
static char *parameters_end(char *name)
{
	char *end = strrchr(name, ')');
	int depth = 0;

	for (const char *p = end; p && *p; p++) {
		depth += (*p == '<') - (*p == '>');
		if (depth < 0)
			return NULL;
	}
	return end;
}

// Drops what follows the parameters (" const", " [clone .cold]"), and the type before the name.
static void drop_surroundings(char *name)
{
	char *parameters = parameters_end(name);

	if (!parameters)
		return;
	parameters[1] = '\0';
	memmove(name, skip_type(name), strlen(skip_type(name)) + 1);
}

// Rust's "<a::List<T> as b::Clone>::clone" is "a::List<T>::clone".
static void qualify(char *name)
{
	char *end = NULL;
	int depth = 0;

	if (name[0] != '<' || !(isalpha((unsigned char)name[1]) || name[1] == '_'))
		return;
	for (char *at = name; *at && !(depth == 1 && *at == '>'); at++) {
		depth += (*at == '<') - (*at == '>');
		if (!end && depth == 1 && strncmp(at, " as ", strlen(" as ")) == 0)
			end = at;
		if (depth == 1 && at[1] == '>' && at[2] == ':') {
			size_t length = (size_t)((end ? end : at + 1) - (name + 1));
			memmove(name, name + 1, length);
			memmove(name + length, at + 2, strlen(at + 2) + 1);
			return;
		}
	}
}

char *function_name_fold(const char *name, char opening, const char *mark)
{
	cleanup_free char *known = strdup(name);

	if (!known)
		return NULL;
	shorten_strings(known);
	drop_version(known);
	qualify(known);
	return fold(known, opening, mark);
}

char *function_name_called(const char *text)
{
	char name[128], type[128], *out = NULL;
	int length = -1;

	if (sscanf(text, "{%*[a-z] '%127[^']' of '%127[^']' objects}", name, type) == 2)
		length = asprintf(&out, "%s.%s", strrchr(type, '.') ? strrchr(type, '.') + 1 : type,
		                  name);
	else if (sscanf(text, "{built-in method %127[^}]}", name) == 1)
		length = asprintf(&out, "%s", name);
	return length < 0 ? NULL : out;
}

char *function_name_bare(const char *text)
{
	char *of_c = function_name_called(text);
	cleanup_free char *name = of_c ? NULL : strdup(text);

	if (!name)
		return of_c;
	shorten_strings(name);
	drop_version(name);
	drop_surroundings(name);
	qualify(name);
	cleanup_free char *called = fold(name, '(', NULL);
	char *bare = called ? fold(called, '<', NULL) : NULL;
	for (size_t length = bare ? strlen(bare) : 0; length && bare[length - 1] == ' ';)
		bare[--length] = '\0'; // "operator< <char>"
	return bare;
}
