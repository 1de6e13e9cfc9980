/* SPDX-License-Identifier: MIT */
/*
 * The fake CUPTI: its exported functions (as those of cupti_callbacks.h, cupti_activity.h,
 * cupti_version.h and cupti_result.h), and what the rest of the fake asks it.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>

/*
 * For each function first: 0, or what FUNCTION is to return at once. Calls from a buffer's
 * callback and from a forked child break a rule.
 */
int fake_cupti_check(const char *function);

/* Records of this kind are to be written. */
bool fake_cupti_wants(uint32_t kind);

/* Threads are told by gettid(), rather than pthread_self(). */
bool fake_cupti_by_gettid(void);

/* Records of this call are to be written: the kind, or the one function, was enabled. */
bool fake_cupti_wants_call(uint32_t domain, uint32_t id);

int cuptiGetVersion(uint32_t *version);
int cuptiGetResultString(int result, const char **text);
int cuptiGetTimestamp(uint64_t *ns);
int cuptiGetDeviceId(void *context, uint32_t *device);
int cuptiGetContextId(void *context, uint32_t *id);
int cuptiSetThreadIdType(int type);
int cuptiFinalize(void);

int cuptiSubscribe(void **handle, cupti_callback *callback, void *own);
int cuptiSubscribe_v2(void **handle, cupti_callback *callback, void *own,
                      struct cupti_subscriber *who);
int cuptiUnsubscribe(void *handle);
int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t id);
int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain);
int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name);

int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete);
int cuptiActivityRegisterTimestampCallback(cupti_clock *clock);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable);
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable);
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
int cuptiActivityConfigureUnifiedMemoryCounter(const struct cupti_managed_setting *settings,
                                               uint32_t count);
int cuptiActivityFlushPeriod(uint32_t ms);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, uint32_t **record);
