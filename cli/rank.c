// SPDX-License-Identifier: MIT
#include "cli/rank.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
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

static bool number_of(const char *variable, uint32_t *number)
{
	const char *text = getenv(variable), *end;

	return text && to_number(text, &end, number) && !*end;
}

struct rank rank_now(void)
{
	struct rank rank = { 0 };

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];
		if ((l->mark && !getenv(l->mark)) || !number_of(l->rank, &rank.number))
			continue;
		rank.known = true;
		if (!number_of(l->world, &rank.world) || rank.world <= rank.number)
			rank.world = 0;
		return rank;
	}
	return rank;
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
