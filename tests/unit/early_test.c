// SPDX-License-Identifier: MIT
#include "symbolize/early.h"

#include "base/error.h"
#include "symbolize/answers.h"
#include "tests/support/expect.h"

#include <link.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct module self = {
	.id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1
};

static int note_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; // the first is the program
}

static uint64_t address_of(int (*function)(struct dl_phdr_info *, size_t, void *))
{
	uint64_t base = 0;

	dl_iterate_phdr(note_base, &base);
	return (uint64_t)(uintptr_t)function - base;
}

static struct early *start(void)
{
	static const struct symbolizer_options none;
	struct error err = { 0 };
	struct early *e = early_new(&none, &err);

	cr_assert(e != NULL, "%s", err.text);
	return e;
}

static void wait_until_idle(struct early *e)
{
	for (int i = 0; i < 60000 && !early_is_idle(e); i++)
		usleep(1000);
	cr_assert(early_is_idle(e));
}

static struct symbol_chain resolve(struct symbolizer *s, uint64_t address)
{
	struct symbol_chain chain;

	cr_assert(eq(int, symbolizer_resolve(s, &self, &address, 1, &chain, NULL), 0));
	return chain;
}

Test(early, what_was_asked_while_the_program_ran_is_known_at_its_end)
{
	cleanup(early) struct early *e = start();
	uint64_t address = address_of(note_base);

	cr_assert(early_ask(e, &self, &address, 1));
	wait_until_idle(e);
	struct symbolizer *s = early_finish(e);
	// It has been looked up: that is how the module has a status.
	cr_expect(eq(int, symbolizer_debug_status(s, &self)->level, DEBUG_LINES));
	struct symbol_chain chain = resolve(s, address);
	cr_assert(eq(u32, chain.count, 1));
	cr_expect(eq(str, (char *)chain.symbols[0].function, "note_base"));
}

Test(early, an_address_is_looked_up_once)
{
	cleanup(early) struct early *e = start();
	struct symbolizer *s = early_finish(e);
	uint64_t address = address_of(note_base);
	struct symbol_chain first = resolve(s, address);

	resolve(s, address + 1);
	cr_expect(eq(ptr, (void *)resolve(s, address).symbols, (void *)first.symbols));
}

Test(early, known_and_new_addresses_of_one_batch_keep_their_places)
{
	cleanup(early) struct early *e = start();
	struct symbolizer *s = early_finish(e);
	uint64_t at = address_of(note_base);
	const uint64_t addresses[] = { at, at + 1, at + 4, at + 5 };
	struct symbol_chain chains[4], alone[4];

	alone[1] = resolve(s, addresses[1]);
	alone[3] = resolve(s, addresses[3]);
	cr_assert(eq(int, symbolizer_resolve(s, &self, addresses, 4, chains, NULL), 0));
	for (size_t i = 0; i < 4; i++) {
		alone[i] = resolve(s, addresses[i]);
		cr_expect(eq(ptr, (void *)chains[i].symbols, (void *)alone[i].symbols), "%zu", i);
		cr_expect(eq(u32, chains[i].count, 1), "%zu", i);
	}
}

Test(early, what_may_change_its_mind_is_not_asked_early)
{
	cleanup(early) struct early *e = start();
	const struct module jit = { .id = 2, .kind = MODULE_JIT, .path = "[jit 1]", .pid = 1 };
	const struct module kernel = { .id = 3, .kind = MODULE_KERNEL, .path = "[kernel]" };
	uint64_t address = 0x1000;

	cr_expect(early_ask(e, &jit, &address, 1));
	cr_expect(early_ask(e, &kernel, &address, 1));
	cr_expect(early_is_idle(e));
}

Test(early, the_end_does_not_wait_for_what_nobody_has_begun)
{
	struct early *e = start();
	uint64_t address = address_of(note_base);

	for (uint32_t id = 1; id <= 1000; id++) {
		struct module another = self;
		another.id = id;
		cr_assert(early_ask(e, &another, &address, 1));
	}
	struct symbolizer *s = early_finish(e);
	struct module last = self;
	last.id = 1000;
	cr_expect(eq(int, symbolizer_debug_status(s, &last)->level, DEBUG_NONE));
	early_free(e);
}

static volatile sig_atomic_t signalled_thread;

static void note_thread(int number)
{
	(void)number;
	signalled_thread = gettid();
}

Test(early, signals_stay_with_those_who_wait_for_them)
{
	cleanup(early) struct early *e = start();
	uint64_t address = address_of(note_base);
	struct sigaction action = { .sa_handler = note_thread };
	sigset_t usr1;

	cr_assert(early_ask(e, &self, &address, 1));
	wait_until_idle(e);
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	kill(getpid(), SIGUSR1);
	usleep(20000);
	cr_expect(eq(int, signalled_thread, 0));
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	cr_expect(eq(int, signalled_thread, gettid()));
}

Test(early, nobody_asked_and_nothing_was_started)
{
	cleanup(early) struct early *e = start();

	cr_expect(early_is_idle(e));
	cr_expect(ne(ptr, early_finish(e), NULL));
	early_free(NULL);
}

Test(answers, thousands_of_addresses_are_found_again)
{
	struct answers a = { 0 };
	struct symbol symbol = { .function = "f" };

	cr_expect(eq(ptr, (void *)answers_find(&a, 16), NULL));
	for (uint32_t i = 1; i <= 5000; i++)
		cr_assert(answers_add(&a, (uint64_t)i * 16, (struct symbol_chain){ i, &symbol }));
	for (uint32_t i = 1; i <= 5000; i++) {
		const struct symbol_chain *chain = answers_find(&a, (uint64_t)i * 16);
		cr_assert(chain != NULL);
		cr_expect(eq(u32, chain->count, i));
	}
	cr_expect(eq(ptr, (void *)answers_find(&a, 8), NULL));
	answers_fini(&a);
}
