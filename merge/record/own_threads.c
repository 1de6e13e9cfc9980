// SPDX-License-Identifier: MIT
#include "merge/record/own_threads.h"

#include "base/array.h"
#include "tracer/protocol.h"

#include <stdlib.h>
#include <string.h>

void own_threads_fini(struct own_threads *o)
{
	free(o->numbers);
	*o = (struct own_threads){ 0 };
}

bool own_threads_has(const struct own_threads *o, uint32_t number)
{
	for (size_t i = o->count; i-- > 0;) // the newest first
		if (o->numbers[i] == number)
			return true;
	return false;
}

bool own_threads_take(struct own_threads *o, uint32_t number, const char *name)
{
	if (own_threads_has(o, number))
		return true;
	if (strcmp(name, PROTOCOL_OWN_THREAD) != 0 ||
	    !array_reserve(&o->numbers, &o->capacity, o->count + 1))
		return false;
	o->numbers[o->count++] = number;
	return true;
}
