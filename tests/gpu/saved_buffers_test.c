// SPDX-License-Identifier: MIT
#include "tests/gpu/saved_buffers.h"

#include "tests/gpu/record_kinds.h"
#include "tests/support/expect.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <string.h>

#define KERNELS 3

static struct cupti_kernel kernels[KERNELS] __attribute__((aligned(8)));

// As cuptiActivityGetNextRecord() is, of records of this one length.
static int next(uint8_t *buffer, size_t valid_bytes, uint32_t **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(*kernels) : buffer;

	if (at + sizeof(*kernels) > buffer + valid_bytes)
		return CUPTI_END_OF_BUFFER;
	*record = (uint32_t *)(void *)at;
	return 0;
}

// A file of two buffers; the caller frees its name.
static char *save(void)
{
	static const char *const names[KERNELS] = { "first", "second", "first" };
	char *path = strdup("/tmp/saved_buffers_test.XXXXXX");

	close(mkstemp(path));
	for (size_t i = 0; i < KERNELS; i++)
		kernels[i] = (struct cupti_kernel){ .kind = CUPTI_KIND_CONCURRENT_KERNEL,
			                            .begin_ns = i,
			                            .name = names[i] };
	struct saved_writer *w = saved_writer_open(path, 1204, NULL);
	cr_assert(w != NULL);
	cr_assert(saved_writer_add(w, (uint8_t *)kernels, sizeof(kernels), next));
	cr_assert(saved_writer_add(w, (uint8_t *)kernels, sizeof(*kernels), next));
	saved_writer_close(w);
	return path;
}

static void expect_kernel(const struct saved_buffer *b, size_t index, const char *name)
{
	struct cupti_kernel k;

	memcpy(&k, b->data + index * sizeof(k), sizeof(k));
	cr_expect(eq(u64, k.begin_ns, index));
	cr_expect(eq(str, (char *)k.name, (char *)name));
}

Test(saved_buffers, are_read_as_they_were_written)
{
	cleanup_free char *path = save();
	struct error err = { 0 };
	cleanup_saved_buffers struct saved_buffers *s = saved_buffers_read(path, &err);

	unlink(path);
	cr_assert(s != NULL, "%s", err.text);
	cr_expect(eq(u32, saved_buffers_cuda(s), 1204));
	cr_assert(eq(sz, saved_buffers_count(s), 2));
	struct saved_buffer b = saved_buffers_get(s, 0);
	cr_expect(eq(sz, b.records, KERNELS));
	expect_kernel(&b, 0, "first");
	expect_kernel(&b, 1, "second");
	expect_kernel(&b, 2, "first");
	b = saved_buffers_get(s, 1);
	cr_expect(eq(sz, b.records, 1));
	expect_kernel(&b, 0, "first");
}

static size_t read_file(const char *path, uint8_t *bytes, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "re");

	return file ? fread(bytes, 1, size, file) : 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "we");

	cr_assert(file && fwrite(bytes, 1, size, file) == size);
}

Test(saved_buffers, that_are_cut_short_are_as_long_as_their_whole_parts)
{
	cleanup_free char *path = save();
	uint8_t bytes[4096];
	size_t size = read_file(path, bytes, sizeof(bytes)), last = 0;

	for (size_t cut = 0; cut <= size; cut++) {
		write_file(path, bytes, cut);
		cleanup_saved_buffers struct saved_buffers *s = saved_buffers_read(path, NULL);
		size_t count = s ? saved_buffers_count(s) : 0;
		cr_expect(count >= last, "%zu bytes: %zu buffers", cut, count);
		last = count;
	}
	cr_expect(eq(sz, last, 2));
	unlink(path);
}

Test(saved_buffers, that_are_damaged_are_refused_or_read_within_their_bounds)
{
	cleanup_free char *path = save();
	uint8_t bytes[4096];
	size_t size = read_file(path, bytes, sizeof(bytes)), refused = 0;

	for (size_t at = 0; at < size; at++) {
		bytes[at] ^= 0xff;
		write_file(path, bytes, size);
		cleanup_saved_buffers struct saved_buffers *s = saved_buffers_read(path, NULL);
		refused += !s;
		bytes[at] ^= 0xff;
		for (size_t i = 0; s && i < saved_buffers_count(s); i++) {
			struct saved_buffer b = saved_buffers_get(s, i);
			cr_expect(b.bytes <= size);
		}
	}
	cr_expect(refused >= sizeof(struct saved_header) - sizeof(uint32_t));
	unlink(path);
}
