// SPDX-License-Identifier: MIT
#include "merge/op/op_shape.h"

#include "base/array.h"
#include "base/flops.h"
#include "base/hash.h"
#include "base/message.h"
#include "base/record.h"
#include "base/tensor_flops.h"
#include "base/tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 256 // a longer one is cut

void op_shapes_fini(struct op_shapes *s)
{
	free(s->known);
	free(s->texts);
	*s = (struct op_shapes){ 0 };
}

static int print_value(char *text, size_t size, enum op_detail detail, uint64_t value)
{
	double number;

	switch (detail) {
	case OP_DETAIL_SIGNED:
		return snprintf(text, size, "%" PRId64, (int64_t)value);
	case OP_DETAIL_DOUBLE:
		memcpy(&number, &value, sizeof(number));
		return snprintf(text, size, "%.6g", number);
	default:
		return snprintf(text, size, "%" PRIu64, value);
	}
}

static void print_shape(char *text, size_t size, const struct op_event *event)
{
	bool is_shape = event->detail == OP_DETAIL_SHAPE;
	size_t used = (size_t)snprintf(text, size, is_shape ? "[" : "payload ");

	// The longest number takes 21 characters, and the end must fit.
	for (uint32_t i = 0; i < event->detail_count; i++) {
		if (used + 32 > size) {
			used += (size_t)snprintf(text + used, size - used, ", ...");
			break;
		}
		if (i > 0)
			used += (size_t)snprintf(text + used, size - used, ", ");
		used += (size_t)print_value(text + used, size - used, (enum op_detail)event->detail,
		                            event->details[i]);
	}
	if (is_shape)
		snprintf(text + used, size - used, "]");
}

// A text that grows; what finds no room is cut.
struct print {
	char *text;
	size_t size, used;
};

static void append(struct print *p, const char *text)
{
	size_t length = strlen(text), room = p->size - 1 - p->used;

	length = length < room ? length : room;
	memcpy(p->text + p->used, text, length);
	p->used += length;
	p->text[p->used] = '\0';
}

static void append_input(struct print *p, const struct tensors_input *input)
{
	char number[32];

	append(p, "[");
	if (input->kind == TENSORS_UNKNOWN)
		append(p, "?");
	for (unsigned i = 0; input->kind == TENSORS_TENSOR && i < input->count; i++) {
		snprintf(number, sizeof(number), "%s%" PRIu64, i ? ", " : "", input->dimensions[i]);
		append(p, number);
	}
	append(p, "]");
}

// " float32", " int64 cuda:1": of the first tensor, and of others if they differ.
static void append_type(struct print *p, const struct tensors_input *input, uint64_t *known)
{
	uint64_t type = (uint64_t)(input->device << 8 | input->index) << 8 | input->type;
	char text[64];

	if (type + 1 == *known)
		return;
	int used = snprintf(text, sizeof(text), "%s%s", *known ? ", " : " ",
	                    tensors_type_name(input->type));
	*known = type + 1;
	if (input->device)
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %s",
		                 tensors_device_name(input->device));
	if (input->device && input->index != 255)
		snprintf(text + used, sizeof(text) - (size_t)used, ":%u", input->index);
	append(p, text);
}

static void append_inputs(struct print *p, const struct op_event *event)
{
	struct tensors_input input;
	size_t at = 0, done = 0;

	append(p, "[");
	while (tensors_next(event->details, event->detail_count, &at, &input)) {
		unsigned times = input.kind == TENSORS_OTHER ? input.count : 1;
		for (; times; times--, done++) {
			append(p, done ? ", " : "");
			if (input.kind == TENSORS_CUT)
				append(p, "...");
			else
				append_input(p, &input);
		}
	}
	append(p, "]");
}

// "[[64, 128], [128, 256], []] float32", as torch.profiler has it, but for the type.
static void print_tensors(char *text, size_t size, const struct op_event *event)
{
	struct print p = { text, size, 0 };
	struct tensors_input input;
	size_t at = 0;
	uint64_t known = 0;

	append_inputs(&p, event);
	while (tensors_next(event->details, event->detail_count, &at, &input))
		if (input.kind == TENSORS_TENSOR || input.kind == TENSORS_UNKNOWN)
			append_type(&p, &input, &known);
}

// How many texts were new with OP. NULL if there is no memory.
static uint32_t *texts_of(struct op_shapes *s, const struct op *op)
{
	if (op->id > s->text_count) {
		if (!array_reserve(&s->texts, &s->text_capacity, op->id))
			return NULL;
		memset(s->texts + s->text_count, 0, (op->id - s->text_count) * sizeof(*s->texts));
		s->text_count = op->id;
	}
	return &s->texts[op->id - 1];
}

static void print_details(char *text, size_t size, const struct op_event *event,
                          struct op_shape *shape)
{
	struct message m;

	if (event->detail == OP_DETAIL_TENSORS) {
		print_tensors(text, size, event);
	} else if (event->detail == OP_DETAIL_MESSAGE &&
	           message_unpack(event->details, event->detail_count, &m)) {
		message_print(&m, text, size);
		shape->message_bytes = m.bytes == MESSAGE_UNKNOWN ? 0 : m.bytes;
	} else {
		print_shape(text, size, event);
	}
}

static struct op_shape find_shape(struct op_shapes *s, struct strings *strings, const struct op *op,
                                  const struct op_event *event)
{
	struct op_shape shape = { 0 };
	char text[TEXT_SIZE];
	uint32_t *texts = texts_of(s, op);

	if (event->detail == OP_DETAIL_SHAPE)
		flops_of(op->name, event->details, event->detail_count, &shape.flops);
	else if (event->detail == OP_DETAIL_TENSORS)
		tensor_flops_of(op->name, event->details, event->detail_count, &shape.flops);
	print_details(text, sizeof(text), event, &shape);
	shape.text = strings_find(strings, text);
	if (!shape.text && texts && *texts < OP_SHAPES_OF_OP) {
		shape.text = strings_add(strings, text);
		++*texts;
	}
	shape.left_out = !shape.text;
	return shape;
}

static bool is_known(const struct op_shape_known *known, const struct op_event *event)
{
	return known->op == event->op && known->detail == event->detail &&
	       known->count == event->detail_count &&
	       memcmp(known->values, event->details,
	              event->detail_count * sizeof(known->values[0])) == 0;
}

struct op_shape op_shapes_of(struct op_shapes *s, struct strings *strings, const struct op *op,
                             const struct op_event *event)
{
	size_t bytes = event->detail_count * sizeof(event->details[0]);

	if (event->detail == OP_DETAIL_NONE || !event->detail_count)
		return (struct op_shape){ 0 };
	if (!s->known)
		s->known = calloc(OP_SHAPES_KNOWN, sizeof(*s->known));
	if (event->detail_count > OP_SHAPE_VALUES || !s->known)
		return find_shape(s, strings, op, event);
	uint64_t hash = hash_pair(event->op, hash_bytes(event->details, bytes));
	struct op_shape_known *known = &s->known[hash % OP_SHAPES_KNOWN];
	if (is_known(known, event))
		return known->shape;
	*known = (struct op_shape_known){
		.op = event->op,
		.detail = event->detail,
		.count = event->detail_count,
		.shape = find_shape(s, strings, op, event),
	};
	memcpy(known->values, event->details, bytes);
	return known->shape;
}
