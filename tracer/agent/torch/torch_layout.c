// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_layout.h"

#include "base/tensors.h"

#define INPUTS_MAX  4096 // more are not believed
#define TAG_TENSOR  1
#define TAGS        64
#define INLINE_MAX  5 // dimensions that stand in the tensor itself
#define TYPES       128
#define POLICY      0x0c // sizes_strides_policy_
#define CUSTOM      0x08 // its CustomSizes
#define SYMBOLIC    0x10 // has_symbolic_sizes_strides_
#define TAG_INTEGER 5
#define LIST_MAX    8 // numbers of a list that is told

#define unlikely(x) __builtin_expect(!!(x), 0)
#define INLINE      static inline __attribute__((always_inline)) // on the path of every op

struct value { // c10::IValue
	const char *payload;
	uint32_t tag;
	uint32_t rest;
};

struct inputs { // c10::ArrayRef<const c10::IValue>
	const struct value *values;
	size_t count;
};

// Of c10::TensorImpl, from sizes_and_strides_ on; the strides are where `other` begins if there are
// more dimensions than INLINE_MAX.
struct tensor {
	uint64_t dimensions;
	union {
		uint64_t sizes[INLINE_MAX];
		const uint64_t *sizes_elsewhere;
	};
	uint64_t strides[INLINE_MAX];
	uint64_t storage_offset;
	uint64_t elements;
	uint16_t type;
	uint8_t device[3]; // see device_of()
	uint8_t flags[3];
};
_Static_assert(sizeof(struct tensor) == 112, "torch 1.13 and 2.15");

// Of what stands in torch_layout.sizes: c10::optional<>, up to 2.0, has first whether there is a
// value; std::optional<> has it last.
#define FLAG_FIRST (1u << 16)

struct device {
	uint8_t type, index;
	bool is_there;
};

INLINE struct device device_of(const struct tensor *t, uint32_t layout)
{
	const uint8_t *bytes = t->device;

	if (layout & FLAG_FIRST)
		return (struct device){ bytes[1], bytes[2], bytes[0] == 1 };
	return (struct device){ bytes[0], bytes[1], bytes[2] == 1 };
}

static const struct tensor *tensor_at(const char *payload, uint32_t layout)
{
	return (const struct tensor *)(payload + (layout & ~FLAG_FIRST));
}

static const uint64_t *sizes_of(const struct tensor *t)
{
	return t->dimensions > INLINE_MAX ? t->sizes_elsewhere : t->sizes;
}

static uint64_t product(const uint64_t *sizes, uint64_t count)
{
	uint64_t all = 1;

	for (uint64_t i = 0; i < count; i++)
		all *= sizes[i];
	return all;
}

/* What the layout is. */

static struct inputs inputs_at(const void *function, uint32_t offset)
{
	return *(const struct inputs *)((const char *)function + offset);
}

// Bytes that happen to look like it: a pointer, and the right number behind it.
static bool are_inputs(struct inputs inputs, size_t count)
{
	uintptr_t at = (uintptr_t)inputs.values;

	return inputs.count == count && at > 4096 && at >> 47 == 0 && at % 8 == 0;
}

static bool are_values(struct inputs inputs)
{
	for (size_t i = 0; i < inputs.count; i++)
		if (inputs.values[i].tag >= TAGS)
			return false;
	return true;
}

// std::string has another size in the libraries that are built with its old one. Where that stands,
// the new one has the end of a name that is short.
static struct inputs find_inputs(const void *function, size_t count, uint32_t *offset)
{
	static const uint32_t offsets[] = { 208, 184 };

	for (unsigned i = 0; i < 2; i++) {
		struct inputs inputs = inputs_at(function, offsets[i]);
		*offset = offsets[i];
		if (are_inputs(inputs, count))
			return are_values(inputs) ? inputs : (struct inputs){ 0 };
	}
	return (struct inputs){ 0 };
}

INLINE bool is_plain(const struct tensor *t)
{
	return t->type < TYPES && !(t->flags[1] & SYMBOLIC) && (t->flags[1] & POLICY) < CUSTOM;
}

// The first ones are on the CPU, which has no index (-1). That and the number of elements are right
// at a wrong offset by chance alone.
static bool is_tensor(const struct tensor *t, uint32_t layout)
{
	struct device device = device_of(t, layout);

	return device.is_there && device.type == 0 && device.index == 0xff &&
	       t->dimensions <= INLINE_MAX && is_plain(t) &&
	       product(t->sizes, t->dimensions) == t->elements;
}

