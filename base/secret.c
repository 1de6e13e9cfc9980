// SPDX-License-Identifier: MIT
#include "base/secret.h"

#include "base/cleanup.h"
#include "base/name_list.h"
#include "base/path.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK       "***"
#define NAME_BYTES 64 // bytes of a name before a value
#define TOKEN_MIN  16 // bytes behind the beginning of a service's token

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS     "0123456789"
#define BLANKS     " \t\n"

// Ends of names whose values are secrets, without - and _, in small letters.
static const char *const secret_names[] = {
	"password",      "passwd",    "passphrase", "passcode",    "pwd",           "secret",
	"token",         "apikey",    "accesskey",  "secretkey",   "privatekey",    "authkey",
	"encryptionkey", "masterkey", "credential", "credentials", "authorization", "pass",
	"passin",        "passout",   "bearer",     "cookie",
};

// Names that end so and are none: "compass" is one word, "--eos-token" has a word of a model's.
static const char *const other_names[] = {
	"compass",  "bypass",   "lowpass",   "highpass", "bandpass", "allpass",
	"trespass", "onepass",  "twopass",   "eostoken", "bostoken", "padtoken",
	"unktoken", "septoken", "masktoken", "rpass",
};

// Options of programs whose letters say nothing by themselves.
static const struct option {
	const char *programs; // separated by |
	const char *name;
	bool attached;       // the value may stand in the same word
	bool next;           // or be the next one
	bool user_first;     // "user:password"
	const char *command; // behind which it is that, as in docker login; NULL: anywhere
} options[] = {
	{ "mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mysqlcheck|mysqlslap|mariadb|"
	  "mariadb-dump|mariadb-admin",
	  "-p", true, false, false, NULL },
	{ "sshpass", "-p", true, true, false, NULL },
	{ "mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", "-p", false, true, false,
	  NULL },
	{ "7z|7za|7zr|7zz", "-p", true, false, false, NULL },
	{ "zip|unzip", "-P", true, true, false, NULL },
	{ "redis-cli", "-a", false, true, false, NULL },
	{ "ldapsearch|ldapadd|ldapmodify|ldapwhoami", "-w", true, true, false, NULL },
	{ "curl", "-u", true, true, true, NULL },
	{ "curl", "--user", true, true, true, NULL },
	{ "curl", "--proxy-user", true, true, true, NULL },
	{ "docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf", "-p", true, true, false,
	  "login" },
	{ "oc", "-t", false, true, false, "login" },
	{ "sqlcmd|bcp", "-P", true, true, false, NULL },
};

static const char *const token_beginnings[] = {
	"ghp_", "gho_", "ghu_",     "ghs_",    "ghr_", "github_pat_", "glpat-", "AKIA",
	"ASIA", "hf_",  "sk-proj-", "sk-ant-", "sk-",  "sk_live_",    "pypi-",  "npm_",
};

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_among(const char *const *names, size_t count, const char *end)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(end), size = strlen(names[i]);
		if (length >= size && strcmp(end + length - size, names[i]) == 0)
			return true;
	}
	return false;
}

// Whether the LENGTH bytes at NAME name a secret: "--db-password", "ACCESS_TOKEN", "clientSecret".
static bool names_secret(const char *name, size_t length)
{
	char bare[NAME_BYTES + 1];
	size_t size = 0;

	for (size_t i = length > NAME_BYTES ? length - NAME_BYTES : 0; i < length; i++)
		if (isalnum((unsigned char)name[i]))
			bare[size++] = (char)tolower((unsigned char)name[i]);
	bare[size] = '\0';
	return is_among(secret_names, sizeof(secret_names) / sizeof(secret_names[0]), bare) &&
	       !is_among(other_names, sizeof(other_names) / sizeof(other_names[0]), bare);
}

// Nothing, or masked already; in a SCRIPT, the name of a variable.
static bool is_no_value(const char *value, size_t length, bool script)
{
	size_t quote = length && strchr("'\"", *value) ? 1 : 0;

	return !length || (script && value[quote] == '$') ||
	       (length == strlen(MASK) && memcmp(value, MASK, length) == 0);
}

static void put(FILE *out, const char *text, size_t length)
{
	fwrite(text, 1, length, out);
}

