// SPDX-License-Identifier: MIT
#include "base/library_work.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct kind {
	const char *libraries; // between "lib" and its version, separated by |
	struct library_work work;
} kinds[] = {
	{ "z|lzma|bz2|zstd|lz4|brotlienc|brotlidec|brotlicommon|snappy|deflate|lzo2|z-ng",
	  { "compression",
	    "Work on less data, use a faster format or more threads, or, to compress, "
	    "a lower level." } },
	{ "crypto|ssl|gcrypt|gnutls|nettle|hogweed|mbedcrypto|sodium|b2",
	  { "cryptography", "Work on fewer bytes, or use a cipher or hash that the CPU has "
	                    "instructions for." } },
	{ "pcre2-8|pcre2-16|pcre2-32|pcre|onig|re2|hs",
	  { "regular expressions",
	    "Compile each pattern once, anchor it, and avoid repetitions within repetitions." } },
	{ "sqlite3",
	  { "SQL",
	    "Look at the statements: EXPLAIN QUERY PLAN says which of them use no index." } },
	{ "xml2|expat|xerces-c|yaml-0",
	  { "parsing", "Parse each document once, or in a simpler format." } },
	{ "jpeg|turbojpeg|png16|webp|tiff|jxl|heif|openjp2",
	  { "coding of images", "Use fewer or smaller images, or more threads." } },
	{ "avcodec|swscale|x264|x265|vpx|aom|SvtAv1Enc|dav1d|rav1e|mp3lame|opus|vorbisenc",
	  { "coding of video or audio",
	    "Use a faster preset, a smaller picture, or more threads." } },
};

static bool is_one(const char *names, const char *name, size_t length)
{
	for (const char *end; *names; names = end + (*end == '|')) {
		end = names + strcspn(names, "|");
		if ((size_t)(end - names) == length && strncmp(names, name, length) == 0)
			return true;
	}
	return false;
}

const struct library_work *library_work_of(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;
	const char *name = slash ? slash + 1 : module;
	const char *end = name ? strstr(name, ".so") : NULL;

	if (!end || strncmp(name, "lib", 3) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (is_one(kinds[i].libraries, name + 3, (size_t)(end - name) - 3))
			return &kinds[i].work;
	return NULL;
}
