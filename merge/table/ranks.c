// SPDX-License-Identifier: MIT
#include "merge/table/ranks.h"

#include "base/array.h"

#include <stdlib.h>

void ranks_fini(struct ranks *r)
{
	free(r->ranks);
	free(r->shares);
	meetings_fini(&r->meetings);
	*r = (struct ranks){ 0 };
}

bool ranks_add(struct ranks *r, const struct rank_info *info)
{
	if (r->count >= RANKS_MAX || !array_reserve(&r->ranks, &r->capacity, (size_t)r->count + 1))
		return false;
	r->ranks[r->count++] = *info;
	return true;
}

bool ranks_add_share(struct ranks *r, const struct rank_share *share)
{
	if (r->share_count >= RANKS_MAX * RANK_SHARES ||
	    !array_reserve(&r->shares, &r->share_capacity, (size_t)r->share_count + 1))
		return false;
	r->shares[r->share_count++] = *share;
	return true;
}
