/* SPDX-License-Identifier: MIT */
/* Graphs: lists of work, run one after the other. One thread at a time for each. */
#pragma once

#include "tests/gpu/fake_work.h"

struct cuda_graph *fake_graph_new(void);

/* A node's handle; NULL without memory. */
struct cuda_graph_node *fake_graph_add(struct cuda_graph *g, const struct fake_work *work);
