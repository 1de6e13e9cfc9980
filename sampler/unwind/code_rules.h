/* SPDX-License-Identifier: MIT */
/*
 * Rules for code that nothing describes, as just-in-time compilers make it: read out of its own
 * instructions. What a function has put on the stack it takes away before it returns, so its rest,
 * from where it was interrupted to a return instruction, says where the return address lies.
 *
 * The code is read from the process, which must live. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/remote_memory.h"

#include <stdint.h>
#include <sys/types.h>

struct code_rules;

/* NULL if there is no memory. */
struct code_rules *code_rules_new(void);
void code_rules_free(struct code_rules *rules);

CLEANUP(code_rules, struct code_rules *, code_rules_free)

/* Another stack begins: what one asks for is bounded. */
void code_rules_begin_stack(struct code_rules *rules);

/* The rule at PC, an address in PID, which MODULE stands for; CFI_NO_RULE where the code does not
   say, or cannot be read (PID 0). */
struct cfi_rule code_rules_find(struct code_rules *rules, uint32_t module, uint64_t pc, pid_t pid);

/* The same of code that READ finds: nothing is kept. */
struct cfi_rule code_rules_read(struct code_rules *rules, uint64_t pc, remote_read_function *read,
                                void *context);

/* A rule that was found leads nowhere: other code may stand there by now. */
void code_rules_doubt(struct code_rules *rules);
