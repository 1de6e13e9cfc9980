// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "symbolize/loop/loop_body.h"

#include <stdlib.h>

#define BIT(reg)     (UINT64_C(1) << (reg))
#define STACK        (BIT(INSN_RSP) | BIT(INSN_RBP))
#define VECTORS      (((UINT64_C(1) << INSN_VECTORS) - 1) << INSN_VECTOR)
#define GENERAL      UINT64_C(0xffff)
#define STALL_SHARE  0.4 // of a loop's samples, at what waits for something
#define STALL_EXCESS 1.5 // times what would be there by chance
#define SMALL_LOOP   8   // instructions: samples in it are where it waits, or next to it
#define FAR_BYTES    256 // four lines of cache: one access leaves three unused
#define FAR_TIMES    8   // as far as it reads of each
#define NEAR_BYTES   65  // one access leaves most of a line unused; the next one is in another
#define SEARCH_BYTES 256
#define FAR_SHARE    0.75 // of the samples that know a register's step: mostly it is wide
#define LINE_BYTES   64
#define FIXED_MAX    24 // accesses of a loop to fixed addresses that are looked at
#define STEP_BYTES   32 // that an iteration may use where its step is in a register
#define SUM_INSNS    12 // instructions that fit beside one addition's latency

enum access {
	ACCESS_NONE,
	ACCESS_FIXED,   // the same address each time
	ACCESS_STEPS,   // moves by a constant
	ACCESS_FOLLOWS, // moves by what a register holds
	ACCESS_OTHER
};

struct asking {
	const struct loop_body *body;
	const uint64_t *ns;
	uint64_t all_ns;
	struct values *values;
	uint8_t *access; // [position]: enum access
	struct value *address;
	int64_t *step; // [position]: bytes
	struct step *steps;
	bool *waiting;    // [position]
	uint64_t moving;  // registers that advance by a constant, or by another register
	uint64_t carried; // registers that the next iteration uses, and that do not
	uint32_t branches, calls, loads, stores, atomics, scalars, packed, divisions;
	uint32_t vector_bytes;
	bool unclear, spills, other_memory;
};

static void asking_at_scope_end(struct asking *a)
{
	values_free(a->values);
	free(a->access);
	free(a->address);
	free(a->step);
	free(a->steps);
	free(a->waiting);
}

static const struct insn *insn_at(const struct asking *a, uint32_t position)
{
	return &a->body->insns[a->body->members[position]];
}

static void look_at_address(struct asking *a, uint32_t position)
{
	struct value address = values_address(a->values, position);
	struct step step = values_step(a->values, &address);

	a->address[position] = address;
	a->step[position] = step.bytes;
	a->steps[position] = step;
	if (step.kind == STEP_NONE)
		a->access[position] = ACCESS_OTHER;
	else if (step.kind == STEP_REGISTER)
		a->access[position] = ACCESS_FOLLOWS;
	else
		a->access[position] = step.bytes ? ACCESS_STEPS : ACCESS_FIXED;
}

static void count_insn(struct asking *a, uint32_t position)
{
	const struct insn *insn = insn_at(a, position);

	a->branches += insn->flow == INSN_BRANCH && !a->body->exits[position];
	a->calls += insn->flow == INSN_CALL;
	a->unclear |= insn->flow == INSN_AWAY ||
	              (insn->flow != INSN_CALL && (insn->reads | insn->writes) & BIT(INSN_X87));
	a->loads += insn->loads;
	a->stores += insn->stores;
	a->atomics += insn->atomic;
	a->scalars += insn->scalar;
	a->packed += insn->packed;
	a->divisions += insn->divides;
	a->other_memory |= insn->more_memory && insn->flow != INSN_CALL;
	if (insn->vector_bytes > a->vector_bytes && insn->packed)
		a->vector_bytes = insn->vector_bytes;
	if (insn->loads || insn->stores)
		look_at_address(a, position);
	a->all_ns += a->ns[position];
}

// A value that the next iteration uses.
static bool is_used_again(struct asking *a, uint8_t reg)
{
	for (uint32_t i = 0; i < a->body->count; i++) {
		bool carried;
		if (!(insn_at(a, i)->reads & BIT(reg)))
			continue;
		values_definition(a->values, i, reg, &carried);
		if (carried)
			return true;
	}
	return false;
}

