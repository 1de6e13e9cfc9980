// SPDX-License-Identifier: MIT
/*
 * scene NAME [ARGUMENT]: builds a stack, writes down its own registers, its stack, its mappings
 * and every return address on the way, and stays there until its input ends:
 *
 *	map LINE         of /proc/self/maps, executable ones
 *	regs HEX...      17, in DWARF's order
 *	expect HEX KIND  innermost first; KIND as in enum frame_kind
 *	stack START HEXBYTES
 *	end
 *
 * It is built in several ways, and for musl.
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE   __attribute__((noinline, noclone))
#define STACK_MAX  (1u << 20)
#define EXACT      1
#define RETURN     2
#define EXPECT_MAX 20000

/* scene_asm.S */
void scene_capture(uint64_t regs[17]);
void scene_capture_leaf(uint64_t regs[17]);
void scene_capture_spin(uint64_t regs[17]);
void scene_capture_nops(uint64_t regs[17]);
void scene_capture_aligned(uint64_t regs[17]);
void scene_capture_pushed(uint64_t regs[17]);
void scene_capture_bare(uint64_t regs[17]);
uint64_t scene_capture_made(uint64_t regs[17], uint64_t rbp);
extern const uint8_t scene_capture_made_end[];
void scene_with_frame(void (*callback)(void));
extern uint64_t scene_asm_return;

static struct {
	uint64_t address;
	int kind;
} expected[EXPECT_MAX];
static int expected_count;
static uint64_t regs[17];
static uint8_t stack[STACK_MAX];
static uint64_t stack_top;

/* Keeps calls from becoming jumps. */
static volatile int sink;

static void expect(uint64_t address, int kind)
{
	expected[expected_count].address = address;
	expected[expected_count++].kind = kind;
}

#define ENTER() expect((uint64_t)__builtin_return_address(0), RETURN)
#define LEAVE() (sink++)

static void print_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t start, end;
		char protection[8];
		if (sscanf(line, "%lx-%lx %7s", &start, &end, protection) != 3)
			continue;
		if (regs[7] >= start && regs[7] < end)
			stack_top = end;
		if (protection[2] == 'x')
			printf("map %s", line);
	}
	if (maps)
		fclose(maps);
}

static void print(void)
{
	static const char digits[] = "0123456789abcdef";

	printf("regs");
	for (int i = 0; i < 17; i++)
		printf(" %lx", regs[i]);
	printf("\n");
	for (int i = expected_count; i-- > 0;)
		printf("expect %lx %d\n", expected[i].address, expected[i].kind);
	printf("stack %lx ", regs[7]);
	uint64_t size = stack_top - regs[7] < STACK_MAX ? stack_top - regs[7] : STACK_MAX;
	for (uint64_t i = 0; i < size; i++) {
		putchar(digits[stack[i] >> 4]);
		putchar(digits[stack[i] & 15]);
	}
	printf("\nend\n");
	fflush(stdout);
}

/* The stack from the captured rsp up, before anything else is called. */
#define COPY_STACK()                                                                               \
	do {                                                                                       \
		const volatile uint8_t *from = (const volatile uint8_t *)regs[7];                  \
		for (uint64_t i = 0; i < STACK_MAX && regs[7] + i < stack_top; i++)                \
			stack[i] = from[i];                                                        \
	} while (0)

static void finish(void)
{
	char byte;

	expect(regs[16], EXACT);
	print();
	while (read(0, &byte, 1) > 0)
		;
}

static NOINLINE void take(void)
{
	ENTER();
	scene_capture(regs);
	print_maps();
	COPY_STACK();
	finish();
	LEAVE();
}

static NOINLINE void take_leaf(void)
{
	ENTER();
	scene_capture_leaf(regs);
	print_maps();
	scene_capture_leaf(regs); // the stack top is known now
	expect(scene_asm_return, RETURN);
	COPY_STACK();
	finish();
	LEAVE();
}

// By a direct call: that is how its caller is found.
#define TAKE_LOOP(name)                                                                            \
	static NOINLINE void take_##name(void)                                                     \
	{                                                                                          \
		ENTER();                                                                           \
		scene_capture_##name(regs);                                                        \
		print_maps();                                                                      \
		scene_capture_##name(regs);                                                        \
		expect(scene_asm_return, RETURN);                                                  \
		COPY_STACK();                                                                      \
		finish();                                                                          \
		LEAVE();                                                                           \
	}
