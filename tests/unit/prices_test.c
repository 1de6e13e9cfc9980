// SPDX-License-Identifier: MIT
#include "merge/record/prices.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILLED    48 // as many as one file keeps
#define OTHERS_NS 12345

// Names the file that counts how often the program that measures has been asked: this test, again.
#define TURNS "PRICES_TEST_TURNS"

static char path[] = "/tmp/prices-test-XXXXXX";

static void begin(void)
{
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	close(fd);
}

static void end(void)
{
	unlink(path);
}

TestSuite(prices, .init = begin, .fini = end);

// Prices of other options, all measured a moment ago.
static void fill_file(void)
{
	FILE *file = fopen(path, "we");

	cr_assert(file);
	for (unsigned i = 1; i <= FILLED; i++) {
		fprintf(file, "%x %" PRIu64, i, clock_ns(CLOCK_REALTIME) / NS_PER_SEC);
		for (int j = 0; j < PRICE_COUNT; j++)
			fprintf(file, " %d", OTHERS_NS);
		fputs("\n", file);
	}
	cr_assert(eq(int, fclose(file), 0));
}

static unsigned count_lines(const char *with)
{
	FILE *file = fopen(path, "re");
	char line[256];
	unsigned count = 0;

	cr_assert(file);
	while (fgets(line, sizeof(line), file))
		count += !with || strstr(line, with) != NULL;
	fclose(file);
	return count;
}

#define TRIES 5

static uint64_t sample_price(uint32_t frequency_hz)
{
	struct prices_request request = {
		.frequency_hz = frequency_hz,
		.stack_bytes = 4096,
		.kept = path,
	};

	return prices_measure(&request).ns[PRICE_SAMPLE];
}

Test(prices, a_full_file_forgets_the_oldest_price_and_keeps_the_newest)
{
	uint64_t first, second;

	fill_file();
	if (!(first = sample_price(999)) || !(second = sample_price(499)))
		cr_skip("no price of a sample can be measured here");
	cr_expect(eq(u32, count_lines(NULL), FILLED));
	cr_expect(eq(u32, count_lines(" 12345 12345 12345\n"), FILLED - 2),
	          "both new ones are kept");
	// Measured anew, neither would be the same to the nanosecond.
	cr_expect(eq(u64, sample_price(999), first));
	cr_expect(eq(u64, sample_price(499), second));
}

static struct prices switch_prices(bool switches, bool kept_only)
{
	struct prices_request request = {
		.frequency_hz = 999,
		.stack_bytes = 4096,
		.switches = switches,
		.kept = path,
		.kept_only = kept_only,
	};

	return prices_measure(&request);
}

Test(prices, what_was_measured_with_more_serves_who_asks_for_less_and_never_the_other_way_round)
{
	struct prices few, more;

	if (!(few = switch_prices(false, false)).ns[PRICE_SAMPLE])
		cr_skip("no price of a sample can be measured here");
	cr_expect(eq(u64, few.ns[PRICE_SWITCH], 0));
	more = switch_prices(true, false);
	cr_expect(gt(u64, more.ns[PRICE_SWITCH], 0));
	cr_expect(eq(u32, count_lines(NULL), 2));
	cr_expect(eq(u64, switch_prices(false, false).ns[PRICE_SWITCH], more.ns[PRICE_SWITCH]));
	cr_expect(eq(u32, count_lines(NULL), 2), "nothing was measured");
}

Test(prices, what_a_thread_that_samples_itself_pays_is_measured_on_request)
{
	struct prices_request request = { .frequency_hz = 999, .stack_bytes = 4096 };
	struct prices prices = { 0 };
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_SW_TASK_CLOCK,
		                        .sample_period = NS_PER_SEC,
		                        .sigtrap = 1,
		                        .remove_on_exec = 1,
		                        .exclude_kernel = 1 };
	struct sigaction before, after;

	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		cr_skip("no traps to be had here");
	close(fd);
	sigaction(SIGTRAP, NULL, &before);
	cr_expect(eq(u64, prices_measure(&request).ns[PRICE_TRAP], 0));
	request.traps = true;
	for (int i = 0; i < TRIES && !prices.ns[PRICE_TRAP]; i++)
		prices = prices_measure(&request);
	sigaction(SIGTRAP, NULL, &after);
	cr_expect(gt(u64, prices.ns[PRICE_TRAP], 0));
	cr_expect(lt(u64, prices.ns[PRICE_TRAP], NS_PER_MS));
	cr_expect(after.sa_handler == before.sa_handler);
}

