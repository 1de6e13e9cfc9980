// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/record_kinds.h"

#include <string.h>

// 0: CUPTI does not know how long it is.
static size_t stride(const uint8_t *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	size_t bytes = kind == RECORD_STRANGE_KIND ? RECORD_STRANGE_BYTES
	                                           : record_bytes(kind, fake_settings()->cuda);
	return bytes && fake_faults()->misaligned ? bytes + sizeof(uint32_t) : bytes;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, uint32_t **record)
{
	if (!buffer || !record)
		return CUPTI_INVALID_PARAMETER;
	uint8_t *last = (uint8_t *)*record;
	uint8_t *next = last ? last + stride(last) : buffer;
	if (last && (last < buffer || last >= buffer + valid_bytes)) {
		fake_violation("%s: the last record is not of this buffer", __func__);
		return CUPTI_INVALID_PARAMETER;
	}
	if (next == last)
		return CUPTI_INVALID_KIND;
	if (next + sizeof(uint32_t) > buffer + valid_bytes)
		return CUPTI_END_OF_BUFFER;
	if (!stride(next))
		return CUPTI_INVALID_KIND;
	*record = (uint32_t *)(void *)next;
	return 0;
}
