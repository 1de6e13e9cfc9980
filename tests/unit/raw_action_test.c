// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/sample/raw_action.h"

#include <string.h>

#define CODE(text) text, sizeof(text) - 1

Test(raw_action, a_call_by_number_is_found)
{
	cr_expect(raw_action_in(CODE("\x90\xb8\x0d\0\0\0\x0f\x05")), "into EAX");
	cr_expect(raw_action_in(CODE("\x48\xc7\xc0\x0d\0\0\0\x49\x89\xca\x0f\x05")), "into RAX");
	cr_expect(raw_action_in(CODE("\xb8\x0d\0\0\0\xb8\x0d\0\0\0\x0f\x05")), "the second one");
}

Test(raw_action, other_code_is_not_taken_for_one)
{
	char far[80];

	cr_expect(not(raw_action_in(CODE(""))));
	cr_expect(not(raw_action_in(CODE("\x0f\x05"))));
	cr_expect(not(raw_action_in(CODE("\x0d\0\0\0\x0f\x05"))), "nothing in front");
	cr_expect(not(raw_action_in(CODE("\xb8\x0e\0\0\0\x0f\x05"))), "another call");
	cr_expect(not(raw_action_in(CODE("\xba\x0d\0\0\0\x0f\x05"))), "another register");
	cr_expect(not(raw_action_in(CODE("\xb8\x0d\0\0\0\x0f"))), "cut");
	memset(far, 0x90, sizeof(far));
	memcpy(far, "\xb8\x0d\0\0\0", 5);
	memcpy(far + 70, "\x0f\x05", 2);
	cr_expect(not(raw_action_in(far, sizeof(far))), "too far behind");
}