// The value that begins at VALUE, behind SIGN and a name that begins behind BEFORE ('\0': a word):
// how long it is. *SKIPPED bytes in front of it stay.
static size_t value_length(const char *value, char sign, char before, bool whole, size_t *skipped)
{
	const char *start = value + (sign == ':' ? strspn(value, " ") : 0);

	*skipped = (size_t)(start - value);
	if (*start == '\'' || *start == '"') { // of a script, or JSON
		(*skipped)++;
		return strcspn(start + 1, *start == '"' ? "\"" : "'");
	}
	if (sign == ':' && !whole) // of a header, up to its quote
		return strcspn(start, "\"'\n");
	if (sign == ':')
		return strcspn(start, "\n");
	if (before == '?' || before == '&')
		return strcspn(start, "&\"' \t\n");
	return whole ? strlen(start) : strcspn(start, BLANKS "\"';|&)");
}

// The password of "//user:password@host": *START, and its length; 0: there is none.
static size_t password_in_url(const char *url, const char **start)
{
	const char *host = url + strcspn(url, "/?#\"'" BLANKS), *at = NULL;

	for (const char *c = url; c < host; c++)
		at = *c == '@' ? c : at;
	const char *colon = at ? memchr(url, ':', (size_t)(at - url)) : NULL;
	if (!colon)
		return 0;
	*start = colon + 1;
	return (size_t)(at - colon - 1);
}

// How long a token of a service is that begins at TEXT; 0: none does.
static size_t token_length(const char *text)
{
	for (size_t i = 0; i < sizeof(token_beginnings) / sizeof(token_beginnings[0]); i++) {
		size_t size = strlen(token_beginnings[i]);
		if (strncmp(text, token_beginnings[i], size) != 0)
			continue;
		size_t plain = strspn(text + size, DIGITS LETTERS);
		if (plain >= TOKEN_MIN && strcspn(text + size, DIGITS) < plain)
			return size + strspn(text + size, DIGITS LETTERS "_-");
	}
	return 0;
}

// What the word before asks of a next one.
struct awaited {
	bool secret, user_first;
	bool script;              // sh -c SCRIPT
	char program[NAME_BYTES]; // the last word that may be one's name
	char command[NAME_BYTES]; // and of its options' commands
};

// What a program's option asks for, if OPTION is one of those; NULL: it is not.
static const struct option *option_of(const struct awaited *a, const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t size = strlen(options[i].name);
		bool fits = length == size || (options[i].attached && length > size &&
		                               (options[i].name[1] != '-' || word[size] == '='));
		if (fits && strncmp(word, options[i].name, size) == 0 &&
		    (!options[i].command || strcmp(options[i].command, a->command) == 0) &&
		    name_list_has(options[i].programs, a->program, strlen(a->program)))
			return &options[i];
	}
	return NULL;
}

// Masks all LENGTH bytes at VALUE, or with USER_FIRST what is behind the first colon.
static void put_value(FILE *out, const char *value, size_t length, bool user_first, bool script)
{
	const char *colon = user_first ? memchr(value, ':', length) : NULL;
	size_t kept = colon ? (size_t)(colon - value) + 1 : 0;

	if ((user_first && !colon) || is_no_value(value + kept, length - kept, script)) {
		put(out, value, length);
		return;
	}
	put(out, value, kept);
	fputs(MASK, out);
}

// A plain WORD may be a program's name, or the command of the one that stands before it.
static void take_name(const char *word, size_t length, struct awaited *a)
{
	cleanup_free char *name = strndup(word, length);
	const char *base = name ? path_base(name) : "";

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *option = &options[i];
		if (name_list_has(option->programs, base, strlen(base))) {
			snprintf(a->program, sizeof(a->program), "%s", base);
			a->command[0] = '\0';
		} else if (option->command && strcmp(option->command, base) == 0 &&
		           name_list_has(option->programs, a->program, strlen(a->program))) {
			snprintf(a->command, sizeof(a->command), "%s", base);
		}
	}
}

// A word, or one of those in a script, of LENGTH bytes: true if it is masked by what stands before
// it, or is an option that has a secret in it.
static bool put_awaited(FILE *out, const char *word, size_t length, bool script, struct awaited *a)
{
	struct awaited before = *a;
	const struct option *option = option_of(&before, word, length);

	a->secret = false;
	if (before.secret && *word != '-') {
		put_value(out, word, length, before.user_first, script);
		return true;
	}
	if (option && !option->user_first)
		a->program[0] = '\0'; // the password of sshpass, and what follows is a command
	if (option && length > strlen(option->name)) {
		put(out, word, strlen(option->name));
		put_value(out, word + strlen(option->name), length - strlen(option->name),
		          option->user_first, script);
		return true;
	}
	a->secret = (option && option->next) ||
	            (*word == '-' && !memchr(word, '=', length) && names_secret(word, length));
	a->user_first = option && option->user_first;
	if (*word != '-' && length < sizeof(a->program))
		take_name(word, length, a);
	return false;
}

