// SPDX-License-Identifier: MIT
#include "cli/export/protobuf.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum wire {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2
};

void protobuf_fini(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){ 0 };
}

void protobuf_clear(struct protobuf *p)
{
	p->size = 0;
}

static void put_bytes(struct protobuf *p, const void *bytes, size_t size)
{
	if (p->failed || !array_reserve(&p->bytes, &p->capacity, p->size + size)) {
		p->failed = true;
		return;
	}
	if (size)
		memcpy(p->bytes + p->size, bytes, size);
	p->size += size;
}

// Seven bits a byte, lowest first; all but the last have the eighth.
void protobuf_put_packed(struct protobuf *p, uint64_t value)
{
	unsigned char bytes[10];
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (unsigned char)(value | 0x80);
	bytes[size++] = (unsigned char)value;
	put_bytes(p, bytes, size);
}

static void put_key(struct protobuf *p, unsigned field, enum wire wire)
{
	protobuf_put_packed(p, (uint64_t)field << 3 | wire);
}

void protobuf_put_count(struct protobuf *p, unsigned field, uint64_t value)
{
	if (!value)
		return;
	put_key(p, field, WIRE_VARINT);
	protobuf_put_packed(p, value);
}

static void put_sized(struct protobuf *p, unsigned field, const void *bytes, size_t size)
{
	put_key(p, field, WIRE_BYTES);
	protobuf_put_packed(p, size);
	put_bytes(p, bytes, size);
}

void protobuf_put_text(struct protobuf *p, unsigned field, const char *text)
{
	put_sized(p, field, text, strlen(text));
}

void protobuf_put_message(struct protobuf *p, unsigned field, const struct protobuf *message)
{
	p->failed |= message->failed;
	put_sized(p, field, message->bytes, message->size);
}
