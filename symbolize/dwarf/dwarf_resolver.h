/* SPDX-License-Identifier: MIT */
/*
 * What the DWARF of one file says of a batch of addresses: functions, inlined
 * calls, files and lines.
 *
 * The texts of frames are in SOURCE's paths and names, and live as long as those. One thread at a
 * time.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/frame/frames.h"

struct dwarf_resolver;
struct demangler;
struct error;
struct strings;

struct dwarf_resolver_source {
	struct dwarf_file *dwarf;
	uint64_t lowest_code;
	const char *root;     /* for split DWARF, see split_dwarf_new() */
	const char *dwp_base; /* the same */
	struct strings *paths;
	struct demangler *names;
};

/* What SOURCE points to must outlive the resolver, but for the texts. NULL with ERR. */
struct dwarf_resolver *dwarf_resolver_new(const struct dwarf_resolver_source *source,
                                          struct error *err);
void dwarf_resolver_free(struct dwarf_resolver *r);

CLEANUP(dwarf_resolver, struct dwarf_resolver *, dwarf_resolver_free)

/* Adds what is known of ADDRESSES (ascending) to FRAMES. -1 only if there is no memory. */
int dwarf_resolver_run(struct dwarf_resolver *r, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct error *err);

/* What kept it from saying all; "" if nothing did. */
const char *dwarf_resolver_trouble(const struct dwarf_resolver *r);

/* Whether some address that was asked for is in split DWARF: another file has its functions. */
bool dwarf_resolver_is_split(const struct dwarf_resolver *r);
