// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_call.h"

#include "base/clock.h"
#include "tests/gpu/cuda_api.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_device.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_subscriber.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint last_correlation;
static __thread int last_error;

static void tell(struct fake_call *c, uint32_t domain, uint32_t id, uint32_t site, int *result)
{
	if (!fake_subscriber_wants(domain, id))
		return;
	struct cupti_call call = {
		.site = site,
		.function = fake_function_plain_name(domain, id),
		.parameters = c->parameters,
		.result = site == CUPTI_EXIT ? result : NULL,
		.symbol = c->symbol,
		.context = fake_device_context(),
		.context_id = fake_device_context_id(fake_device_current()),
		.own = &c->own[domain == CUPTI_DOMAIN_DRIVER],
		.correlation = c->correlation,
	};
	fake_subscriber_tell(domain, id, &call);
}

void fake_call_begin(struct fake_call *c, uint32_t runtime, uint32_t driver, const void *parameters,
                     const char *symbol)
{
	*c = (struct fake_call){
		.runtime = runtime, .driver = driver, .parameters = parameters, .symbol = symbol
	};
	c->refused = fake_driver_init();
	if (c->refused)
		return;
	if (fake_in_callback)
		fake_violation("%s: called from a callback of CUPTI's",
		               runtime ? fake_function_plain_name(CUPTI_DOMAIN_RUNTIME, runtime)
		                       : fake_function_plain_name(CUPTI_DOMAIN_DRIVER, driver));
	fake_device_ensure();
	c->correlation = ++last_correlation;
	c->begin_ns = clock_now_ns();
	if (runtime)
		tell(c, CUPTI_DOMAIN_RUNTIME, runtime, CUPTI_ENTER, NULL);
	c->driver_begin_ns = clock_now_ns();
	if (driver)
		tell(c, CUPTI_DOMAIN_DRIVER, driver, CUPTI_ENTER, NULL);
}

static void record(const struct fake_call *c, uint32_t domain, uint32_t id, uint64_t begin_ns,
                   int result)
{
	bool is_runtime = domain == CUPTI_DOMAIN_RUNTIME;

	if (!fake_cupti_wants_call(domain, id))
		return;
	struct cupti_api api = {
		.kind = is_runtime ? CUPTI_KIND_RUNTIME : CUPTI_KIND_DRIVER,
		.function = id,
		.begin_ns = begin_ns,
		.end_ns = clock_now_ns(),
		.pid = (uint32_t)getpid(),
		.tid = fake_cupti_by_gettid() ? (uint32_t)gettid() : (uint32_t)pthread_self(),
		.correlation = c->correlation,
		.result = (uint32_t)result,
	};
	fake_buffers_write(&api, sizeof(api));
}

int fake_call_end(struct fake_call *c, int result)
{
	if (c->refused)
		result = c->refused;
	if (c->runtime && result && result != CUDA_NOT_READY)
		last_error = result;
	if (c->refused)
		return result;
	if (c->driver) {
		tell(c, CUPTI_DOMAIN_DRIVER, c->driver, CUPTI_EXIT, &result);
		record(c, CUPTI_DOMAIN_DRIVER, c->driver, c->driver_begin_ns, result);
	}
	if (c->runtime) {
		tell(c, CUPTI_DOMAIN_RUNTIME, c->runtime, CUPTI_EXIT, &result);
		record(c, CUPTI_DOMAIN_RUNTIME, c->runtime, c->begin_ns, result);
	}
	return result;
}

int fake_call_error(bool take)
{
	int error = last_error;

	if (take)
		last_error = 0;
	return error;
}
