// SPDX-License-Identifier: MIT
// What Criterion asks libgit2 for: the difference of two strings that its own assertions print, and
// ours (tests/support/expect.h) do not. Each test of Criterion's is a process of its own, and to
// load libgit2 and the libraries that this needs in turn takes longer than most of them.
#pragma GCC visibility push(default)
int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

int git_libgit2_init(void)
{
	return 1;
}

int git_libgit2_shutdown(void)
{
	return 0;
}

int git_diff_buffers(void)
{
	return -1;
}