Test(prices, nothing_is_measured_for_who_asks_for_what_is_kept_alone)
{
	cr_expect(eq(u64, switch_prices(true, true).ns[PRICE_SAMPLE], 0));
	cr_expect(eq(u32, count_lines(NULL), 0));
}

Test(prices, a_line_of_another_version_is_no_price)
{
	FILE *file = fopen(path, "we");

	cr_assert(file);
	fprintf(file, "1 %" PRIu64 " 1 2 3\n", clock_ns(CLOCK_REALTIME) / NS_PER_SEC);
	cr_assert(eq(int, fclose(file), 0));
	if (!sample_price(999))
		cr_skip("no price of a sample can be measured here");
	cr_expect(eq(u32, count_lines(NULL), 1), "its fields were not taken for the next line's");
}

// What was measured while other processes used the CPUs is dated to expire in ten minutes.
#define BUSY_AGE_S (86400 - 600 + 60)

// As the line of a price that was measured, but with other figures: COUNT times.
static void write_busy(const char *key, size_t count, const unsigned figures[])
{
	FILE *file = fopen(path, "we");

	cr_assert(file);
	for (size_t i = 0; i < count; i++) {
		fprintf(file, "%s %" PRIu64, key,
		        clock_ns(CLOCK_REALTIME) / NS_PER_SEC - BUSY_AGE_S);
		for (int j = 0; j < PRICE_COUNT; j++)
			fprintf(file, " %u", figures[i] + (unsigned)j);
		fputs("\n", file);
	}
	cr_assert(eq(int, fclose(file), 0));
}

Test(prices, of_prices_measured_beside_other_work_the_median_of_five_holds)
{
	static const unsigned figures[] = { 400, 90000, 100, 300, 200 };
	char key[32] = "";

	if (!sample_price(999))
		cr_skip("no price of a sample can be measured here");
	FILE *file = fopen(path, "re");
	cr_assert(file && fscanf(file, "%31s", key) == 1);
	fclose(file);
	write_busy(key, 5, figures);
	cr_expect(eq(u64, sample_price(999), 300 + PRICE_SAMPLE));
	cr_expect(eq(u32, count_lines(NULL), 5), "nothing was measured");
	write_busy(key, 3, figures);
	// On a busy machine one that takes too long is given up.
	for (int i = 0; i < TRIES && count_lines(NULL) < 4; i++)
		cr_expect(ne(u64, sample_price(999), 0));
	cr_expect(eq(u32, count_lines(NULL), 4), "measured once more");
}

Test(prices, what_was_measured_alone_with_less_does_not_hide_what_was_measured_with_more)
{
	static const unsigned figures[] = { 500 };
	char key[32] = "";

	if (!sample_price(999))
		cr_skip("no price of a sample can be measured here");
	FILE *file = fopen(path, "re");
	cr_assert(file && fscanf(file, "%31s", key) == 1);
	fclose(file);
	key[strlen(key) - 1] = '2'; // with switches
	write_busy(key, 1, figures);
	key[strlen(key) - 1] = '0';
	file = fopen(path, "ae");
	cr_assert(file);
	fprintf(file, "%s %" PRIu64, key, clock_ns(CLOCK_REALTIME) / NS_PER_SEC);
	for (int j = 0; j < PRICE_COUNT; j++)
		fputs(j == PRICE_SAMPLE ? " 100" : " 0", file);
	fputs("\n", file);
	cr_assert(eq(int, fclose(file), 0));
	struct prices prices = switch_prices(false, false);
	cr_expect(eq(u64, prices.ns[PRICE_SAMPLE], 100));
	cr_expect(eq(u64, prices.ns[PRICE_SWITCH], 500 + PRICE_SWITCH));
}

// What is bare costs more from turn to turn, as on a machine where others begin to work, and once
// they hit the one that is not.
__attribute__((constructor)) static void be_program(int argc, char **argv)
{
	static const unsigned more[] = { 50, 90000, 30, 40, 60 };
	const char *turns = getenv(TURNS);
	struct stat st;

	if (argc != 2 || !turns || strcmp(argv[0], PRICES_PROGRAM) != 0)
		return;
	FILE *file = fopen(turns, "ae");
	if (!file || fstat(fileno(file), &st) < 0)
		_exit(1);
	size_t turn = (size_t)st.st_size / 2;
	fputc('\n', file);
	fclose(file);
	printf("%zu\n", 1000 * turn + 1000 + (st.st_size % 2 ? more[turn % 5] : 0));
	fflush(stdout);
	_exit(0);
}

