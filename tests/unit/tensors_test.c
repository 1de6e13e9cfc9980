// SPDX-License-Identifier: MIT
#include "base/tensors.h"

#include "base/tensor_flops.h"
#include "tests/support/expect.h"

#include <string.h>

#define FLOAT     6
#define COMPLEX64 9
#define CPU       0
#define NONE      255

struct values {
	uint64_t words[64];
	unsigned count;
};

static void put(struct values *v, enum tensors_kind kind, unsigned type, unsigned count,
                const uint64_t *numbers)
{
	v->words[v->count++] = tensors_head(kind, count, type, CPU, NONE, 0);
	for (unsigned i = 0; numbers && i < count; i += 2)
		v->words[v->count++] = numbers[i] | (i + 1 < count ? numbers[i + 1] << 32 : 0);
}

#define SHAPE(...)                                                                                 \
	(const uint64_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define TENSOR(v, n, ...)  put(v, TENSORS_TENSOR, FLOAT, n, SHAPE(__VA_ARGS__))
#define NUMBERS(v, n, ...) put(v, TENSORS_INTEGERS, 0, n, SHAPE(__VA_ARGS__))

static uint64_t flops(const char *op, const struct values *v)
{
	uint64_t result = UINT64_MAX;
	bool known = tensor_flops_of(op, v->words, v->count, &result);

	cr_expect(eq(int, known, result != UINT64_MAX), "%s", op);
	return result;
}

Test(tensors, inputs_come_back_as_they_were_put)
{
	struct values v = { .count = 0 };
	struct tensors_input input;
	size_t at = 0;

	TENSOR(&v, 3, 64, 128, 3);
	put(&v, TENSORS_OTHER, 0, 2, NULL);
	v.words[v.count++] = tensors_head(TENSORS_TENSOR, 2, 1, 1, 3, TENSORS_WIDE);
	v.words[v.count++] = UINT64_C(1) << 40;
	v.words[v.count++] = 2;

	cr_assert(tensors_next(v.words, v.count, &at, &input));
	cr_expect(eq(int, (int)input.kind, TENSORS_TENSOR));
	cr_expect(eq(uint, input.count, 3));
	cr_expect(eq(u64, input.dimensions[0], 64));
	cr_expect(eq(u64, input.dimensions[2], 3));
	cr_expect(eq(str, (char *)tensors_type_name(input.type), "float32"));
	cr_expect(eq(uint, input.index, NONE));
	cr_assert(tensors_next(v.words, v.count, &at, &input));
	cr_expect(eq(int, (int)input.kind, TENSORS_OTHER));
	cr_expect(eq(uint, input.count, 2));
	cr_assert(tensors_next(v.words, v.count, &at, &input));
	cr_expect(eq(u64, input.dimensions[0], UINT64_C(1) << 40));
	cr_expect(eq(str, (char *)tensors_device_name(input.device), "cuda"));
	cr_expect(eq(uint, input.index, 3));
	cr_expect(not(tensors_next(v.words, v.count, &at, &input)));
}

Test(tensors, what_makes_no_sense_ends_them)
{
	const uint64_t cut[] = { tensors_head(TENSORS_TENSOR, 3, 0, 0, 0, 0), 1 };
	const uint64_t large[] = { tensors_head(TENSORS_TENSOR, 65, 0, 0, 0, 0) };
	const uint64_t strange[] = { 77 };
	struct tensors_input input;
	size_t at = 0;

	cr_expect(not(tensors_next(cut, 2, &at, &input)));
	cr_expect(not(tensors_next(large, 1, &at, &input)));
	cr_expect(not(tensors_next(strange, 1, &at, &input)));
	cr_expect(eq(sz, at, 0));
	cr_expect(eq(str, (char *)tensors_type_name(200), "?"));
	cr_expect(eq(str, (char *)tensors_device_name(200), "?"));
}

Test(tensors, products_of_matrices_count_two_for_each_multiplication)
{
	struct values mm = { .count = 0 }, addmm = { .count = 0 }, bmm = { .count = 0 };

	TENSOR(&mm, 2, 64, 128);
	TENSOR(&mm, 2, 128, 256);
	cr_expect(eq(u64, flops("aten::mm", &mm), 2 * 64 * 128 * 256));
	TENSOR(&addmm, 1, 256);
	TENSOR(&addmm, 2, 64, 128);
	TENSOR(&addmm, 2, 128, 256);
	put(&addmm, TENSORS_OTHER, 0, 2, NULL);
	cr_expect(eq(u64, flops("aten::addmm", &addmm), 2 * 64 * 128 * 256));
	TENSOR(&bmm, 3, 4, 32, 64);
	TENSOR(&bmm, 3, 4, 64, 16);
	cr_expect(eq(u64, flops("aten::bmm", &bmm), 4 * 2 * 32 * 64 * 16));
	cr_expect(eq(u64, flops("aten::linear", &addmm), UINT64_MAX));
	cr_expect(eq(u64, flops("aten::mm", &addmm), UINT64_MAX));
}

Test(tensors, elements_are_those_of_the_result)
{
	struct values v = { .count = 0 }, number = { .count = 0 }, pair = { .count = 0 };

	TENSOR(&v, 2, 5, 1);
	TENSOR(&v, 3, 3, 1, 7);
	cr_expect(eq(u64, flops("aten::mul", &v), 3 * 5 * 7));
	TENSOR(&number, 2, 4, 4);
	put(&number, TENSORS_OTHER, 0, 1, NULL);
	cr_expect(eq(u64, flops("aten::add", &number), 16));
	put(&pair, TENSORS_TENSOR, COMPLEX64, 2, SHAPE(2, 2));
	put(&pair, TENSORS_TENSOR, COMPLEX64, 2, SHAPE(2, 2));
	cr_expect(eq(u64, flops("aten::mul", &pair), 4 * 6));
	cr_expect(eq(u64, flops("aten::mm", &pair), 4 * 16));
}

Test(tensors, convolutions_know_stride_padding_dilation_and_groups)
{
	struct values v = { .count = 0 }, word = { .count = 0 }, back = { .count = 0 };

	TENSOR(&v, 4, 8, 16, 32, 32);
	TENSOR(&v, 4, 16, 4, 3, 3); // 4 groups
	TENSOR(&v, 1, 16);
	NUMBERS(&v, 2, 2, 2);
	NUMBERS(&v, 1, 1);
	NUMBERS(&v, 2, 2, 2);
	// (32 + 2 - 2 * 2 - 1) / 2 + 1 = 15 in both directions.
	cr_expect(eq(u64, flops("aten::conv2d", &v), UINT64_C(2) * 8 * 15 * 15 * 16 * 4 * 9));
	TENSOR(&word, 4, 8, 16, 32, 32);
	TENSOR(&word, 4, 16, 4, 3, 3);
	put(&word, TENSORS_OTHER, 0, 4, NULL);
	cr_expect(eq(u64, flops("aten::conv2d", &word), UINT64_MAX));
	TENSOR(&back, 3, 2, 6, 10);
	TENSOR(&back, 3, 6, 3, 5);
	cr_expect(eq(u64, flops("aten::conv_transpose1d", &back), 2 * 2 * 6 * 10 * 3 * 5));
}

Test(tensors, attention_is_two_products)
{
	struct values v = { .count = 0 };

	TENSOR(&v, 4, 2, 4, 16, 8);
	TENSOR(&v, 4, 2, 4, 20, 8);
	TENSOR(&v, 4, 2, 4, 20, 6);
	cr_expect(eq(u64, flops("aten::_scaled_dot_product_flash_attention", &v),
	             2 * 2 * 4 * 16 * 20 * (8 + 6)));
}
