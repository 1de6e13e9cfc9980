// SPDX-License-Identifier: MIT
/*
 * CUPTI's functions that another client in the process calls: the program's own profiler, such as
 * PyTorch's. There is one subscriber in a process, and one pair of callbacks for records. Who comes
 * gets them, and we what is left:
 *
 *	it registers callbacks and enables a kind   ours are flushed and disabled; a gap begins
 *	it disables its last kind                   its are flushed; ours are enabled again
 *	it subscribes, unsubscribes                 we unsubscribe, subscribe again
 *	it finalizes CUPTI                          once, we begin anew
 *
 * CUPTI has our callbacks all the time: whatever is still under way reaches whose it is. A client
 * with another copy of the library gets what it asks that for.
 */
#include "tracer/agent/cupti/cupti.h"
#include "tracer/agent/cupti/cupti_buffers.h"
#include "tracer/agent/cupti/cupti_calls.h"
#include "tracer/agent/cupti/cupti_pc.h"
#include "tracer/agent/cupti/cupti_session.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/wrap/wrap.h"

#include <string.h>

static struct {
	bool has_records; // a gap is open
	bool subscribed;
	uint64_t kinds; // bits 1 << enum cupti_kind
	cupti_clock *clock;
} other;

// The function that CALLER would have got. NULL: there is none.
#define THEIRS(function, name)                                                                     \
	((function *)definition_find(name, (uint64_t)(uintptr_t)__builtin_return_address(0)))

// Whether it is for us to step aside: REAL is of the CUPTI that we use, and called by the program.
static bool concerns_us(const void *real, const void *ours)
{
	return !cupti_inside && real == ours && cupti_session_is_live();
}

static uint64_t bit(int kind)
{
	return kind >= 0 && kind < 64 ? UINT64_C(1) << kind : 0;
}

static void yield(void)
{
	static bool told;

	cupti_session_flush(true);
	cupti_session_disable();
	cupti_buffers_hand_over(true);
	if (other.clock)
		CUPTI_CALL(register_clock, other.clock);
	cupti_session_begin_gap(GPU_GAP_ACTIVITY);
	other.has_records = true;
	if (!told)
		op_say("the program profiles its GPU by itself: meanwhile GPU activity is not recorded");
	told = true;
}

static void take_back(void)
{
	uint32_t refused;

	CUPTI_CALL(flush_all, CUPTI_FLUSH_FORCED);
	cupti_buffers_hand_over(false);
	other.has_records = false;
	cupti_session_register();
	cupti_session_enable(false, &refused);
	cupti_session_end_gap(GPU_GAP_ACTIVITY);
}

static void yield_if_wanted(void)
{
	if (!other.has_records && other.kinds && cupti_buffers_has_other())
		yield();
}

static void release_calls(void)
{
	if (!cupti_session.subscriber)
		return;
	cupti_session_unsubscribe();
	cupti_session_begin_gap(GPU_GAP_CALLS);
}

static void take_calls_back(void)
{
	char name[CUPTI_OTHER_NAME_MIN];

	if (!cupti_session.subscriber && cupti_session_subscribe(name, sizeof(name)) == CUPTI_OK)
		cupti_session_end_gap(GPU_GAP_CALLS);
}

// Whether it was refused for us: subscribing had CUPTI start the driver, and so us, first.
static bool refused_for_us(int result, const void *real, const void *ours)
{
	return result == CUPTI_BUSY && concerns_us(real, ours);
}

// Its answer to a subscription.
static int keep_subscribed(int result)
{
	other.subscribed = result == CUPTI_OK;
	if (!other.subscribed)
		take_calls_back();
	cupti_session_unlock();
	return result;
}

// In CUPTI, where it may call itself by these names.
#define FORWARD(real, ...)                                                                         \
	({                                                                                         \
		cupti_inside++;                                                                    \
		int forwarded_ = (real)(__VA_ARGS__);                                              \
		cupti_inside--;                                                                    \
		forwarded_;                                                                        \
	})

EXPORT int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *own)
{
	typedef int function(void **, cupti_callback *, void *);
	function *real = THEIRS(function, "cuptiSubscribe");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.subscribe)) {
		int result = real(subscriber, callback, own);
		if (!refused_for_us(result, (void *)real, (void *)cupti_session.f.subscribe))
			return result;
	}
	cupti_session_lock();
	release_calls();
	return keep_subscribed(FORWARD(real, subscriber, callback, own));
}