// sh -c SCRIPT, perl -e SCRIPT, bash -lc SCRIPT.
static bool asks_for_script(const char *word)
{
	size_t length = strlen(word);

	return length > 1 && length < 6 && word[0] == '-' && word[1] != '-' &&
	       (word[length - 1] == 'c' || word[length - 1] == 'e');
}

// All that is in WORD, without its quotes. One that has blanks is looked through as a script is.
static void put_word(FILE *out, const char *word, struct awaited *awaited)
{
	bool script = awaited->script, whole = !word[strcspn(word, BLANKS)];
	const char *at = word, *name = word; // where the name began that stands before AT
	bool begins = true;                  // a word of the script

	awaited->script = asks_for_script(word);
	if (awaited->secret && *word != '-' && *word) {
		put_awaited(out, word, strlen(word), script, awaited);
		return;
	}
	while (*at) {
		size_t blank = strcspn(at, BLANKS), length = whole ? strlen(at) : blank;
		const char *secret, *end = strchr("'\"", *at) ? strchr(at + 1, *at) : NULL;
		if (!whole && end) // "two words"
			length = (size_t)(end - at) + 1;
		if (begins && length && put_awaited(out, at, length, script, awaited)) {
			at += length;
			name = at;
			begins = false;
			continue;
		}
		begins = !whole && !blank;
		size_t token = at == name ? token_length(at) : 0;
		if (token) {
			fputs(MASK, out);
			name = at += token;
			continue;
		}
		bool sign = *at == '=' || (*at == ':' && at[1] != ':' && at[-(at > word)] != ':');
		if (sign && at > name && names_secret(name, (size_t)(at - name)) &&
		    strncmp(at, "://", 3) != 0) {
			// Outside of scripts what an argument begins with names all of it.
			size_t skipped = 0, size = strlen(at + 1);
			if (script || name > word || *at != '=')
				size = value_length(at + 1, *at, name > word ? name[-1] : '\0',
				                    whole, &skipped);
			put(out, at, 1 + skipped);
			put_value(out, at + 1 + skipped, size, false, script);
			name = at += 1 + skipped + size;
			continue;
		}
		if (strncmp(at, "://", 3) == 0 && (token = password_in_url(at + 3, &secret))) {
			put(out, at, (size_t)(secret - at));
			put_value(out, secret, token, false, script);
			name = at = secret + token;
			continue;
		}
		// As in JSON: "password": "X".
		bool closes = strchr("'\"", *at) && at > name && (at[1] == ':' || at[1] == '=');
		name = is_name_character(*at) || closes ? name : at + 1;
		fputc(*at++, out);
	}
}

static void put_quoted(FILE *out, const char *word, bool quoted)
{
	if (quoted)
		fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs(quoted ? "'\\''" : "\\'", out);
		else
			fputc(*word, out);
	}
	if (quoted)
		fputc('\'', out);
}

// The word at TEXT without its quotes, in WORD, which has room for it; how long it was with them.
static size_t take_word(const char *text, char *word)
{
	const char *at = text;
	bool quoted = false;

	for (; *at && (quoted || !strchr(BLANKS, *at)); at++) {
		if (*at == '\'')
			quoted = !quoted;
		else if (*at == '\\' && !quoted && at[1])
			*word++ = *++at;
		else
			*word++ = *at;
	}
	*word = '\0';
	return (size_t)(at - text);
}

static void put_masked(FILE *out, const char *command, char *word)
{
	struct awaited awaited = { 0 };

	while (*command) {
		size_t blanks = strspn(command, BLANKS), size;
		cleanup_free char *masked = NULL;
		put(out, command, blanks);
		command += blanks;
		size_t length = take_word(command, word);
		FILE *stream = open_memstream(&masked, &size);
		if (stream)
			put_word(stream, word, &awaited);
		if (!stream || fclose(stream) != 0)
			fputs(MASK, out); // rather than what may be one
		else if (strcmp(masked, word) == 0)
			put(out, command, length);
		else
			put_quoted(out, masked, memchr(command, '\'', length) != NULL);
		command += length;
	}
}

char *secret_mask(const char *command)
{
	cleanup_free char *word = calloc(strlen(command) + 1, 1);
	char *text = NULL;
	size_t size;
	FILE *out = word ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	put_masked(out, command, word);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
