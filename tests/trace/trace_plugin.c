// SPDX-License-Identifier: MIT
// A library that a program loads: its functions are called from its constructor on.
static long begun;

__attribute__((noinline)) static long f_plugin_inner(long x)
{
	__asm__ volatile("");
	return x + begun;
}

__attribute__((constructor)) static void begin(void)
{
	begun = f_plugin_inner(100);
}

__attribute__((visibility("default"))) long plugin_call(long x)
{
	return f_plugin_inner(x);
}
