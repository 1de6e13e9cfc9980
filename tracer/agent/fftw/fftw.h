/* SPDX-License-Identifier: MIT */
/*
 * What FFTW's plans are of: found when they are made, asked for when they are
 * executed, forgotten when they are destroyed.
 *
 * Any thread may ask while another adds; a plan that finds no room is unknown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FFTW_DIMENSIONS_MAX 7

enum fftw_kind {
	FFTW_DFT,
	FFTW_R2C,
	FFTW_C2R,
	FFTW_R2R,
	FFTW_KINDS
};

struct fftw_shape {
	uint64_t batch; /* transforms in one plan */
	uint64_t dimensions[FFTW_DIMENSIONS_MAX];
	uint8_t count; /* of them; 0: unknown */
	uint8_t kind;  /* enum fftw_kind */
};

void fftw_plan_add(uint64_t plan, const struct fftw_shape *shape);
bool fftw_plan_find(uint64_t plan, struct fftw_shape *out);
void fftw_plan_remove(uint64_t plan);
void fftw_plan_remove_all(void);
