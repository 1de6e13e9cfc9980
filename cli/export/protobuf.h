/* SPDX-License-Identifier: MIT */
/*
 * Messages of Google's protocol buffers as they are written: a message is bytes, field by field,
 * and may be a field of another one.
 *
 *	protobuf_put_count(&line, 1, function);
 *	protobuf_put_message(&location, 4, &line);
 *
 * Where memory is short a message is marked as failed, and so is every one that it becomes part
 * of: ask once, at the end. What is 0 or empty is not written, which is what it means there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
	unsigned char *bytes;
	size_t size, capacity;
	bool failed;
};

void protobuf_fini(struct protobuf *p);

static inline void protobuf_at_scope_end(struct protobuf *p)
{
	protobuf_fini(p);
}

/* Makes it an empty message again, with its memory. */
void protobuf_clear(struct protobuf *p);

/* FIELD is a number of the message's schema, from 1. */
void protobuf_put_count(struct protobuf *p, unsigned field, uint64_t value);
void protobuf_put_text(struct protobuf *p, unsigned field, const char *text);
void protobuf_put_message(struct protobuf *p, unsigned field, const struct protobuf *message);

/* A value of a packed repeated field, without its number: those are a message of their own. */
void protobuf_put_packed(struct protobuf *p, uint64_t value);
