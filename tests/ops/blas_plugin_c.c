// SPDX-License-Identifier: MIT
/* Brings the library that blas_middle calls, which does not say itself what it needs. */
extern int middle_call(void);

int plugin_call(void);

int plugin_call(void)
{
	return middle_call();
}