EXPORT int cuptiSubscribe_v2(void **subscriber, cupti_callback *callback, void *own,
                             struct cupti_subscriber *wanted)
{
	typedef int function(void **, cupti_callback *, void *, struct cupti_subscriber *);
	function *real = THEIRS(function, "cuptiSubscribe_v2");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.subscribe_v2)) {
		int result = real(subscriber, callback, own, wanted);
		if (!refused_for_us(result, (void *)real, (void *)cupti_session.f.subscribe_v2))
			return result;
	}
	cupti_session_lock();
	release_calls();
	return keep_subscribed(FORWARD(real, subscriber, callback, own, wanted));
}

EXPORT int cuptiUnsubscribe(void *subscriber)
{
	typedef int function(void *);
	function *real = THEIRS(function, "cuptiUnsubscribe");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.unsubscribe))
		return real(subscriber);
	cupti_session_lock();
	int result = FORWARD(real, subscriber);
	if (result == CUPTI_OK && other.subscribed) {
		other.subscribed = false;
		take_calls_back();
	}
	cupti_session_unlock();
	return result;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete)
{
	typedef int function(cupti_request *, cupti_complete *);
	function *real = THEIRS(function, "cuptiActivityRegisterCallbacks");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!request || !complete ||
	    !concerns_us((void *)real, (void *)cupti_session.f.register_callbacks))
		return real(request, complete);
	cupti_session_lock();
	cupti_buffers_set_other(request, complete);
	yield_if_wanted();
	cupti_session_unlock();
	return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterTimestampCallback(cupti_clock *clock)
{
	typedef int function(cupti_clock *);
	function *real = THEIRS(function, "cuptiActivityRegisterTimestampCallback");
	int result = CUPTI_OK;

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!clock || !concerns_us((void *)real, (void *)cupti_session.f.register_clock))
		return real(clock);
	cupti_session_lock();
	other.clock = clock;
	if (other.has_records)
		result = FORWARD(real, clock);
	cupti_session_unlock();
	return result;
}

EXPORT int cuptiActivityEnable(int kind)
{
	typedef int function(int);
	function *real = THEIRS(function, "cuptiActivityEnable");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.enable))
		return real(kind);
	cupti_session_lock();
	other.kinds |= bit(kind);
	yield_if_wanted();
	int result = FORWARD(real, kind);
	if (result != CUPTI_OK)
		other.kinds &= ~bit(kind);
	if (other.has_records && !other.kinds)
		take_back();
	cupti_session_unlock();
	return result;
}

EXPORT int cuptiActivityDisable(int kind)
{
	typedef int function(int);
	function *real = THEIRS(function, "cuptiActivityDisable");
	int result = CUPTI_OK;

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.disable))
		return real(kind);
	cupti_session_lock();
	other.kinds &= ~bit(kind);
	if (!(cupti_session.kinds & bit(kind))) // what we want stays
		result = FORWARD(real, kind);
	if (other.has_records && !other.kinds)
		take_back();
	cupti_session_unlock();
	return result;
}

EXPORT int cuptiFinalize(void)
{
	typedef int function(void);
	function *real = THEIRS(function, "cuptiFinalize");

	if (!real)
		return CUPTI_NOT_INITIALIZED;
	if (!concerns_us((void *)real, (void *)cupti_session.f.finalize))
		return real();
	cupti_session_lock();
	cupti_session_flush_periodically(true);
	int result = FORWARD(real);
	if (result == CUPTI_OK) {
		cupti_session.subscriber = NULL; // it is no more
		cupti_session.kinds = 0;
		cupti_calls_renew();
		cupti_pc_forget();
		cupti_buffers_hand_over(false);
		cupti_buffers_set_other(NULL, NULL);
		other = (typeof(other)){ 0 };
		cupti_restart();
		cupti_session_end_gap(GPU_GAP_ACTIVITY);
		cupti_session_end_gap(GPU_GAP_CALLS);
	}
	cupti_session_unlock();
	return result;
}

// Some look CUPTI's functions up one by one, in a library that they have loaded themselves.
void *cupti_wrap_choose(const char *name, void *found)
{
	const struct {
		const char *name;
		void *ours, *real;
	} choices[] = {
#define CHOICE(function, field) { #function, (void *)function, (void *)cupti_session.f.field }
		CHOICE(cuptiSubscribe, subscribe),
		CHOICE(cuptiSubscribe_v2, subscribe_v2),
		CHOICE(cuptiUnsubscribe, unsubscribe),
		CHOICE(cuptiActivityRegisterCallbacks, register_callbacks),
		CHOICE(cuptiActivityRegisterTimestampCallback, register_clock),
		CHOICE(cuptiActivityEnable, enable),
		CHOICE(cuptiActivityDisable, disable),
		CHOICE(cuptiFinalize, finalize),
#undef CHOICE
	};

	if (!found || !cupti_session_is_live())
		return found;
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (choices[i].real == found && strcmp(choices[i].name, name) == 0)
			return choices[i].ours;
	return found;
}