static void find_carried(struct asking *a)
{
	for (uint8_t reg = 0; reg < INSN_REGS; reg++) {
		if (!(a->body->writes & BIT(reg)) || reg == INSN_FLAGS || reg == INSN_RSP)
			continue;
		const struct value held = {
			.known = true, .linear = true, .term_count = 1, .terms = { { reg, 1 } }
		};
		struct step step = values_step(a->values, &held);
		if (step.kind == STEP_REGISTER || step.bytes)
			a->moving |= BIT(reg);
		else if (step.kind == STEP_NONE && is_used_again(a, reg))
			a->carried |= BIT(reg);
	}
}

// Variables in memory, as unoptimized code and code that is short of registers has them: what is
// stored there is read again.
static void find_spills(struct asking *a)
{
	for (uint32_t i = 0; i < a->body->count; i++)
		for (uint32_t k = 0; insn_at(a, i)->stores && k < a->body->count; k++)
			a->spills |= insn_at(a, k)->loads && k != i &&
			             a->access[i] == ACCESS_FIXED && a->access[k] == ACCESS_FIXED &&
			             a->address[i].depends == a->address[k].depends &&
			             a->address[i].constant == a->address[k].constant;
}

// Where an interrupt of the clock comes in that finds the instruction at POSITION waiting: there,
// or at the next one.
static void mark(struct asking *a, uint32_t position)
{
	a->waiting[position] = true;
	a->waiting[position + 1 < a->body->count ? position + 1 : a->body->header] = true;
}

// Marks the instruction at POSITION, and those that use its result first.
static void mark_waiting(struct asking *a, uint32_t position)
{
	const struct insn *insn = insn_at(a, position);
	uint64_t results = insn->writes & (GENERAL | VECTORS | BIT(INSN_FLAGS));

	mark(a, position);
	for (uint32_t i = 0; i < a->body->count; i++) {
		uint64_t used = insn_at(a, i)->reads & results;
		for (uint8_t reg = 0; used && reg < INSN_OTHER; reg++) {
			bool carried;
			if (used & BIT(reg) &&
			    values_definition(a->values, i, reg, &carried) == (int64_t)position)
				mark(a, i);
		}
	}
}

// Whether samples are where the loop waits for what is marked, more than chance would have it.
static bool waits_there(const struct asking *a, bool needed)
{
	uint64_t there = 0;
	uint32_t marked = 0;

	for (uint32_t i = 0; i < a->body->count; i++) {
		there += a->waiting[i] ? a->ns[i] : 0;
		marked += a->waiting[i];
	}
	if (!needed && a->body->count <= SMALL_LOOP)
		return true;
	double share = a->all_ns ? (double)there / (double)a->all_ns : 0;
	double chance = (double)marked / (double)a->body->count;
	return share >= STALL_SHARE && (share >= STALL_EXCESS * chance || share > 0.9);
}

static void clear_waiting(struct asking *a)
{
	for (uint32_t i = 0; i < a->body->count; i++)
		a->waiting[i] = false;
}

// What decides a way out at POSITION.
static bool find_condition(struct asking *a, uint32_t position, struct value *condition)
{
	bool carried;
	int64_t from = values_definition(a->values, position, INSN_FLAGS, &carried);

	if (insn_at(a, position)->flow != INSN_BRANCH || from < 0 || carried)
		return false;
	*condition = values_sources(a->values, (uint32_t)from);
	return true;
}

// Some way out depends on what was read, from what moves (MOVES) or from what does not.
static bool ends_by_reading(struct asking *a, bool moves)
{
	struct value condition;

	for (uint32_t i = 0; i < a->body->count; i++) {
		if (!a->body->exits[i] || !find_condition(a, i, &condition) || !condition.loaded)
			continue;
		if (moves ? (condition.through & a->moving) != 0
		          : !(condition.depends & a->body->writes))
			return true;
	}
	return false;
}

static bool all_access(const struct asking *a, unsigned kinds)
{
	for (uint32_t i = 0; i < a->body->count; i++)
		if (a->access[i] != ACCESS_NONE && !(kinds & 1u << a->access[i]))
			return false;
	return true;
}

