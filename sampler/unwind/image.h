/* SPDX-License-Identifier: MIT */
/*
 * The ELF file that a module's code was mapped from, opened for unwinding.
 *
 * Headers and code are read, sections mapped: what a file does not hold any more,
 * because it is cut while we look at it, reads as zeros there. Foreign bytes:
 * every offset and size is checked. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "sampler/unwind/address_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct image;

/* Bytes of a section, if need be decompressed. They are the image's. */
struct image_section {
	const uint8_t *bytes; /* NULL if there is no such section */
	size_t size;
	uint64_t address; /* of the first byte, in the module; 0 if it is not loaded */
};

/*
 * Opens MODULE (ELF or vDSO), whose code PID has mapped at WHERE: as its process sees
 * the path, as we see it, or through what the process still holds open; and
 * only if it is the file that was mapped, by inode and build-id. Fills
 * module->build_id, and module->fd if there are descriptors to spare, or where PATH
 * leads us elsewhere. NULL if the
 * file cannot be had or is no x86-64 ELF file. PID may be dead, or 0: unknown.
 */
struct image *image_open(struct module *module, const struct mapping *where, pid_t pid,
                         struct error *err);

/* The image in a regular file. FD becomes the image's own, also on error. */
struct image *image_of_file(int fd, struct error *err);

/* An image of SIZE bytes laid out like the file; BYTES become the image's own, also on error. */
struct image *image_of_bytes(uint8_t *bytes, size_t size, struct error *err);
void image_free(struct image *image);

CLEANUP(image, struct image *, image_free)

/* Open on the file; -1 if the image is in memory. */
int image_descriptor(const struct image *image);

/* Sets mapping->bias. False if the file has no segment that would be mapped like that. */
bool image_locate(const struct image *image, struct mapping *mapping);

/* Whether ADDRESS (in the module) is in memory that its segments take. */
bool image_holds(const struct image *image, uint64_t address);

/* Copies at most SIZE bytes of the file's contents at ADDRESS (in the module). Returns how many. */
size_t image_read(const struct image *image, uint64_t address, void *buffer, size_t size);

/* Copies exactly SIZE bytes, through a small cache of pages. */
bool image_read_code(struct image *image, uint64_t address, void *buffer, size_t size);

/* The lowest address, and the range that holds all code. */
uint64_t image_base(const struct image *image);
void image_text(const struct image *image, uint64_t *start, uint64_t *end);

/* Its size in bytes; 0 if the file has none. */
size_t image_build_id(const struct image *image, const uint8_t **id);

/* Without the section the answer is empty, and that is no error. */
struct image_section image_eh_frame(struct image *image);
struct image_section image_eh_frame_hdr(struct image *image);
struct image_section image_debug_frame(struct image *image);

/* The code of a Go program; empty if the file is none. */
struct image_section image_go_code(struct image *image);
