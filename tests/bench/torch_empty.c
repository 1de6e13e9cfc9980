// SPDX-License-Identifier: MIT
// What it costs PyTorch to call anybody at each op: callbacks that do nothing.
#include <stdint.h>
#include <stdlib.h>

struct callback { // at::RecordFunctionCallback
	void *(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids;
};

static void *start(void **result, const void *function)
{
	(void)function;
	*result = NULL;
	return result;
}

static void end(const void *function, void *context)
{
	(void)function;
	(void)context;
}

__attribute__((visibility("default"))) void torch_empty_add(uint64_t (*add)(struct callback),
                                                            int inputs);
void torch_empty_add(uint64_t (*add)(struct callback), int inputs)
{
	add((struct callback){ .start = start,
	                       .end = end,
	                       .probability = 1,
	                       .scopes = { 1, 1 },
	                       .needs_inputs = (uint8_t)inputs });
}
