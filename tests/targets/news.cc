// SPDX-License-Identifier: MIT
// Allocates known bytes with every form of new, each in a function of its own, and gives most back.
#include <cstdlib>
#include <new>
#include <unistd.h>

static const std::size_t piece = 8 << 20;
static const std::align_val_t aligned{ 4096 };
static void *kept;

static void touch(void *p)
{
	*static_cast<volatile char *>(p) = 1;
	usleep(3000);
}

__attribute__((noipa)) static void plain() // 80 MB
{
	for (int i = 0; i < 10; i++) {
		void *p = ::operator new(piece);
		touch(p);
		i % 2 ? ::operator delete(p) : ::operator delete(p, piece);
	}
}

__attribute__((noipa)) static void arrays() // 80 MB
{
	for (int i = 0; i < 10; i++) {
		char *p = i % 2 ? new char[piece] : new (std::nothrow) char[piece];
		touch(p);
		i % 3 ? delete[] p : ::operator delete[](p, std::nothrow);
	}
}

__attribute__((noipa)) static void over_aligned() // 80 MB
{
	for (int i = 0; i < 10; i++) {
		void *p = ::operator new(piece, aligned);
		touch(p);
		i % 2 ? ::operator delete(p, aligned) : ::operator delete(p, piece, aligned);
	}
}

__attribute__((noipa)) static void leak() // 8 MB
{
	kept = ::operator new(piece, std::nothrow);
	touch(kept);
}

// What cannot be had is thrown through us.
__attribute__((noipa)) static int fail()
{
	try {
		volatile std::size_t much = std::size_t(1) << 60;
		kept = ::operator new(much);
	} catch (const std::bad_alloc &) {
		return 0;
	}
	return 1;
}

int main()
{
	plain();
	arrays();
	over_aligned();
	int status = fail();
	leak();
	return status;
}