TAKE_LOOP(spin)
TAKE_LOOP(nops)
TAKE_LOOP(aligned)

static NOINLINE void take_pushed(void)
{
	ENTER();
	scene_capture_pushed(regs);
	print_maps();
	scene_capture_pushed(regs);
	expect(scene_asm_return, RETURN);
	COPY_STACK();
	finish();
	LEAVE();
}

static NOINLINE void take_bare(void)
{
	void (*volatile capture)(uint64_t *) = scene_capture_bare; // as kernels are chosen

	ENTER();
	capture(regs);
	print_maps();
	capture(regs);
	expect(scene_asm_return, RETURN);
	COPY_STACK();
	finish();
	LEAVE();
}

static uint64_t made_rbp;

static NOINLINE void take_made(void)
{
	size_t size = (size_t)(scene_capture_made_end - (const uint8_t *)scene_capture_made);
	uint8_t *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ENTER();
	memcpy(code, (const void *)scene_capture_made, size);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	uint64_t (*volatile made)(uint64_t *, uint64_t) = (uint64_t(*)(uint64_t *, uint64_t))code;
	made(regs, made_rbp);
	print_maps(); // and its calls' return addresses lie where the frame of the next call is
	uint64_t back = made(regs, made_rbp);
	COPY_STACK();
	expect(back, RETURN);
	finish();
	LEAVE();
}

static NOINLINE void from_asm(void)
{
	expect(scene_asm_return, RETURN);
	ENTER();
	take();
	LEAVE();
}

static NOINLINE void with_frame(void)
{
	ENTER();
	scene_with_frame(from_asm);
	LEAVE();
}

static NOINLINE void deep(int levels)
{
	ENTER();
	if (levels > 1)
		deep(levels - 1);
	else
		take();
	LEAVE();
}

static void handler(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	const ucontext_t *uc = context;

	expect((uint64_t)uc->uc_mcontext.gregs[REG_RIP], EXACT);
	expect((uint64_t)__builtin_return_address(0), EXACT); // the trampoline
	take();
	LEAVE();
}

static NOINLINE void trap(void)
{
	ENTER();
	__asm__ volatile("int3" ::: "memory");
	LEAVE();
}

static void (*body)(void);
static int depth;

static NOINLINE void inner(void)
{
	ENTER();
	if (depth)
		deep(depth);
	else
		body();
	LEAVE();
}

/* A frame whose CFA lies in memory, on targets that realign with arguments on the stack. */
static NOINLINE __attribute__((force_align_arg_pointer)) int realigned(int a, int b, int c, int d,
                                                                       int e, int f, int g, int h)
{
	__attribute__((aligned(64))) volatile char aligned[64];
	volatile char *dynamic = alloca((size_t)(a + 64));

	ENTER();
	aligned[0] = (char)b;
	dynamic[0] = (char)c;
	inner();
	return aligned[0] + dynamic[0] + d + e + f + g + h;
}

static NOINLINE int variable(int size)
{
	volatile char *dynamic = alloca((size_t)size);

	ENTER();
	dynamic[0] = 1;
	sink += realigned(1, 2, 3, 4, 5, 6, 7, 8);
	return dynamic[0];
}

static void handle(int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };
	stack_t other = { .ss_sp = malloc(256 << 10), .ss_size = 256 << 10 };

	if (flags & SA_ONSTACK)
		sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &action, NULL);
	body = trap;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	ENTER();
	body = take;
	if (strcmp(name, "deep") == 0)
		depth = atoi(argv[2]);
	else if (strcmp(name, "signal") == 0)
		handle(0);
	else if (strcmp(name, "alternate") == 0)
		handle(SA_ONSTACK);
	else if (strcmp(name, "frame") == 0)
		body = with_frame;
	else if (strcmp(name, "leaf") == 0)
		body = take_leaf;
	else if (strcmp(name, "spin") == 0)
		body = take_spin;
	else if (strcmp(name, "nops") == 0)
		body = take_nops;
	else if (strcmp(name, "aligned") == 0)
		body = take_aligned;
	else if (strcmp(name, "bare") == 0)
		body = take_bare;
	else if (strcmp(name, "made") == 0) {
		body = take_made;
		made_rbp = (uint64_t)strtoul(argv[2], NULL, 0);
	} else if (strcmp(name, "pushed") == 0)
		body = take_pushed;
	else if (strcmp(name, "plain") != 0)
		return 2;
	sink += variable(100);
	return 0;
}