// 0 unless it is the only one.
static uint32_t layout_of(const char *tensor)
{
	static const uint32_t layouts[] = {
		56, 64, 72, 56 | FLAG_FIRST, 64 | FLAG_FIRST, 72 | FLAG_FIRST
	};
	uint32_t found = 0;

	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (!is_tensor(tensor_at(tensor, layouts[i]), layouts[i]))
			continue;
		if (found)
			return 0;
		found = layouts[i];
	}
	return found;
}

static uint32_t find_sizes(struct inputs inputs)
{
	uint32_t found = 0;

	for (size_t i = 0; i < inputs.count && !found; i++)
		if (inputs.values[i].tag == TAG_TENSOR && inputs.values[i].payload)
			found = layout_of(inputs.values[i].payload);
	return found;
}

void torch_layout_learn(struct torch_layout *l, const void *function, size_t count)
{
	uint32_t offset;

	if (!count || count > INPUTS_MAX || l->failed)
		return;
	struct inputs inputs = find_inputs(function, count, &offset);
	uint32_t sizes = inputs.values ? find_sizes(inputs) : 0;
	l->failed = !sizes && ++l->tries >= TORCH_TRIES;
	if (inputs.values)
		__atomic_store_n(&l->inputs, offset, __ATOMIC_RELAXED);
	if (sizes)
		__atomic_store_n(&l->sizes, sizes, __ATOMIC_RELEASE);
}

/* What it holds. */

struct out {
	uint64_t *values;
	size_t count, max;
	unsigned others; // in a row, not written yet
	bool cut;
};

INLINE void put_others(struct out *out)
{
	if (!out->others)
		return;
	out->values[out->count++] = tensors_head(TENSORS_OTHER, out->others, 0, 0, 0, 0);
	out->others = 0;
}

// Room for WORDS of an input, for others before it, and for saying that there was more behind it.
INLINE bool make_room(struct out *out, size_t words)
{
	out->cut |= out->count + words + 3 > out->max;
	if (!out->cut)
		put_others(out);
	return !out->cut;
}

INLINE void put_other(struct out *out)
{
	if (out->others == 255 && !make_room(out, 0))
		return;
	out->others++;
}

static bool are_small(const uint64_t *sizes, uint64_t count)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < count; i++)
		all |= sizes[i];
	return all <= INT32_MAX;
}

static void put_numbers(struct out *out, uint64_t head, const uint64_t *numbers, unsigned count)
{
	if (!are_small(numbers, count)) {
		if (!make_room(out, 1 + count))
			return;
		out->values[out->count++] = head | (uint64_t)TENSORS_WIDE << 40;
		for (unsigned i = 0; i < count; i++)
			out->values[out->count++] = numbers[i];
		return;
	}
	if (!make_room(out, 1 + (count + 1) / 2))
		return;
	out->values[out->count++] = head;
	for (unsigned i = 0; i < count; i += 2)
		out->values[out->count++] = numbers[i] | (i + 1 < count ? numbers[i + 1] << 32 : 0);
}

// As nearly all tensors are: of few dimensions, none of them large. False if it is not.
INLINE bool put_common(struct out *out, const struct tensor *t, uint64_t head)
{
	uint64_t count = t->dimensions, elements = 1, all = 0;

	if (unlikely(count > INLINE_MAX || !make_room(out, 1 + (count + 1) / 2)))
		return false;
	uint64_t *values = out->values + out->count;
	values[0] = head | TENSORS_TENSOR | count << 8;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t size = t->sizes[i];
		elements *= size;
		all |= size;
		if (i % 2)
			values[1 + i / 2] |= size << 32;
		else
			values[1 + i / 2] = size;
	}
	if (unlikely(elements != t->elements || all > INT32_MAX))
		return false;
	out->count += 1 + (count + 1) / 2;
	return true;
}

static __attribute__((noinline)) void put_uncommon(struct out *out, const struct tensor *t,
                                                   uint64_t head)
{
	if (is_plain(t) && t->dimensions <= TENSORS_DIMENSIONS &&
	    product(sizes_of(t), t->dimensions) == t->elements)
		put_numbers(out, head | TENSORS_TENSOR | t->dimensions << 8, sizes_of(t),
		            (unsigned)t->dimensions);
	else if (make_room(out, 1))
		out->values[out->count++] = head | TENSORS_UNKNOWN;
}