// What an atomic instruction stores does not come from what was read before, as that of a counter
// does which tries again when another thread was faster.
static bool stores_the_same(struct asking *a, uint32_t position)
{
	const struct insn *insn = insn_at(a, position);

	for (uint8_t reg = 0; reg < INSN_VECTOR; reg++) {
		if (!(insn->reads & BIT(reg)) || reg == insn->memory.base ||
		    reg == insn->memory.index || reg == INSN_RAX)
			continue;
		struct value value = values_before(a->values, position, reg);
		if (!value.known || value.loaded)
			return false;
	}
	return true;
}

static bool is_wait(struct asking *a)
{
	uint32_t plain_stores = 0;

	for (uint32_t i = 0; i < a->body->count; i++)
		plain_stores +=
			insn_at(a, i)->stores && (!insn_at(a, i)->atomic || !stores_the_same(a, i));
	return a->loads && !plain_stores && !a->calls && !a->carried && !a->packed && !a->scalars &&
	       !a->divisions && all_access(a, 1u << ACCESS_FIXED) && ends_by_reading(a, false);
}

static void mark_divisions(struct asking *a)
{
	for (uint32_t i = 0; i < a->body->count; i++)
		if (insn_at(a, i)->divides)
			mark_waiting(a, i);
}

// So many loads of a chain are marked: each is sought in the whole loop.
#define CHASES_MAX 64

// A hash chain also takes a remainder of each element, as std::unordered_map does.
static bool is_chase(struct asking *a)
{
	uint32_t found = 0;

	clear_waiting(a);
	for (uint8_t reg = 0; reg < INSN_VECTOR; reg++) {
		if (!(a->carried & BIT(reg)))
			continue;
		struct value next = values_next(a->values, reg);
		if (!next.known || !(next.through & BIT(reg)))
			continue;
		for (uint32_t i = 0; i < a->body->count && found < CHASES_MAX; i++) {
			if (!insn_at(a, i)->loads || !(a->address[i].depends & BIT(reg)))
				continue;
			mark_waiting(a, i);
			found++;
		}
	}
	if (found)
		mark_divisions(a);
	return found && waits_there(a, false);
}

// What a division waits for may be a call before it: then samples there say nothing of either.
static bool is_of_call(struct asking *a, uint32_t position)
{
	return a->calls && !values_sources(a->values, position).known;
}

static bool is_division(struct asking *a, struct loop_fact *fact)
{
	bool found = false;

	clear_waiting(a);
	for (uint32_t i = 0; i < a->body->count; i++) {
		const struct insn *insn = insn_at(a, i);
		if (!insn->divides || is_of_call(a, i))
			continue;
		found = true;
		mark_waiting(a, i);
		if (insn->vector_bytes || insn->divisor == INSN_NO_REG)
			continue;
		struct value divisor = values_before(a->values, i, insn->divisor);
		bool fixed =
			divisor.known && !(divisor.depends & a->body->writes) && !divisor.loaded;
		fact->detail = fixed ? DIVISOR_CONSTANT : DIVISOR_VARIES;
	}
	return found && waits_there(a, true);
}

static bool same_terms(const struct value *a, const struct value *b)
{
	if (a->term_count != b->term_count)
		return false;
	for (uint8_t i = 0; i < a->term_count; i++)
		if (a->terms[i].reg != b->terms[i].reg || a->terms[i].times != b->terms[i].times)
			return false;
	return true;
}

// Bytes that an iteration uses of what the access at POSITION walks through.
static uint64_t used_bytes(const struct asking *a, uint32_t position)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < a->body->count; i++) {
		bool again = false;
		if (a->access[i] != a->access[position] ||
		    !same_terms(&a->address[i], &a->address[position]))
			continue;
		for (uint32_t k = 0; k < i; k++)
			again |= a->access[k] == a->access[i] &&
			         same_terms(&a->address[k], &a->address[i]) &&
			         a->address[k].constant == a->address[i].constant;
		bytes += again ? 0 : insn_at(a, i)->memory.bytes;
	}
	return bytes;
}

