// SPDX-License-Identifier: MIT
#include "tracer/agent/asked.h"

#include "tracer/agent/python/python_api.h"
#include "tracer/agent/self.h"
#include "tracer/agent/torch/torch.h"
#include "tracer/agent/wrap/weak.h"

#include <string.h>

static const struct wish {
	const char *prefix; // of the name
	void (*look)(void);
} wishes[] = {
	{ "", weak_look_later },
	{ "", torch_look },
	{ "Py", self_look },
	{ "_Py", self_look },
	{ "PyInit_", python_api_look },
};

void asked_for(const char *name)
{
	for (unsigned i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		if (strncmp(name, wishes[i].prefix, strlen(wishes[i].prefix)) == 0)
			wishes[i].look();
}
