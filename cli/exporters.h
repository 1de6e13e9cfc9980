/* SPDX-License-Identifier: MIT */
/*
 * The formats of other programs that a profile can be written in, as --help lists them: the options
 * name them, and cli/export/exporter.h has their exporters. There is no other list: the completions
 * of shells take the names from --help.
 */
#pragma once

#define EXPORTERS(X)                                                                               \
	X(chrome)                                                                                  \
	X(json)                                                                                    \
	X(csv)                                                                                     \
	X(html)                                                                                    \
	X(speedscope)                                                                              \
	X(firefox)                                                                                 \
	X(collapsed)                                                                               \
	X(pprof)                                                                                   \
	X(callgrind)                                                                               \
	X(pstats)                                                                                  \
	X(sarif)                                                                                   \
	X(markdown)                                                                                \
	X(digest)

/* "chrome json … " */
#define EXPORTER_NAME(name) #name " "
#define EXPORTER_NAMES      EXPORTERS(EXPORTER_NAME)
