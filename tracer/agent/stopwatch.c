// SPDX-License-Identifier: MIT
#include "tracer/agent/stopwatch.h"

#include "base/clock.h"
#include "tracer/agent/system.h"

#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define CLOCK_SOURCE  "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define ANCHOR_NS     (4 * NS_PER_MS)
#define BASELINE_NS   (8 * NS_PER_MS) // the shortest that a scale is taken from
#define WINDOW_NS     NS_PER_SEC      // after so long a newer baseline is begun
#define OFF_NS        (50 * NS_PER_US)
#define OFF_TIMES_MAX 8

struct pair {
	uint64_t ticks, ns;
};

// Written by whichever thread comes by; a torn mixture of two pairs shows as a wild scale, which
// is refused.
static struct {
	bool usable;
	int busy;               // atomic: a thread is at the pairs
	struct pair old, young; // baselines: OLD is used until YOUNG is long enough
	uint64_t scale;         // atomic
	uint32_t off_times;     // atomic: how often a reading was far from the clock
} shared;

static bool counter_is_invariant(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8; // Intel SDM, CPUID
#else
	return false;
#endif
}

// The kernel watches the counter, and turns away from it where it is not steady.
static bool kernel_uses_counter(void)
{
	char name[8] = "";
	int fd = system_open(CLOCK_SOURCE, O_RDONLY, 0);

	if (fd < 0)
		return false;
	long got = system_read(fd, name, sizeof(name) - 1);
	system_close(fd);
	return got >= 4 && memcmp(name, "tsc\n", 4) == 0;
}

// The counter and the clock at one moment, as nearly as two readings around a third can tell.
static struct pair read_pair(void)
{
	struct pair best = { 0, 0 };
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t before = stopwatch_ticks();
		uint64_t ns = clock_now_ns();
		uint64_t width = stopwatch_ticks() - before;
		if (width >= best_width)
			continue;
		best_width = width;
		best = (struct pair){ before + width / 2, ns };
	}
	return best;
}

void stopwatch_start(void)
{
	shared.usable = counter_is_invariant() && kernel_uses_counter();
	if (shared.usable)
		shared.old = shared.young = read_pair();
}

// ns per tick since FROM. Counters tick from 0.1 to 10 times a nanosecond.
static uint64_t scale_since(const struct pair *from, const struct pair *now)
{
	uint64_t ns = now->ns - from->ns, ticks = now->ticks - from->ticks;

	if (ns < BASELINE_NS || ns >> 40 || ticks < ns / 10 || ticks / 10 > ns)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

static void calibrate(const struct pair *now)
{
	if (__atomic_exchange_n(&shared.busy, 1, __ATOMIC_ACQUIRE))
		return;
	uint64_t scale = scale_since(&shared.old, now);
	if (scale)
		__atomic_store_n(&shared.scale, scale, __ATOMIC_RELAXED);
	if (now->ns - shared.young.ns > WINDOW_NS) {
		shared.old = shared.young;
		shared.young = *now;
	}
	__atomic_store_n(&shared.busy, 0, __ATOMIC_RELEASE);
}

static void check(const struct stopwatch *w, const struct pair *now)
{
	uint64_t ticks = now->ticks - w->base_ticks;

	// Beyond twice the limit the scale is not asked for.
	if (!w->limit_ticks || ticks > 2 * w->limit_ticks)
		return;
	uint64_t told = w->base_ns + (ticks * w->scale >> 32);
	uint64_t off = told > now->ns ? told - now->ns : now->ns - told;
	if (off > OFF_NS)
		__atomic_fetch_add(&shared.off_times, 1, __ATOMIC_RELAXED);
}

uint64_t stopwatch_anchor(struct stopwatch *w)
{
	if (!shared.usable ||
	    __atomic_load_n(&shared.off_times, __ATOMIC_RELAXED) > OFF_TIMES_MAX) {
		w->limit_ticks = 0;
		w->anchored = true;
		return stopwatch_later(w, clock_now_ns());
	}
	struct pair now = read_pair();
	w->anchored = true;
	check(w, &now);
	calibrate(&now);
	w->base_ticks = now.ticks;
	w->base_ns = now.ns;
	w->scale = __atomic_load_n(&shared.scale, __ATOMIC_RELAXED);
	w->limit_ticks = w->scale ? (ANCHOR_NS << 32) / w->scale : 0;
	return stopwatch_later(w, now.ns);
}
