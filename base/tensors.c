// SPDX-License-Identifier: MIT
#include "base/tensors.h"

static bool has_dimensions(enum tensors_kind kind)
{
	return kind == TENSORS_TENSOR || kind == TENSORS_INTEGERS;
}

static size_t words_of(unsigned count, bool wide)
{
	return wide ? count : (count + 1) / 2;
}

static void take_dimensions(const uint64_t *values, bool wide, struct tensors_input *out)
{
	for (unsigned i = 0; i < out->count; i++)
		out->dimensions[i] =
			wide ? values[i] : (values[i / 2] >> (i % 2 ? 32 : 0) & UINT32_MAX);
}

bool tensors_next(const uint64_t *values, size_t count, size_t *at, struct tensors_input *out)
{
	if (*at >= count)
		return false;
	uint64_t head = values[*at];
	bool wide = (head >> 40 & TENSORS_WIDE) != 0;

	out->kind = (enum tensors_kind)(head & 0xff);
	out->count = head >> 8 & 0xff;
	out->type = head >> 16 & 0xff;
	out->device = head >> 24 & 0xff;
	out->index = head >> 32 & 0xff;
	if (out->kind > TENSORS_CUT)
		return false;
	size_t words = has_dimensions(out->kind) ? words_of(out->count, wide) : 0;
	if (has_dimensions(out->kind) && out->count > TENSORS_DIMENSIONS)
		return false;
	if (words > count - *at - 1)
		return false;
	if (words)
		take_dimensions(values + *at + 1, wide, out);
	*at += 1 + words;
	return true;
}

static const char *name_in(const char *const *names, size_t count, unsigned index)
{
	return index < count && names[index] ? names[index] : "?";
}

const char *tensors_type_name(unsigned type)
{
	// c10/core/ScalarType.h, as torch.dtype prints them.
	static const char *const names[] = {
		"uint8",
		"int8",
		"int16",
		"int32",
		"int64",
		"float16",
		"float32",
		"float64",
		"complex32",
		"complex64",
		"complex128",
		"bool",
		"qint8",
		"quint8",
		"qint32",
		"bfloat16",
		"quint4x2",
		"quint2x4",
		"bits1x8",
		"bits2x4",
		"bits4x2",
		"bits8",
		"bits16",
		"float8_e5m2",
		"float8_e4m3fn",
		"float8_e5m2fnuz",
		"float8_e4m3fnuz",
		"uint16",
		"uint32",
		"uint64",
		"uint1",
		"uint2",
		"uint3",
		"uint4",
		"uint5",
		"uint6",
		"uint7",
		"int1",
		"int2",
		"int3",
		"int4",
		"int5",
		"int6",
		"int7",
		"float8_e8m0fnu",
		"float4_e2m1fn_x2",
	};

	return name_in(names, sizeof(names) / sizeof(names[0]), type);
}

const char *tensors_device_name(unsigned device)
{
	// c10/core/DeviceType.h
	static const char *const names[] = {
		"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
		"fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
		"meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
	};

	return name_in(names, sizeof(names) / sizeof(names[0]), device);
}
