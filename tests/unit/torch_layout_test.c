// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_layout.h"

#include "base/tensors.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#define TENSOR  1
#define INTEGER 5
#define LIST    14

// An at::RecordFunction, c10::IValues and c10::TensorImpls, as a version has them.
struct version {
	size_t inputs, sizes;
	bool flag_first; // of the device
	size_t list;
};

static const struct version versions[] = {
	{ 208, 56, false, 16 }, // 2.15
	{ 208, 72, true, 24 },  // 1.13
	{ 184, 64, false, 24 }, // with the old std::string
};

struct value {
	const void *payload;
	uint64_t tag;
};

struct scene {
	uint8_t function[512];
	uint8_t tensors[8][512];
	uint8_t lists[4][64];
	struct value values[16], numbers[4][8];
	size_t count, tensor_count, list_count;
	uint64_t words[64];
};

static void set(void *at, size_t offset, uint64_t value)
{
	memcpy((char *)at + offset, &value, sizeof(value));
}

static void add(struct scene *s, const struct version *v, uint64_t tag, const void *payload)
{
	s->values[s->count++] = (struct value){ payload, tag };
	set(s->function, v->inputs, (uint64_t)(uintptr_t)s->values);
	set(s->function, v->inputs + 8, s->count);
}

static uint8_t *add_tensor(struct scene *s, const struct version *v, unsigned dimensions,
                           const uint64_t *sizes)
{
	const uint8_t device[2][3] = { { 0, 0xff, 1 }, { 1, 0, 0xff } };
	uint8_t *tensor = s->tensors[s->tensor_count++];
	uint64_t all = 1;

	set(tensor, v->sizes, dimensions);
	for (unsigned i = 0; i < dimensions; i++) {
		set(tensor, v->sizes + 8 + 8 * i, sizes[i]);
		all *= sizes[i];
	}
	set(tensor, v->sizes + 96, all);
	tensor[v->sizes + 104] = 6;
	memcpy(tensor + v->sizes + 106, device[v->flag_first], 3);
	tensor[v->sizes + 109] = 0x41;
	add(s, v, TENSOR, tensor);
	return tensor;
}

static void add_list(struct scene *s, const struct version *v, unsigned count, uint64_t number)
{
	struct value *numbers = s->numbers[s->list_count];
	uint8_t *list = s->lists[s->list_count++];

	for (unsigned i = 0; i < count; i++)
		numbers[i] = (struct value){ (void *)(uintptr_t)number, INTEGER };
	set(list, 8, 1);
	if (v->list == 24)
		set(list, 16, 1);
	set(list, v->list, (uint64_t)(uintptr_t)numbers);
	set(list, v->list + 8, (uint64_t)(uintptr_t)(numbers + count));
	set(list, v->list + 16, (uint64_t)(uintptr_t)(numbers + 8));
	add(s, v, LIST, list);
}

// "f32[64,128] - -" or what has been learnt instead.
static const char *tell(struct scene *s, struct torch_layout *l, bool convolution)
{
	static char text[512];
	struct tensors_input input;
	size_t at = 0, used = 0;

	if (!torch_layout_is_known(l))
		torch_layout_learn(l, s->function, s->count);
	size_t count = torch_layout_inputs(l, s->function, s->words, 64, convolution);
	text[0] = 0;
	while (tensors_next(s->words, count, &at, &input)) {
		const char *const kinds[] = { "-", "t", "?", "i", "..." };
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", kinds[input.kind]);
		for (unsigned i = 0; i < input.count && input.kind != TENSORS_OTHER; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%lu",
			                         i ? ',' : '[', input.dimensions[i]);
		for (unsigned i = 1; i < input.count && input.kind == TENSORS_OTHER; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "-");
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
		                         input.count && input.kind != TENSORS_OTHER ? "]" : "");
	}
	return text;
}

#define SIZES(...)                                                                                 \
	(const uint64_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

Test(torch_layout, inputs_are_found_in_each_version)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct torch_layout layout = { 0 };
		struct scene s = { .count = 0 };
		add_tensor(&s, &versions[i], 2, SIZES(64, 128));
		add_tensor(&s, &versions[i], 1, SIZES(UINT64_C(1) << 33));
		add(&s, &versions[i], INTEGER, (void *)7);
		add(&s, &versions[i], 0, NULL);
		cr_expect(eq(str, (char *)tell(&s, &layout, false), "t[64,128] t[8589934592] -- "),
		          "version %zu", i);
	}
}

