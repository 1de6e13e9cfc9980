// SPDX-License-Identifier: MIT
#include "symbolize/elf/decompress.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/inflated.h"

#include <dlfcn.h>
#include <errno.h>
#include <lzma.h>
#include <zlib.h>

// zlib cannot do better than 1032:1; zstd can, on bytes that are all alike, which no section is.
#define RATIO_MAX       1100
#define RATIO_SLACK     ((uint64_t)1 << 20)
#define LARGE_BYTES     ((size_t)256 << 10) // worth a library's loading
#define XZ_MEMORY_BYTES ((uint64_t)256 << 20)

static bool inflate_by_zlib(struct bytes in, uint8_t *out, size_t size)
{
	uLongf written = size;

	return uncompress(out, &written, in.data, in.size) == Z_OK && written == size;
}

// libdeflate takes less than half of zlib's time, which libc's debug information alone takes 25 ms
// of; it is used where it happens to be. Of a SIZE that is given it writes all, or fails.
static bool inflate_by_libdeflate(struct bytes in, uint8_t *out, size_t size)
{
	void *library = dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL);
	void *(*make)(void) = NULL;
	int (*inflate)(void *, const void *, size_t, void *, size_t, size_t *) = NULL;
	void (*destroy)(void *) = NULL;

	if (library) {
		*(void **)&make = dlsym(library, "libdeflate_alloc_decompressor");
		*(void **)&inflate = dlsym(library, "libdeflate_zlib_decompress");
		*(void **)&destroy = dlsym(library, "libdeflate_free_decompressor");
	}
	void *state = make && inflate && destroy ? make() : NULL;
	bool good = state && inflate(state, in.data, in.size, out, size, NULL) == 0;
	if (state)
		destroy(state);
	if (library)
		dlclose(library);
	return good;
}

static bool inflate_all(struct bytes in, uint8_t *out, size_t size)
{
	return (size >= LARGE_BYTES && inflate_by_libdeflate(in, out, size)) ||
	       inflate_by_zlib(in, out, size);
}

// zstd is rare in debug sections, and so is not worth a library that must be there.
static bool unzstd_all(struct bytes in, uint8_t *out, size_t size, struct error *err)
{
	void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t (*zstd)(void *, size_t, const void *, size_t) = NULL;

	if (library)
		*(void **)&zstd = dlsym(library, "ZSTD_decompress");
	bool good = zstd && zstd(out, size, in.data, in.size) == size;
	if (!zstd) {
		error_set(err, 0, "a section is compressed with zstd, and libzstd.so.1 is missing");
		error_hint(err, "Install libzstd1.");
	}
	if (library)
		dlclose(library);
	return good;
}

uint8_t *decompress(enum compression how, struct bytes in, uint64_t size, struct error *err)
{
	if (!size || size / RATIO_MAX > in.size + RATIO_SLACK / RATIO_MAX) {
		error_set(err, 0, "a compressed section claims a size of %llu bytes",
		          (unsigned long long)size);
		return NULL;
	}
	cleanup_free uint8_t *out = malloc(size);
	if (!out) {
		error_set(err, ENOMEM, "could not decompress a section of %llu bytes",
		          (unsigned long long)size);
		return NULL;
	}
	error_set(err, 0, "a compressed section is damaged");
	if (how == COMPRESSION_ZLIB ? !inflate_all(in, out, size) : !unzstd_all(in, out, size, err))
		return NULL;
	return steal(out);
}

// Decodes until the input ends, doubling the room for the output, up to MOST.
static lzma_ret unxz_all(lzma_stream *stream, uint8_t **out, size_t *room, size_t most)
{
	lzma_ret code;

	while ((code = lzma_code(stream, LZMA_FINISH)) == LZMA_OK) {
		if (stream->avail_out)
			continue;
		size_t more = *room < most - *room ? *room : most - *room;
		uint8_t *grown = more ? realloc(*out, *room + more) : NULL;
		if (!grown)
			return LZMA_MEM_ERROR;
		stream->next_out = grown + *room;
		stream->avail_out = more;
		*out = grown;
		*room += more;
	}
	return code;
}

uint8_t *decompress_xz(struct bytes in, size_t *size, struct error *err)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t most = inflated_max(in.size), room = in.size < most / 4 ? in.size * 4 + 4096 : most;
	cleanup_free uint8_t *out = malloc(room);

	if (!out || lzma_stream_decoder(&stream, XZ_MEMORY_BYTES, 0) != LZMA_OK) {
		error_set(err, ENOMEM, "could not start to decompress the small symbol table");
		return NULL;
	}
	stream.next_in = in.data;
	stream.avail_in = in.size;
	stream.next_out = out;
	stream.avail_out = room;
	lzma_ret code = unxz_all(&stream, &out, &room, most);
	*size = stream.total_out;
	lzma_end(&stream);
	if (code != LZMA_STREAM_END) {
		error_set(err, 0, "the compressed small symbol table is damaged or too large");
		return NULL;
	}
	return steal(out);
}