static uint64_t distance(int64_t step)
{
	return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

static bool same_step(const struct step *a, const struct step *b)
{
	if (a->term_count != b->term_count || a->bytes != b->bytes || !a->whole || !b->whole)
		return false;
	for (uint8_t i = 0; i < a->term_count; i++)
		if (a->terms[i].reg != b->terms[i].reg || a->terms[i].times != b->terms[i].times)
			return false;
	return true;
}

// The register that an address moves by.
static uint16_t mover_of(const struct asking *a, uint32_t position)
{
	const struct value *address = &a->address[position];

	for (uint8_t i = 0; i < address->term_count; i++)
		if (address->terms[i].reg < INSN_REGS &&
		    a->body->writes & BIT(address->terms[i].reg))
			return address->terms[i].reg;
	return INSN_REGS;
}

// What moves on by the same register as the access at POSITION, by as much: an unrolled loop walks
// one array with several. Their bytes; COUNT is how many they are.
static uint64_t walk_bytes(const struct asking *a, uint32_t position, uint32_t *count)
{
	uint64_t bytes = 0;

	*count = 0;
	for (uint32_t i = 0; i < a->body->count; i++) {
		bool again = false;
		const struct insn *insn = insn_at(a, i);
		if (insn->loads && !insn->stores && !insn->writes) // a prefetch
			continue;
		if (a->access[i] != ACCESS_FOLLOWS || mover_of(a, i) != mover_of(a, position) ||
		    !same_step(&a->steps[i], &a->steps[position]))
			continue;
		for (uint32_t k = 0; k < i; k++)
			again |= a->access[k] == ACCESS_FOLLOWS &&
			         same_terms(&a->address[k], &a->address[i]) &&
			         a->address[k].constant == a->address[i].constant;
		bytes += again ? 0 : insn->memory.bytes;
		*count += !again;
	}
	return bytes;
}

static uint64_t step_by(const struct step *step, const uint64_t *regs)
{
	uint64_t bytes = (uint64_t)step->bytes; // modulo 2^64

	for (uint8_t i = 0; i < step->term_count; i++)
		bytes += regs[step->terms[i].reg] * (uint64_t)step->terms[i].times;
	return distance((int64_t)bytes);
}

// What is known of how far an access moves that follows a register: FAR_NS of the loop's samples
// found a wide step in it, BYTES from element to element at most of these, of KNOWN_NS that knew.
struct walk {
	uint64_t known_ns, far_ns, most_ns, bytes;
};

static struct walk look_at_walk(const struct asking *a, uint32_t position)
{
	const struct step *step = &a->steps[position];
	struct walk walk = { 0 };
	uint32_t count;
	uint64_t used = walk_bytes(a, position, &count);

	for (uint32_t i = 0; step->whole && count && i < a->body->count; i++) {
		if (!a->body->regs || !a->body->regs[i])
			continue;
		uint64_t whole = step_by(step, a->body->regs[i]), each = whole / count;
		walk.known_ns += a->ns[i];
		if (each < FAR_BYTES || whole / FAR_TIMES < used || whole > INT64_MAX)
			continue;
		walk.far_ns += a->ns[i];
		if (a->ns[i] <= walk.most_ns)
			continue;
		walk.most_ns = a->ns[i];
		walk.bytes = each;
	}
	return walk;
}

// How far it is from the bytes that the access at POSITION uses to the next ones that the loop uses
// of the same memory, in this iteration or the next; COUNT is how many accesses those are.
static uint64_t next_bytes(const struct asking *a, uint32_t position, uint64_t step,
                           uint32_t *count)
{
	const struct value *own = &a->address[position];
	uint64_t next = step;

	*count = 1;
	for (uint32_t i = 0; i < a->body->count; i++) {
		if (a->access[i] != ACCESS_STEPS || !same_terms(&a->address[i], own))
			continue;
		uint64_t apart = (uint64_t)a->address[i].constant - (uint64_t)own->constant;
		int64_t ahead = (int64_t)apart % (int64_t)step;
		ahead += ahead < 0 ? (int64_t)step : 0;
		next = ahead && (uint64_t)ahead < next ? (uint64_t)ahead : next;
		bool again = !ahead;
		for (uint32_t k = 0; k < i && !again; k++)
			again = a->access[k] == ACCESS_STEPS && same_terms(&a->address[k], own) &&
			        a->address[k].constant == a->address[i].constant;
		*count += !again;
	}
	return next;
}

// By how many bytes, LEAST and more where that is a constant; 0: unknown.
static bool is_far(const struct asking *a, uint32_t position, uint64_t least, uint64_t *bytes)
{
	uint64_t used = used_bytes(a, position), step = distance(a->step[position]);

	*bytes = step;
	if (a->access[position] == ACCESS_FOLLOWS) {
		struct walk walk = look_at_walk(a, position);
		*bytes = walk.bytes;
		return walk.known_ns ? (double)walk.far_ns >= FAR_SHARE * (double)walk.known_ns
		                     : used <= STEP_BYTES;
	}
	if (a->access[position] != ACCESS_STEPS || step < least || step > INT64_MAX ||
	    step < FAR_TIMES * used)
		return false;
	// An unrolled loop comes by several elements in one iteration.
	uint32_t count;
	uint64_t next = next_bytes(a, position, step, &count);
	*bytes = next * count == step ? next : step;
	return next >= least;
}

// Of near ones, caches and prefetchers hide much: only where samples show that the loop waits for
// them.
static bool is_stride(struct asking *a, uint64_t least, struct loop_fact *fact)
{
	bool found = false, loads = false;

	clear_waiting(a);
	for (uint32_t i = 0; i < a->body->count; i++) {
		uint64_t bytes;
		if (a->access[i] == ACCESS_NONE || !is_far(a, i, least, &bytes))
			continue;
		mark_waiting(a, i);
		// A load is waited for; of several the widest step tells most.
		if (found && loads && !insn_at(a, i)->loads)
			continue;
		fact->bytes = bytes;
		fact->measured = a->access[i] == ACCESS_FOLLOWS && bytes;
		loads |= insn_at(a, i)->loads;
		found = true;
	}
	fact->detail = loads ? ACCESS_LOAD : ACCESS_STORE;
	// The first of several fields that are used side by side is waited for.
	for (uint32_t i = 0; found && least < FAR_BYTES && i < a->body->count; i++)
		if (a->access[i] == ACCESS_STEPS && distance(a->step[i]) == fact->bytes)
			mark_waiting(a, i);
	return found && !a->spills && waits_there(a, a->divisions > 0 || least < FAR_BYTES);
}

// One way through it, and all memory in steps: what compilers could vectorize.
static bool is_plain(const struct asking *a)
{
	return !a->branches && !a->calls && !a->atomics && !a->spills && !a->other_memory &&
	       !a->divisions && all_access(a, 1u << ACCESS_FIXED | 1u << ACCESS_STEPS);
}

static bool is_search(struct asking *a, struct loop_fact *fact)
{
	if (a->stores || a->calls || a->atomics || a->carried || a->packed || a->spills ||
	    a->other_memory || !all_access(a, 1u << ACCESS_FIXED | 1u << ACCESS_STEPS) ||
	    !ends_by_reading(a, true))
		return false;
	for (uint32_t i = 0; i < a->body->count; i++) {
		uint64_t used = a->access[i] == ACCESS_STEPS ? used_bytes(a, i) : 0;
		if (!used || distance(a->step[i]) > SEARCH_BYTES)
			continue;
		// An iteration may look at several.
		uint64_t bytes = distance(a->step[i]) * insn_at(a, i)->memory.bytes / used;
		if (bytes > fact->bytes)
			fact->bytes = bytes;
	}
	return fact->bytes;
}

// All that moves is used in full: the next element is beside this one.
static bool is_dense(const struct asking *a)
{
	bool any = false;

	for (uint32_t i = 0; i < a->body->count; i++) {
		if (a->access[i] != ACCESS_STEPS)
			continue;
		if (distance(a->step[i]) > used_bytes(a, i))
			return false;
		any = true;
	}
	return any;
}

// What the store at POSITION stores: something loaded as it is, or what does not change.
static bool stores_as_is(struct asking *a, uint32_t position, bool *fills)
{
	const struct insn *insn = insn_at(a, position);
	uint64_t sources = insn->reads & ~BIT(INSN_FLAGS);
	uint32_t values = 0;

	if (insn->loads || insn->integer || insn->scalar || insn->packed || insn->memory.bytes > 8)
		return false;
	for (uint8_t reg = 0; reg < INSN_REGS; reg++) {
		bool carried;
		if (!(sources & BIT(reg)) || reg == insn->memory.base || reg == insn->memory.index)
			continue;
		values++;
		*fills = !(a->body->writes & BIT(reg));
		int64_t from = values_definition(a->values, position, reg, &carried);
		if (!*fills &&
		    (from < 0 || carried || !insn_at(a, (uint32_t)from)->loads ||
		     insn_at(a, (uint32_t)from)->integer || insn_at(a, (uint32_t)from)->scalar ||
		     a->access[from] != ACCESS_STEPS))
			return false;
	}
	*fills |= !values;
	return values <= 1;
}

static bool is_copy(struct asking *a, struct loop_fact *fact)
{
	bool fills = false;

	if (!is_plain(a) || !is_dense(a) || !a->stores || a->scalars || a->packed || a->carried ||
	    ends_by_reading(a, true))
		return false;
	for (uint32_t i = 0; i < a->body->count; i++) {
		const struct insn *insn = insn_at(a, i);
		// All that is computed is where to go on.
		if (insn->integer && insn->writes & GENERAL & ~a->moving)
			return false;
		if (!insn->stores)
			continue;
		if (a->access[i] != ACCESS_STEPS || !stores_as_is(a, i, &fills))
			return false;
		fact->bytes = insn->memory.bytes;
	}
	fact->detail = fills ? COPY_FILL : COPY_COPY;
	return true;
}

// How many additions stand between REG and what it is for the next iteration; 0: it is no sum.
static uint32_t additions(struct asking *a, uint8_t reg)
{
	uint32_t count = 0;
	uint8_t now = reg;
	bool carried;

	// From the last addition back to what the iteration began with: there is one way through.
	int64_t from = -1;
	for (uint32_t i = 0; i < a->body->count; i++)
		if (insn_at(a, i)->writes & BIT(reg))
			from = i;
	for (uint32_t steps = 0; from >= 0 && steps < a->body->count; steps++) {
		const uint32_t at = (uint32_t)from;
		const struct insn *insn = insn_at(a, at);
		uint64_t sources = insn->reads & VECTORS;
		uint8_t chained = INSN_NO_REG;
		if (insn->op == INSN_OP_MOVE && !insn->loads && insn->src != INSN_NO_REG) {
			chained = insn->src;
		} else {
			if (!insn->scalar ||
			    (insn->math != INSN_MATH_ADD && insn->math != INSN_MATH_FUSED))
				return 0;
			for (uint8_t r = INSN_VECTOR; r < INSN_VECTOR + INSN_VECTORS; r++) {
				if (!(sources & BIT(r)) ||
				    !(values_before(a->values, at, r).depends & BIT(reg)))
					continue;
				if (chained != INSN_NO_REG)
					return 0;
				chained = r;
			}
			if (insn->math == INSN_MATH_FUSED && chained != insn->addend)
				return 0;
			count++;
		}
		if (chained == INSN_NO_REG)
			return 0;
		now = chained;
		from = values_definition(a->values, at, now, &carried);
		if (carried)
			return from < 0 && now == reg ? count : 0;
	}
	return 0;
}

static bool is_sum(struct asking *a)
{
	uint32_t most = 0;

	if (!is_plain(a) || a->stores || !a->scalars || !(a->carried & VECTORS) ||
	    a->carried & ~VECTORS)
		return false;
	for (uint8_t reg = INSN_VECTOR; reg < INSN_VECTOR + INSN_VECTORS; reg++) {
		uint32_t count = a->carried & BIT(reg) ? additions(a, reg) : 0;
		if (a->carried & BIT(reg) && !count)
			return false;
		most = count > most ? count : most;
	}
	return most && a->loads && a->body->count <= SUM_INSNS * most;
}

// A sum of whole numbers, in any order.
static bool is_integer_sum(struct asking *a, uint8_t reg)
{
	uint32_t writers = 0, at = 0;
	bool carried;

	for (uint32_t i = 0; i < a->body->count; i++) {
		if (!(insn_at(a, i)->writes & BIT(reg)))
			continue;
		writers++;
		at = i;
	}
	const struct insn *insn = insn_at(a, at);
	return writers == 1 && insn->associates && insn->dst != INSN_NO_REG
	               ? values_definition(a->values, at, reg, &carried) < 0 && carried
	               : writers == 1 && insn->associates && insn->reads & BIT(reg) && insn->loads;
}

// One that an iteration stores, and a later one loads.
static bool comes_back(const struct asking *a)
{
	for (uint32_t i = 0; i < a->body->count; i++)
		for (uint32_t k = 0; insn_at(a, i)->stores && k < a->body->count; k++)
			if (insn_at(a, k)->loads && same_terms(&a->address[i], &a->address[k]) &&
			    a->address[i].constant != a->address[k].constant)
				return true;
	return false;
}

// A running total that is kept at each step: none of the next ones can be known before it.
static bool stores_total(struct asking *a)
{
	for (uint32_t i = 0; i < a->body->count; i++) {
		const struct insn *insn = insn_at(a, i);
		for (uint8_t reg = 0; insn->stores && reg < INSN_FLAGS; reg++)
			if (insn->reads & BIT(reg) && reg != insn->memory.base &&
			    reg != insn->memory.index &&
			    values_before(a->values, i, reg).depends & a->carried)
				return true;
	}
	return false;
}

static bool is_scalar(struct asking *a, struct loop_fact *fact)
{
	uint32_t work = 0;

	if (!is_plain(a) || !is_dense(a) || a->packed || comes_back(a) || stores_total(a) ||
	    a->carried & VECTORS || ends_by_reading(a, true))
		return false;
	for (uint8_t reg = 0; reg < INSN_VECTOR; reg++)
		if (a->carried & BIT(reg) && !is_integer_sum(a, reg))
			return false;
	for (uint32_t i = 0; i < a->body->count; i++) {
		const struct insn *insn = insn_at(a, i);
		work += insn->scalar ||
		        (insn->integer && (insn->writes & GENERAL & ~a->moving || insn->stores));
		// A call of nothing, a count of what is in memory: what is fixed is not stored to.
		if (insn->stores && a->access[i] != ACCESS_STEPS)
			return false;
	}
	fact->detail = a->scalars > 0;
	return work && a->loads;
}

static bool is_narrow(struct asking *a, uint32_t vector_bytes, struct loop_fact *fact)
{
	fact->bytes = a->vector_bytes;
	fact->detail = vector_bytes;
	return is_plain(a) && is_dense(a) && a->packed && !a->scalars && a->vector_bytes == 16 &&
	       vector_bytes >= 32 && a->loads;
}

// Of the same address all the time, as the registers of any sample in the loop have it.
static bool is_fixed(const struct asking *a, uint32_t position)
{
	const struct insn *insn = insn_at(a, position);
	const struct insn_memory *memory = &insn->memory;

	return (insn->stores || insn->loads) && !insn->more_memory && !memory->elsewhere &&
	       (memory->base == INSN_NO_REG || !(a->body->writes & BIT(memory->base))) &&
	       (memory->index == INSN_NO_REG || !(a->body->writes & BIT(memory->index)));
}

static uint64_t address_by(const struct insn_memory *memory, const uint64_t *regs)
{
	uint64_t address = (uint64_t)memory->displacement;

	address += memory->base == INSN_NO_REG ? 0 : regs[memory->base];
	return address + (memory->index == INSN_NO_REG ? 0 : regs[memory->index] * memory->scale);
}

// How far what a thread with the registers OTHER uses is from what one with REGS stores to, if that
// is in the same line; else LINE_BYTES.
static uint64_t beside(const struct asking *a, const uint32_t *fixed, uint32_t count,
                       const uint64_t *regs, const uint64_t *other)
{
	uint64_t nearest = LINE_BYTES;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; insn_at(a, fixed[i])->stores && k < count; k++) {
			uint64_t one = address_by(&insn_at(a, fixed[i])->memory, regs);
			uint64_t two = address_by(&insn_at(a, fixed[k])->memory, other);
			uint64_t bytes = one > two ? one - two : two - one;
			if (one / LINE_BYTES == two / LINE_BYTES && bytes < nearest)
				nearest = bytes;
		}
	return nearest;
}

