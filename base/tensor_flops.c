// SPDX-License-Identifier: MIT
#include "base/tensor_flops.h"

#include "base/tensors.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define INPUTS_MAX 8 // what follows is not needed

struct inputs {
	struct tensors_input list[INPUTS_MAX];
	size_t count;
};

// The numbers of the operation itself, and what one multiplication with its addition costs.
typedef double formula(const struct inputs *in, unsigned first);

static bool is_tensor(const struct inputs *in, unsigned index, unsigned dimensions)
{
	return index < in->count && in->list[index].kind == TENSORS_TENSOR &&
	       in->list[index].count >= dimensions;
}

static double product(const struct tensors_input *input, unsigned from)
{
	double all = 1;

	for (unsigned i = from; i < input->count; i++)
		all *= (double)input->dimensions[i];
	return all;
}

static double last(const struct tensors_input *input, unsigned before)
{
	return (double)input->dimensions[input->count - 1 - before];
}

// [..., m, k] times [..., k, n]
static double matrices(const struct inputs *in, unsigned first)
{
	if (!is_tensor(in, first, 2) || !is_tensor(in, first + 1, 2))
		return -1;
	return 2 * product(&in->list[first], 0) * last(&in->list[first + 1], 0);
}

// Of two shapes the one that the result has in each dimension; a number has none.
static double elements(const struct inputs *in, unsigned first)
{
	static const struct tensors_input number = { .kind = TENSORS_TENSOR };
	const struct tensors_input *a = &in->list[first], *b = &number;
	double all = 1;

	if (!is_tensor(in, first, 0))
		return -1;
	if (is_tensor(in, first + 1, 0))
		b = &in->list[first + 1];
	for (unsigned i = 0; i < a->count || i < b->count; i++)
		all *= fmax(i < a->count ? last(a, i) : 1, i < b->count ? last(b, i) : 1);
	return all;
}

static double parameter(const struct inputs *in, unsigned index, unsigned dimension)
{
	const struct tensors_input *list = &in->list[index];

	if (index >= in->count || list->kind != TENSORS_INTEGERS || !list->count)
		return -1;
	return (double)list->dimensions[list->count == 1 ? 0 : dimension];
}

// Input [n, channels, size...], weight [out, channels / groups, kernel...], bias, stride, padding,
// dilation.
static double convolution(const struct inputs *in, unsigned first)
{
	const struct tensors_input *input = &in->list[first], *weight = input + 1;
	double all = 2;

	if (!is_tensor(in, first, 3) || !is_tensor(in, first + 1, input->count) ||
	    weight->count != input->count)
		return -1;
	for (unsigned i = 2; i < input->count; i++) {
		double stride = parameter(in, first + 3, i - 2);
		double padding = parameter(in, first + 4, i - 2);
		double dilation = parameter(in, first + 5, i - 2);
		double size = (double)input->dimensions[i], kernel = (double)weight->dimensions[i];
		if (stride < 1 || padding < 0 || dilation < 1)
			return -1;
		all *= floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;
	}
	return all * (double)input->dimensions[0] * product(weight, 0);
}

// Each number of the input meets the whole kernel of its channel.
static double transposed(const struct inputs *in, unsigned first)
{
	if (!is_tensor(in, first, 3) || !is_tensor(in, first + 1, 3))
		return -1;
	return 2 * product(&in->list[first], 0) * product(&in->list[first + 1], 1);
}

// Query [..., l, e], key [..., s, e], value [..., s, v].
static double attention(const struct inputs *in, unsigned first)
{
	for (unsigned i = 0; i < 3; i++)
		if (!is_tensor(in, first + i, 3))
			return -1;
	const struct tensors_input *query = &in->list[first], *key = query + 1, *value = key + 1;
	double rows = product(query, 0) / fmax(last(query, 0), 1);
	return 2 * rows * last(key, 1) * (last(query, 0) + last(value, 0));
}

static const struct rule {
	const char *op;
	unsigned first; // of its inputs that count
	formula *of;
	bool products; // not only additions
} rules[] = {
	{ "mm", 0, matrices, true },
	{ "addmm", 1, matrices, true },
	{ "bmm", 0, matrices, true },
	{ "baddbmm", 1, matrices, true },
	{ "mul", 0, elements, true },
	{ "add", 0, elements, false },
	{ "conv1d", 0, convolution, true },
	{ "conv2d", 0, convolution, true },
	{ "conv3d", 0, convolution, true },
	{ "conv_transpose1d", 0, transposed, true },
	{ "conv_transpose2d", 0, transposed, true },
	{ "conv_transpose3d", 0, transposed, true },
	{ "_scaled_dot_product_flash_attention", 0, attention, true },
	{ "_scaled_dot_product_flash_attention_for_cpu", 0, attention, true },
	{ "_scaled_dot_product_efficient_attention", 0, attention, true },
	{ "_scaled_dot_product_cudnn_attention", 0, attention, true },
};

static void take_inputs(struct inputs *in, const uint64_t *values, unsigned count)
{
	struct tensors_input input;
	size_t at = 0;

	while (in->count < INPUTS_MAX && tensors_next(values, count, &at, &input)) {
		unsigned times = input.kind == TENSORS_OTHER ? input.count : 1;
		for (; times && in->count < INPUTS_MAX; times--)
			in->list[in->count++] = input;
	}
}

static bool is_complex(unsigned type)
{
	return strncmp(tensors_type_name(type), "complex", strlen("complex")) == 0;
}

static const struct rule *find(const char *op)
{
	if (strncmp(op, "aten::", strlen("aten::")) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].op, op + strlen("aten::")) == 0)
			return &rules[i];
	return NULL;
}

bool tensor_flops_of(const char *op, const uint64_t *values, unsigned count, uint64_t *flops)
{
	const struct rule *rule = find(op);
	struct inputs in = { .count = 0 };

	if (!rule)
		return false;
	take_inputs(&in, values, count);
	if (rule->first >= in.count)
		return false;
	double all = rule->of(&in, rule->first);
	if (is_complex(in.list[rule->first].type))
		all *= rule->of == elements ? (rule->products ? 6 : 2) : 4;
	if (!(all >= 0 && all < 0x1p63))
		return false;
	*flops = (uint64_t)llround(all);
	return true;
}