Test(torch_layout, ops_before_the_first_tensor_are_told_as_well)
{
	struct torch_layout layout = { 0 };
	struct scene s = { .count = 0 };

	add(&s, &versions[0], INTEGER, (void *)7);
	add(&s, &versions[0], INTEGER, (void *)7);
	cr_expect(eq(str, (char *)tell(&s, &layout, false), "-- "));
	cr_expect(not(torch_layout_is_known(&layout)));
}

Test(torch_layout, a_number_of_elements_that_is_not_the_product_is_unknown)
{
	struct torch_layout layout = { 0 };
	struct scene s = { .count = 0 };

	add_tensor(&s, &versions[0], 2, SIZES(64, 128));
	uint8_t *wrong = add_tensor(&s, &versions[0], 2, SIZES(3, 5));
	set(wrong, versions[0].sizes + 96, 16);
	uint8_t *symbolic = add_tensor(&s, &versions[0], 1, SIZES(3));
	symbolic[versions[0].sizes + 110] |= 0x10;
	uint8_t *nested = add_tensor(&s, &versions[0], 1, SIZES(3));
	nested[versions[0].sizes + 110] |= 0x08;
	uint8_t *undefined = add_tensor(&s, &versions[0], 1, SIZES(0));
	undefined[versions[0].sizes + 108] = 0;
	cr_expect(eq(str, (char *)tell(&s, &layout, false), "t[64,128] ? ? ? - "));
}

Test(torch_layout, more_than_five_dimensions_are_elsewhere)
{
	const uint64_t sizes[] = { 1, 2, 3, 4, 5, 6 };
	struct torch_layout layout = { 0 };
	struct scene s = { .count = 0 };

	add_tensor(&s, &versions[1], 1, SIZES(9));
	uint8_t *tensor = add_tensor(&s, &versions[1], 0, NULL);
	set(tensor, versions[1].sizes, 6);
	set(tensor, versions[1].sizes + 8, (uint64_t)(uintptr_t)sizes);
	set(tensor, versions[1].sizes + 96, 720);
	cr_expect(eq(str, (char *)tell(&s, &layout, false), "t[9] t[1,2,3,4,5,6] "));
}

Test(torch_layout, lists_of_a_convolution_are_told)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct torch_layout layout = { 0 };
		struct scene s = { .count = 0 };
		add_tensor(&s, &versions[i], 3, SIZES(2, 3, 9));
		add_tensor(&s, &versions[i], 3, SIZES(4, 3, 3));
		add(&s, &versions[i], 0, NULL);
		add_list(&s, &versions[i], 1, 2);
		add_list(&s, &versions[i], 2, 1);
		add_list(&s, &versions[i], 1, 3);
		add(&s, &versions[i], INTEGER, (void *)1);
		cr_expect(eq(str, (char *)tell(&s, &layout, false), "t[2,3,9] t[4,3,3] ----- "));
		cr_expect(eq(str, (char *)tell(&s, &layout, true),
		             "t[2,3,9] t[4,3,3] - i[2] i[1,1] i[3] - "));
	}
}

Test(torch_layout, an_op_of_many_inputs_says_that_there_are_more)
{
	const struct version *v = &versions[0];
	struct torch_layout layout = { 0 };
	struct scene s = { .count = 0 };

	for (unsigned i = 0; i < 6; i++)
		add_tensor(&s, v, 3, SIZES(1, 2, 3));
	cr_expect(eq(str, (char *)tell(&s, &layout, false),
	             "t[1,2,3] t[1,2,3] t[1,2,3] t[1,2,3] t[1,2,3] t[1,2,3] "));
	size_t count = torch_layout_inputs(&layout, s.function, s.words, 12, false);
	cr_assert(le(sz, count, 12));
	cr_expect(eq(u64, s.words[count - 1] & 0xff, TENSORS_CUT));
}

Test(torch_layout, what_is_like_no_version_is_given_up)
{
	struct torch_layout layout = { 0 };
	struct scene s = { .count = 0 };

	for (unsigned i = 0; i < TORCH_TRIES; i++)
		torch_layout_learn(&layout, s.function, 3);
	cr_expect(layout.failed);
	cr_expect(eq(sz, torch_layout_inputs(&layout, s.function, s.words, 64, false), 0));
}
