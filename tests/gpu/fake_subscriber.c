// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_subscriber.h"

#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_call.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_facts.h"
#include "tests/gpu/fake_functions.h"
#include "tests/gpu/fake_settings.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define DOMAINS 10
#define IDS     1024

static struct {
	pthread_mutex_t lock;
	cupti_callback *_Atomic callback; // NULL: nobody has subscribed
	void *own;
	char name[64];
	_Atomic uint8_t wanted[DOMAINS][IDS];
} subscriber = { .lock = PTHREAD_MUTEX_INITIALIZER };

__thread bool fake_in_call;

bool fake_subscriber_wants(uint32_t domain, uint32_t id)
{
	return subscriber.callback && subscriber.wanted[domain][id];
}

void fake_subscriber_tell(uint32_t domain, uint32_t id, const void *data)
{
	cupti_callback *callback = subscriber.callback;
	bool outer = fake_in_callback, outer_call = fake_in_call;

	if (!callback || !subscriber.wanted[domain][id])
		return;
	fake_facts_callback();
	// Before a context goes, clients flush: NVIDIA's own sample of an injection does so.
	fake_in_callback = fake_in_call = domain != CUPTI_DOMAIN_RESOURCE;
	callback(subscriber.own, domain, id, data);
	fake_in_callback = outer;
	fake_in_call = outer_call;
}

void fake_subscriber_forget(void)
{
	pthread_mutex_lock(&subscriber.lock);
	subscriber.callback = NULL;
	memset(subscriber.wanted, 0, sizeof(subscriber.wanted));
	pthread_mutex_unlock(&subscriber.lock);
}

static int subscribe(void **handle, cupti_callback *callback, void *own, const char *name)
{
	int result = 0;

	if (!handle || !callback)
		return CUPTI_INVALID_PARAMETER;
	fake_driver_init(); // what is injected may subscribe first
	pthread_mutex_lock(&subscriber.lock);
	if (subscriber.callback || *fake_faults()->busy) {
		result = CUPTI_BUSY;
	} else {
		subscriber.own = own;
		subscriber.callback = callback;
		snprintf(subscriber.name, sizeof(subscriber.name), "%s", name);
		*handle = &subscriber;
	}
	pthread_mutex_unlock(&subscriber.lock);
	return result;
}

int cuptiSubscribe(void **handle, cupti_callback *callback, void *own)
{
	int refused = fake_cupti_check(__func__);

	return refused ? refused : subscribe(handle, callback, own, "");
}

int cuptiSubscribe_v2(void **handle, cupti_callback *callback, void *own,
                      struct cupti_subscriber *who)
{
	int result = fake_cupti_check(__func__);

	if (result)
		return result;
	if (who && who->size < sizeof(*who))
		fake_violation("cuptiSubscribe_v2: size %zu of its parameters", who->size);
	if (who && who->other && who->other_size < CUPTI_OTHER_NAME_MIN)
		fake_violation("cuptiSubscribe_v2: %zu bytes for the other's name",
		               who->other_size);
	const char *other = *fake_faults()->busy ? fake_faults()->busy : subscriber.name;
	result = subscribe(handle, callback, own, who && who->name ? who->name : "");
	if (result == CUPTI_BUSY && who && who->other)
		snprintf(who->other, who->other_size, "%s", other);
	return result;
}

static bool is_subscribed(const char *function, void *handle)
{
	if (handle == &subscriber && subscriber.callback)
		return true;
	fake_violation("%s: %p has not subscribed", function, handle);
	return false;
}

int cuptiUnsubscribe(void *handle)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!is_subscribed(__func__, handle))
		return CUPTI_INVALID_PARAMETER;
	fake_subscriber_forget();
	return 0;
}

static uint32_t ids_of(uint32_t domain)
{
	return domain == CUPTI_DOMAIN_RUNTIME  ? FAKE_RUNTIME_IDS
	       : domain == CUPTI_DOMAIN_DRIVER ? FAKE_DRIVER_IDS
	                                       : 32;
}

int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t id)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!is_subscribed(__func__, handle) || !domain || domain >= DOMAINS || !id ||
	    id >= ids_of(domain))
		return CUPTI_INVALID_PARAMETER;
	subscriber.wanted[domain][id] = enable != 0;
	return 0;
}

int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
	int refused = fake_cupti_check(__func__);

	if (refused)
		return refused;
	if (!is_subscribed(__func__, handle) || !domain || domain >= DOMAINS)
		return CUPTI_INVALID_PARAMETER;
	memset(subscriber.wanted[domain], enable != 0, IDS);
	return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
	const char *found = fake_function_name(domain, id);

	if (!found || !name)
		return CUPTI_INVALID_PARAMETER;
	*name = found;
	return 0;
}