INLINE void put_tensor(struct out *out, const struct tensor *t, uint32_t layout)
{
	struct device device = device_of(t, layout);

	// Undefined: no tensor was given.
	if (unlikely(!device.is_there)) {
		put_other(out);
		return;
	}
	uint64_t head =
		tensors_head((enum tensors_kind)0, 0, t->type, device.type, device.index, 0);
	if (unlikely(!is_plain(t) || !put_common(out, t, head)))
		put_uncommon(out, t, head);
}

// c10::detail::ListImpl: a std::vector<IValue> behind one count of references, or two.
static struct inputs list_at(const char *payload)
{
	for (unsigned offset = 16; offset <= 24; offset += 8) {
		const uint64_t *bounds = (const uint64_t *)(payload + offset);
		uint64_t bytes = bounds[1] - bounds[0], room = bounds[2] - bounds[0];
		if (bounds[0] > 4096 && bounds[0] % 8 == 0 && bytes % sizeof(struct value) == 0 &&
		    bytes <= room && bytes / sizeof(struct value) <= LIST_MAX)
			return (struct inputs){ (const struct value *)(uintptr_t)bounds[0],
				                bytes / sizeof(struct value) };
	}
	return (struct inputs){ 0 };
}

static __attribute__((noinline)) void put_list(struct out *out, const struct value *value)
{
	struct inputs list = value->payload ? list_at(value->payload) : (struct inputs){ 0 };
	uint64_t numbers[LIST_MAX];

	for (size_t i = 0; i < list.count; i++) {
		numbers[i] = (uint64_t)(uintptr_t)list.values[i].payload;
		if (list.values[i].tag != TAG_INTEGER || numbers[i] > INT32_MAX)
			list.count = 0;
	}
	if (list.count)
		put_numbers(out, tensors_head(TENSORS_INTEGERS, (unsigned)list.count, 0, 0, 0, 0),
		            numbers, (unsigned)list.count);
	else
		put_other(out);
}

// Of a convolution: stride, padding and dilation, of which the padding may be a word. What kind of
// value a list is differs from version to version: they are all of one kind.
#define STRIDE   3
#define DILATION 5

static bool is_list(struct inputs inputs, size_t index)
{
	return index >= STRIDE && index <= DILATION && inputs.count > DILATION &&
	       inputs.values[index].tag == inputs.values[STRIDE].tag &&
	       inputs.values[STRIDE].tag == inputs.values[DILATION].tag &&
	       inputs.values[STRIDE].tag > TAG_INTEGER;
}

static bool has_tensors(struct inputs inputs)
{
	for (size_t i = 0; i < inputs.count; i++)
		if (inputs.values[i].tag == TAG_TENSOR)
			return true;
	return false;
}

INLINE void put_inputs(struct out *out, struct inputs inputs, uint32_t sizes, bool lists)
{
	for (size_t i = 0; i < inputs.count && !out->cut; i++) {
		const struct value *value = &inputs.values[i];
		if (value->tag == TAG_TENSOR && value->payload)
			put_tensor(out, tensor_at(value->payload, sizes), sizes);
		else if (lists && is_list(inputs, i))
			put_list(out, value);
		else
			put_other(out);
	}
	put_others(out);
	if (out->cut)
		out->values[out->count++] = tensors_head(TENSORS_CUT, 0, 0, 0, 0, 0);
}

size_t torch_layout_inputs(const struct torch_layout *l, const void *function, uint64_t *values,
                           size_t max, bool convolution)
{
	uint32_t sizes = __atomic_load_n(&l->sizes, __ATOMIC_ACQUIRE);
	uint32_t offset = __atomic_load_n(&l->inputs, __ATOMIC_RELAXED);
	struct out out = { .values = values, .max = max };

	if (!offset)
		return 0;
	struct inputs inputs = inputs_at(function, offset);
	if (!inputs.values || inputs.count > INPUTS_MAX || (!sizes && has_tensors(inputs)))
		return 0;
	put_inputs(&out, inputs, sizes, convolution);
	return out.count;
}
