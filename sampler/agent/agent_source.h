/* SPDX-License-Identifier: MIT */
/*
 * What rungs 3 and 4 share: a source that follows the target through /proc and,
 * with a directory, reads the agents' rings.
 *
 * Whoever opens a source closes it; DIRECTORY is read when it is opened. One thread at a time.
 */
#pragma once

#include "sampler/event/source.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

/* DIRECTORY: of the agents' files; NULL: there are none. NULL on error. */
struct source *agent_source_open(const struct source_ops *ops, const struct source_request *request,
                                 const char *directory, struct error *err);

/* For struct source_ops. */
void agent_source_close(struct source *source);
int agent_source_fd(const struct source *source);
int agent_source_timeout_ms(const struct source *source, uint64_t now_ns, int limit_ms);
const struct event *agent_source_next(struct source *source, uint64_t until_ns, struct error *err);
uint64_t agent_source_lost(struct source *source, bool exact);
