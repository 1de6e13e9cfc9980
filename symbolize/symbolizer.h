/* SPDX-License-Identifier: MIT */
/*
 * Names, inline chains and lines for the addresses of a module.
 *
 * Addresses come in batches, one module at a time, because that is what makes
 * it fast: the debug information of each compilation unit that is hit is read
 * once. The symbolizer opens the debug files and owns every string that it
 * returns; they live until symbolizer_free(). One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/debug_status.h"
#include "base/module.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct kallsyms;
struct symbolizer;

/* One function at one address. */
struct symbol {
	const char *function; /* demangled; NULL if unknown */
	const char *file;     /* full path as the compiler was told; NULL if unknown */
	int line;             /* 0 if unknown */
	bool inlined;         /* its code stands inside the next symbol of the chain */
	const char *declared; /* the file where FUNCTION is declared; NULL if unknown */
	bool unoptimized;     /* compiled with -O0, as far as the compiler tells */
};

/* What is known of one address. */
struct symbol_chain {
	uint32_t count;               /* 0 if nothing is known */
	const struct symbol *symbols; /* innermost (most deeply inlined) first; an outer symbol's
	                                 line is the line of the inlined call */
};

/* The variable that holds an address. */
struct variable {
	const char *name; /* demangled; NULL if unknown */
	const char *file; /* of the source that defines it for itself; NULL if unknown */
	uint64_t offset;  /* of the address in it */
};

struct symbolizer_options {
	const char *debug_directories; /* colon-separated; NULL: /usr/lib/debug */
	bool debuginfod;               /* ask the servers of DEBUGINFOD_URLS; default no */
	const char *kallsyms;          /* NULL: /proc/kallsyms (tests give a file) */
	struct kallsyms *kernel_names; /* borrowed: read already, or soon; NULL: reads KALLSYMS */
	const char *jit_directory;     /* NULL: /tmp, for perf-PID.map and jit-PID.dump */
	const char *kept_maps; /* a directory of ours with perf-PID.map of some processes, which
	                          come first; NULL: there is none */
	const char *names_directory; /* what was found is kept there, from run to run; NULL: it is
	                                not (symbolize/names_cache.h) */
	uint64_t names_worth_ns;     /* of CPU time: what took less to find is not kept; 0: 2 ms */
	/* Called now and then with what is being read; may be NULL. */
	void (*progress)(void *context, const char *what);
	void *progress_context;
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *options, struct error *err);
void symbolizer_free(struct symbolizer *s);

CLEANUP(symbolizer, struct symbolizer *, symbolizer_free)

/*
 * Looks up ADDRESSES (ascending, distinct, already stepped back into the call
 * by frame_lookup_address()) in MODULE and fills one chain for each. What is not known is an
 * empty chain, not an error; -1 only if there is no memory, or if the end of the process is wanted
 * (base/stop.h, ECANCELED). What was found in a file is remembered: to ask for it again costs next
 * to nothing; where it is to be kept, symbolizer_free() writes what took time to find.
 */
int symbolizer_resolve(struct symbolizer *s, const struct module *module, const uint64_t *addresses,
                       size_t count, struct symbol_chain *chains, struct error *err);

/* The same for the addresses of variables, by MODULE's symbol tables: fills one of VARIABLES for
   each. */
int symbolizer_variables(struct symbolizer *s, const struct module *module,
                         const uint64_t *addresses, size_t count, struct variable *variables,
                         struct error *err);

/* Who learns from now on what is being read, in place of the one in the options. May be NULL. */
void symbolizer_set_progress(struct symbolizer *s,
                             void (*progress)(void *context, const char *what), void *context);

/*
 * Tells where the jitdump of PID is, a path that we can open, or FD, borrowed, if that is not -1;
 * the sampler sees it as the mapping of a file called jit-PID.dump. Without this, or if it is not
 * there, it is looked for in the process's maps, if that still runs, and in the JIT directory. To
 * be reported again is no news. -1 if there is no memory.
 */
int symbolizer_set_jitdump(struct symbolizer *s, pid_t pid, const char *path, int fd);

/* Whether --names was given: there is a directory of maps that are kept. */
bool symbolizer_keeps_maps(const struct symbolizer *s);

/* The directory of what is derived from files, S's (symbolize/elf/section_cache.h); NULL: none. */
const char *symbolizer_sections(const struct symbolizer *s);

/* What MODULE could tell. Only after symbolizer_resolve() for it; else level NONE. */
const struct debug_status *symbolizer_debug_status(struct symbolizer *s,
                                                   const struct module *module);