// One thread writes, all the time, to a line of the cache that another one uses, as samples of both
// show.
static bool is_shared(const struct asking *a, struct loop_fact *fact)
{
	uint32_t fixed[FIXED_MAX], count = 0, shared = 0, apart = 0;
	uint64_t nearest = LINE_BYTES;
	bool atomic = false;

	for (uint32_t i = 0; i < a->body->count && count < FIXED_MAX; i++)
		if (is_fixed(a, i))
			fixed[count++] = i;
	for (uint32_t i = 0; i < count; i++)
		atomic |= insn_at(a, fixed[i])->atomic;
	for (uint32_t i = 0; count && i < a->body->count; i++) {
		const uint64_t *one = a->body->regs ? a->body->regs[i] : NULL;
		const uint64_t *two = a->body->others ? a->body->others[i] : NULL;
		if (!one || !two)
			continue;
		uint64_t bytes = beside(a, fixed, count, one, two);
		uint64_t back = beside(a, fixed, count, two, one);
		bytes = back < bytes ? back : bytes;
		*(bytes < LINE_BYTES ? &shared : &apart) += 1;
		nearest = bytes < nearest ? bytes : nearest;
	}
	*fact = (struct loop_fact){ .bytes = nearest,
		                    .detail = atomic ? SHARING_ATOMIC : SHARING_PLAIN };
	return shared > apart;
}

