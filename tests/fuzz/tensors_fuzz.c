// SPDX-License-Identifier: MIT
// The numbers behind an op are the target's.
#include "base/tensor_flops.h"
#include "base/tensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ops[] = { "aten::mm",
		                           "aten::baddbmm",
		                           "aten::add",
		                           "aten::conv2d",
		                           "aten::conv_transpose3d",
		                           "aten::_scaled_dot_product_flash_attention" };
	size_t count = size / sizeof(uint64_t), at = 0;
	uint64_t *values = malloc(count * sizeof(*values) + 1), flops;
	struct tensors_input input;

	if (!values)
		return 0;
	memcpy(values, data, count * sizeof(*values));
	while (tensors_next(values, count, &at, &input)) {
		tensors_type_name(input.type);
		tensors_device_name(input.device);
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		tensor_flops_of(ops[i], values, (unsigned)count, &flops);
	free(values);
	return 0;
}
