/* SPDX-License-Identifier: MIT */
/*
 * One loop, and what registers hold in it.
 *
 * Values are expressed by what registers held when the iteration began: "rax + 8 * rcx + 16", or
 * something that depends on these. So is what a register holds for the next iteration, which shows
 * what advances by how much.
 *
 * A struct values is its maker's, who frees it; the loop is borrowed and must outlive it. For the
 * files of this folder alone. One thread at a time.
 */
#pragma once

#include "symbolize/loop/insn.h"
#include "symbolize/loop/loop_fact.h"

#define VALUE_TERMS 3

struct loop_body {
	const struct insn *insns;           /* of the function */
	const uint32_t *members;            /* indexes of these, ascending */
	uint32_t count, header;             /* HEADER: a position among MEMBERS, as all below */
	const uint32_t *first_pred, *preds; /* [position], and one more: whence control comes */
	const bool *exits;                  /* [position]: may leave the loop */
	uint64_t writes;                    /* registers that some instruction of it writes */
	const uint64_t *const *regs;   /* [position]: what registers held at a sample there; NULL:
	                                  unknown */
	const uint64_t *const *others; /* [position]: the same of another thread */
};

struct value {
	bool known;  /* else nothing is known of it: a call, a limit */
	bool linear; /* CONSTANT + the sum of TERMS */
	bool loaded; /* some load of this iteration is in it */
	int64_t constant;
	uint8_t term_count;
	struct {
		uint16_t reg; /* from INSN_REGS on: what the instruction at that position reads from
		                 one address each time */
		int64_t times;
	} terms[VALUE_TERMS];
	uint64_t depends; /* registers, as the iteration began */
	uint64_t through; /* of these, those by way of the address of a load */
};

enum step_kind {
	STEP_NONE,     /* not known, or no constant one */
	STEP_CONSTANT, /* by so many bytes; 0: it does not move */
	STEP_REGISTER  /* by what does not change in the loop, but is no number in the code */
};

struct step {
	enum step_kind kind;
	int64_t bytes; /* of STEP_REGISTER: the constant part */
	bool whole;    /* of STEP_REGISTER: TERMS are all that comes to BYTES */
	uint8_t term_count;
	struct {
		uint8_t reg; /* does not change in the loop */
		int64_t times;
	} terms[VALUE_TERMS];
};

struct values;

struct values *values_new(const struct loop_body *body); /* NULL if there is no memory */
void values_free(struct values *v);

/* What REG holds before the instruction at POSITION. */
struct value values_before(struct values *v, uint32_t position, uint8_t reg);

/* What REG holds when the next iteration begins. */
struct value values_next(struct values *v, uint8_t reg);

/* The address that the instruction at POSITION reads or writes. */
struct value values_address(struct values *v, uint32_t position);

/* What the instruction at POSITION computes from, together. */
struct value values_sources(struct values *v, uint32_t position);

/* The one instruction that REG has its value from, before POSITION; -1: none, or several.
 *CARRIED: it may be the value that the iteration began with. */
int64_t values_definition(struct values *v, uint32_t position, uint8_t reg, bool *carried);

/* How far VALUE moves from one iteration to the next. */
struct step values_step(struct values *v, const struct value *value);

/*
 * The kind of the loop, by what its instructions do with memory and with each other's results:
 * LOOP_NONE if none is proved. NS are what samples weigh, by position; VECTOR_BYTES those of the
 * CPU, 0 if unknown. False if there is no memory.
 */
bool loop_kind_find(const struct loop_body *body, const uint64_t *ns, uint32_t vector_bytes,
                    struct loop_fact *fact);
