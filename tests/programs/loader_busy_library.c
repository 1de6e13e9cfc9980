// SPDX-License-Identifier: MIT
// Its constructor calls the program, which takes its time: the loader's lock is held meanwhile.
void loader_busy_constructed(void);

__attribute__((constructor)) static void construct(void)
{
	loader_busy_constructed();
}
