// SPDX-License-Identifier: MIT
#include "merge/op/goroutine_looks.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

void goroutine_looks_fini(struct goroutine_looks *l)
{
	free(l->looks);
	*l = (struct goroutine_looks){ 0 };
}

bool goroutine_looks_end(struct goroutine_looks *l)
{
	struct goroutine_look now = l->now;
	bool is_whole = l->is_whole && l->now.count;

	l->is_whole = false;
	l->now.count = 0;
	if (!is_whole)
		return true;
	l->met++;
	l->ns += now.ns;
	if (l->count == GOROUTINE_LOOKS_MAX) {
		// In the place of another one, so that all looks have the same chance.
		uint64_t at = hash_mix(l->pass) % l->met;
		if (at < l->count)
			l->looks[at] = now;
		return true;
	}
	if (!array_reserve(&l->looks, &l->capacity, l->count + 1))
		return false;
	l->looks[l->count++] = now;
	return true;
}

bool goroutine_looks_add(struct goroutine_looks *l, uint32_t process, uint64_t pass, uint32_t row,
                         uint64_t count, uint64_t ns)
{
	struct goroutine_look *now = &l->now;

	l->process = l->process ? l->process : process;
	if (process != l->process)
		return true;
	if (pass != l->pass) {
		if (!goroutine_looks_end(l))
			return false;
		l->pass = pass;
		l->is_whole = true;
		l->goroutines = 0;
		now->ns = ns;
	}
	l->goroutines += count;
	for (uint32_t i = 0; i < now->count; i++)
		if (now->parts[i].row == row) {
			now->parts[i].count += (uint32_t)count;
			return true;
		}
	if (now->count == GOROUTINE_PARTS_MAX || l->goroutines > GOROUTINES_WHOLE)
		l->is_whole = false;
	else
		now->parts[now->count++] = (struct goroutine_part){ row, (uint32_t)count };
	return true;
}
