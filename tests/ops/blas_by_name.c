// SPDX-License-Identifier: MIT
/*
 * blas_by_name LIBRARY…: asks each library for its own functions, and everybody for one that nobody
 * has for all.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef double dot(int n, const double *x, int incx, const double *y, int incy);

static void ask_all(void *handle)
{
	void *found = dlsym(handle, "dgemm_");
	const char *error = dlerror();

	printf("dgemm_: %s, %s\n", found ? "there" : "not there",
	       error && strstr(error, "undefined symbol: dgemm_") ? "it says why" : "no word");
}

int main(int argc, char **argv)
{
	const double x[3] = { 1, 2, 3 };

	ask_all(RTLD_DEFAULT);
	ask_all(dlopen(NULL, RTLD_LAZY));
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		dot *ddot = library ? (dot *)dlsym(library, "cblas_ddot") : NULL;
		if (!ddot)
			return 1;
		printf("%g\n", ddot(3, x, 1, x, 1));
		printf("%g\n", ddot(2, x, 1, x, 1));
		printf("asked again: %s\n",
		       dlsym(library, "cblas_ddot") == ddot ? "same" : "other");
		printf("%s\n", dlsym(library, "dnone_") ? "too much" : "no more than is there");
	}
	ask_all(RTLD_DEFAULT); // each is there for itself alone
	printf("%s\n", dlsym(RTLD_DEFAULT, "puts") ? "others are found" : "others are lost");
	return 0;
}