static enum loop_kind judge(struct asking *a, uint32_t vector_bytes, struct loop_fact *fact)
{
	if (is_shared(a, fact))
		return LOOP_SHARED;
	*fact = (struct loop_fact){ 0 };
	if (a->unclear)
		return LOOP_NONE;
	if (is_wait(a))
		return LOOP_WAIT;
	if (is_chase(a))
		return LOOP_CHASE;
	if (is_stride(a, FAR_BYTES, fact))
		return LOOP_STRIDE;
	*fact = (struct loop_fact){ 0 };
	if (is_division(a, fact))
		return LOOP_DIVIDE;
	*fact = (struct loop_fact){ 0 };
	if (is_search(a, fact))
		return LOOP_SEARCH;
	*fact = (struct loop_fact){ 0 };
	if (is_copy(a, fact))
		return LOOP_COPY;
	*fact = (struct loop_fact){ 0 };
	if (is_sum(a))
		return LOOP_SUM;
	if (is_scalar(a, fact))
		return LOOP_SCALAR;
	*fact = (struct loop_fact){ 0 };
	if (is_narrow(a, vector_bytes, fact))
		return LOOP_NARROW;
	*fact = (struct loop_fact){ 0 };
	return is_stride(a, NEAR_BYTES, fact) ? LOOP_STRIDE : LOOP_NONE;
}

bool loop_kind_find(const struct loop_body *body, const uint64_t *ns, uint32_t vector_bytes,
                    struct loop_fact *fact)
{
	size_t count = (size_t)body->count + 1;
	cleanup(asking) struct asking a = {
		.body = body,
		.ns = ns,
		.values = values_new(body),
		.access = calloc(count, sizeof(*a.access)),
		.address = calloc(count, sizeof(*a.address)),
		.step = calloc(count, sizeof(*a.step)),
		.steps = calloc(count, sizeof(*a.steps)),
		.waiting = calloc(count, sizeof(*a.waiting)),
	};
	struct loop_fact found = { 0 };

	if (!a.values || !a.access || !a.address || !a.step || !a.steps || !a.waiting)
		return false;
	for (uint32_t i = 0; i < body->count; i++)
		count_insn(&a, i);
	find_carried(&a);
	find_spills(&a);
	enum loop_kind kind = judge(&a, vector_bytes, &found);
	*fact = (struct loop_fact){ 0 };
	if (kind != LOOP_NONE)
		*fact = found;
	fact->kind = kind;
	return true;
}