static struct prices program_prices(bool threads)
{
	struct prices_request request = { .frequency_hz = 999,
		                          .stack_bytes = 4096,
		                          .threads = threads,
		                          .processes = !threads,
		                          .program = "/proc/self/exe" };

	setenv(TURNS, path, 1);
	struct prices prices = prices_measure(&request);
	unsetenv(TURNS);
	return prices;
}

Test(prices, threads_and_forks_are_measured_bare_and_not_in_turns)
{
	struct prices prices = program_prices(true);

	if (!prices.ns[PRICE_SAMPLE])
		cr_skip("no price of a sample can be measured here");
	cr_expect(eq(u64, prices.ns[PRICE_THREAD], 50));
	cr_expect(eq(u64, prices.ns[PRICE_FORK], 0), "nobody asked");
	cr_assert(eq(int, truncate(path, 0), 0));
	prices = program_prices(false);
	cr_expect(eq(u64, prices.ns[PRICE_FORK], 50));
	cr_expect(eq(u64, prices.ns[PRICE_THREAD], 0), "nobody asked");
}

// As long ago as that it may be measured again.
static void age_lines(unsigned seconds)
{
	char text[4096] = "", key[32], rest[512];
	uint64_t written_s;
	size_t size = 0;
	FILE *file = fopen(path, "re");

	cr_assert(file);
	while (fscanf(file, "%31s %" SCNu64 " %511[^\n]", key, &written_s, rest) == 3)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s %" PRIu64 " %s\n",
		                         key, written_s - seconds, rest);
	fclose(file);
	file = fopen(path, "we");
	cr_assert(file && fputs(text, file) >= 0);
	cr_assert(eq(int, fclose(file), 0));
}

Test(prices, one_that_was_measured_alone_is_measured_again_by_the_next_runs)
{
	if (!sample_price(999))
		cr_skip("no price of a sample can be measured here");
	sample_price(999);
	cr_expect(eq(u32, count_lines(NULL), 1), "a moment ago");
	for (unsigned i = 0; i < 9; i++) {
		age_lines(6);
		sample_price(999);
	}
	unsigned lines = count_lines(NULL);
	cr_expect(ge(u32, lines, 3));
	cr_expect(le(u32, lines, 5));
}

Test(prices, without_a_program_a_shell_forks)
{
	struct prices_request request = {
		.frequency_hz = 999, .stack_bytes = 4096, .processes = true, .program = "/nowhere"
	};
	struct prices prices = prices_measure(&request);

	if (!prices.ns[PRICE_SAMPLE])
		cr_skip("no price of a sample can be measured here");
	// On a busy machine that may be less than what the shell's own time varies by.
	for (int i = 0; i < TRIES && !prices.ns[PRICE_FORK]; i++)
		prices = prices_measure(&request);
	cr_expect(gt(u64, prices.ns[PRICE_FORK], 0));
}

Test(prices, starts_take_no_more_than_their_part_of_what_the_run_took)
{
	const struct prices prices = { .ns = { [PRICE_THREAD] = 60,
		                               [PRICE_SPAWN] = 500,
		                               [PRICE_FORK] = 200,
		                               [PRICE_EXEC] = 300,
		                               [PRICE_BARE_SPAWN] = 500,
		                               [PRICE_BARE_EXEC] = 200 } };
	const struct starts all = { .threads = 10, .spawns = 10, .forks = 10, .execs = 10 };
	const struct starts spawns = { .spawns = 10 }, forks = { .forks = 10 };
	const struct starts none = { 0 };
	struct starts_cost cost = prices_of_starts(&prices, &all, 17600); // all that they took

	cr_expect(eq(u64, cost.threads_ns, 600));
	cr_expect(eq(u64, cost.processes_ns, 10000));
	cost = prices_of_starts(&prices, &all, 8800);
	cr_expect(eq(u64, cost.threads_ns, 300));
	cr_expect(eq(u64, cost.processes_ns, 5000));
	cr_expect(eq(u64, prices_of_starts(&prices, &spawns, 6000).processes_ns, 3000));
	cr_expect(eq(u64, prices_of_starts(&prices, &forks, 2500).processes_ns, 2000));
	cr_expect(eq(u64, prices_of_starts(&prices, &forks, 1500).processes_ns, 1500));
	cr_expect(eq(u64, prices_of_starts(&prices, &none, 1500).processes_ns, 0));
	cr_expect(eq(u64, prices_of_starts(&prices, &forks, 0).processes_ns, 0));
}
