// SPDX-License-Identifier: MIT
#include "base/rank.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launcher {
	const char *rank, *world; // variables
	const char *mark;         // a variable that must be there, too; NULL: none
};

/*
 * PyTorch's RANK is a common word: it counts where there is a WORLD_SIZE as well. Within srun each
 * node has one torchrun, whose workers inherit the node's SLURM_PROCID.
 */
static const struct launcher launchers[] = {
	{ "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL },
	{ "PMIX_RANK", "PMIX_SIZE", NULL },
	{ "PMI_RANK", "PMI_SIZE", NULL },
	{ "SLURM_PROCID", "SLURM_NTASKS", NULL },
	{ "RANK", "WORLD_SIZE", "WORLD_SIZE" },
};

static bool to_number(const char *text, const char **end, uint32_t *number)
{
	char *behind;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	unsigned long value = strtoul(text, &behind, 10);
	if (errno || value > UINT32_MAX)
		return false;
	*end = behind;
	*number = (uint32_t)value;
	return true;
}

// Where variables are looked up: WORDS as of rank_of(); NULL: in our own environment.
struct variables {
	const char *words;
	size_t size;
};

static const char *value_of(const struct variables *v, const char *name)
{
	size_t length = strlen(name);

	if (!v->words)
		return getenv(name);
	for (const char *at = v->words; at < v->words + v->size; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

static bool number_of(const struct variables *v, const char *name, uint32_t *number)
{
	const char *text = value_of(v, name), *end;

	return text && to_number(text, &end, number) && !*end;
}

static struct rank rank_in(const struct variables *v)
{
	struct rank rank = { 0 };

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];
		if ((l->mark && !value_of(v, l->mark)) || !number_of(v, l->rank, &rank.number))
			continue;
		rank.known = true;
		if (!number_of(v, l->world, &rank.world) || rank.world <= rank.number)
			rank.world = 0;
		return rank;
	}
	return rank;
}

struct rank rank_now(void)
{
	return rank_in(&(struct variables){ 0 });
}

struct rank rank_of(const char *words, size_t size)
{
	return rank_in(&(struct variables){ words, size });
}

#define TITLE_MARK " [rank "

void rank_add_to_title(char *title, size_t size, uint32_t number)
{
	size_t length = strlen(title);
	char mark[32];
	int more = snprintf(mark, sizeof(mark), TITLE_MARK "%" PRIu32 "]", number);

	if (length + (size_t)more < size)
		memcpy(title + length, mark, (size_t)more + 1);
}

bool rank_of_title(const char *title, uint32_t *number)
{
	const char *last = NULL, *end;

	for (const char *at = title; at && (at = strstr(at, TITLE_MARK)); at++)
		last = at;
	return last && to_number(last + strlen(TITLE_MARK), &end, number) && strcmp(end, "]") == 0;
}

int rank_in_list(const char *list, uint32_t number, struct error *err)
{
	int found = 0;

	for (const char *at = list;; at++) {
		uint32_t first, last;
		if (!to_number(at, &at, &first))
			break;
		last = first;
		if (*at == '-' && !to_number(at + 1, &at, &last))
			break;
		if (last < first)
			break;
		found |= first <= number && number <= last;
		if (!*at)
			return found;
		if (*at != ',')
			break;
	}
	return error_set(err, 0, "\"%s\" is no list of ranks, such as 0,3,8-15", list);
}
